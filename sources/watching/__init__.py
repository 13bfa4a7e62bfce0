"""Folders whose notes are kept in step with memories.

Read in this order: folders (which are watched) → scan (one look through a folder) → note_text (a file as sections) → matching
(sections and rows) → taking (file to memory) → writing_back (memory to file) → gone (what is no longer there) → loop (the
process). The folder's row names the group; nothing here takes a path from a client.
"""
