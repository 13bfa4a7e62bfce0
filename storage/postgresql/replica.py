"""Chooses the database that answers: the primary, or a streaming replica for reads."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

logger = logging.getLogger(__name__)
REPLICA = "replica"  # the alias in DATABASES where DATABASE_REPLICA_URL is set
LATEST_S = 2.0  # after a write, its token reads from the primary for so long
AWAY_S = 5.0  # before a replica that failed is asked again


class Away:
    """Until when the replica is not asked (time.monotonic)."""

    until = 0.0


def has_replica() -> bool:
    """True if the settings name a replica."""
    return REPLICA in settings.DATABASES


def database_of(group_key: int | None, *, may_be_old: bool) -> str:
    """The alias of the database that holds a group; None stands for what belongs to no group.

    The one place that knows where groups are: all are in one database, and a replica of it may answer reads that may be
    a moment old.
    """
    del group_key  # groups in several databases would be told apart here
    if not may_be_old or not has_replica() or time.monotonic() < Away.until:
        return DEFAULT_DB_ALIAS
    # A transaction sees its own writes, which the replica does not have.
    return DEFAULT_DB_ALIAS if connections[DEFAULT_DB_ALIAS].in_atomic_block else REPLICA


@contextmanager
def reading_from(alias: str) -> Iterator[None]:
    """Send this thread's statements to a database during the block."""
    if alias == DEFAULT_DB_ALIAS:
        yield
        return
    before: Any = connections[DEFAULT_DB_ALIAS]
    replacement: Any = connections[alias]
    replacement.close_if_unusable_or_obsolete()
    # Compiled queries and routers know one alias.
    replacement.alias = DEFAULT_DB_ALIAS
    connections[DEFAULT_DB_ALIAS] = replacement
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = before


def leave_alone(error: Exception) -> None:
    """Ask only the primary for a while, after a failure of the replica."""
    Away.until = time.monotonic() + AWAY_S
    logger.warning("The replica does not answer (%s); the primary does", type(error).__name__)
