"""Keeps folders of notes and groups in step.

Read in this order: folders (which are watched) → scan (one pass over a folder) → note_text (a file as sections) → matching
(sections and rows) → file_to_memory → memory_to_file → missing (deleted sections) → loop (the process). The folder's row
names the group; nothing here takes a path from a client.
"""
