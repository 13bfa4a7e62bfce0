"""Rooms on disk: files with a group's context, instructions and new memories.

`room` writes one, `daily` its log of new memories, `copies` clears both after a purge.
"""
