"""Deleting what was kept for a while to decide who gets in, and has run out."""

from collections.abc import Callable

from access.actor import Actor
from access.sign_in.throttle import delete_old

# What other rooms delete with it; each gives how many rows.
FURTHER: list[Callable[[], int]] = []


def tidy_access(actor: Actor) -> str | None:
    """Delete counted attempts that would begin anew, and what FURTHER names; None where there was nothing."""
    count = delete_old() + sum(further() for further in FURTHER)
    return f"{count} rows deleted" if count else None
