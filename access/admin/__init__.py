"""Admin pages of the access package: groups with their members, tokens, people, lock-outs."""

from access.admin import groups, lockouts, people, tokens

__all__ = ["groups", "lockouts", "people", "tokens"]
