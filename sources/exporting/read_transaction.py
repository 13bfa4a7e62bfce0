"""A read transaction: many queries that see the same moment, without blocking writers."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

# Django's atomic() takes SQLite's write lock at once, which a long read must not hold.
_BEGIN = {"sqlite": "BEGIN DEFERRED", "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"}


@contextmanager
def consistent_read() -> Iterator[None]:
    """All queries in the block see the database as of the first one. The block must not write."""
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
