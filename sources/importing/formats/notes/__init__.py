"""Formats of folders with notes: Markdown, with or without front matter."""
