"""Deleting what was kept for a while to decide who gets in, and has run out."""

from collections.abc import Callable

from access.actor import Actor
from access.sign_in.throttle import delete_expired

# What other rooms delete with it; each gives how many rows.
EXTRA_CLEANUPS: list[Callable[[], int]] = []


def tidy_access(actor: Actor) -> str | None:
    """Delete counted attempts that would begin anew, and what FURTHER names; None where there was nothing."""
    count = delete_expired() + sum(further() for further in EXTRA_CLEANUPS)
    return f"{count} rows deleted" if count else None
