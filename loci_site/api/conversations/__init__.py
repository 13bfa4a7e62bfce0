"""Routes for conversations: what a browser extension sends and asks (`captures.py`), and what becomes of it."""
