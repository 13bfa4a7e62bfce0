"""Watches folders of notes, whose sections are memories of a group. Files are only read.

Read in this order: folders (which are watched) → scan (one pass over a folder) → note_text (a file as sections) →
file_to_memory → missing (deleted sections) → loop (the process). The folder's row names the group; nothing here takes a
path from a client.
"""
