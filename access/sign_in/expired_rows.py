"""Deletion of expired rows of access control."""

from collections.abc import Callable

from access.actor import Actor
from access.limits.throttle import delete_expired

# Further cleanups, registered by other packages; each returns its number of deleted rows.
EXTRA_CLEANUPS: list[Callable[[], int]] = []


def tidy_access(actor: Actor) -> str | None:
    """Delete expired attempts and run EXTRA_CLEANUPS. Returns a summary, or None if nothing was deleted."""
    count = delete_expired() + sum(further() for further in EXTRA_CLEANUPS)
    return f"{count} rows deleted" if count else None
