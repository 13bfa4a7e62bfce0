"""Conversations that a browser extension sends: kept as turns of a thread, searched by its panel, and removed again.

Read `keep.py` first. `memories/sessions/conversations/` has what people do with a conversation afterwards.
"""
