"""Rooms on disk: what agents and people read of a group as files.

`room` writes one, `daily` its log of new memories, `copies` clears both after a purge.
"""
