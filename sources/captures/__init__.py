"""Conversations sent by a browser extension: stored as turns of a thread, searched by its panel, and removed.

Read `keep.py` first. `memories/sessions/conversations/` has what people do with a conversation afterwards.
"""
