"""The browser pages of the access room: groups with their members, tokens, people, lock-outs."""

from access.admin import groups, lockouts, people, tokens

__all__ = ["groups", "lockouts", "people", "tokens"]
