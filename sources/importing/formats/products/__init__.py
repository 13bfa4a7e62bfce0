"""Formats of other memory servers."""
