"""The browser pages of the access room: groups with their members, tokens, people."""

from access.admin import groups, people, tokens

__all__ = ["groups", "people", "tokens"]
