"""Admin pages of the access package: tokens, people, lock-outs."""

from access.admin import lockouts, people, tokens

__all__ = ["lockouts", "people", "tokens"]
