"""A steady view of the database: many queries that see one moment, without keeping writers waiting."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

# Django's own atomic() takes SQLite's write lock at once, which a long read must not hold.
_BEGIN = {"sqlite": "BEGIN DEFERRED", "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"}


@contextmanager
def steady_view() -> Iterator[None]:
    """Let every query inside see the database as it was at the first one. Nothing may be written inside."""
    if connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN[connection.vendor])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ROLLBACK")
