"""Deletion of expired rows of access control, and of what other apps keep for a while."""

from access.actor import Actor
from access.additions import additions
from access.limits.throttle import delete_expired


def tidy_access(actor: Actor) -> str | None:
    """Delete expired attempts and run the apps' "cleanups". Returns a summary, or None if nothing was deleted."""
    count = delete_expired() + sum(cleanup() for cleanup in additions("cleanups"))
    return f"{count} rows deleted" if count else None
