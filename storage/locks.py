"""Locks that a transaction holds until it ends, by name.

On SQLite a writing transaction holds the whole store, so there is nothing to do. Elsewhere two transactions that read
before they write take the same names first: each then sees what the other has committed.
"""

from collections.abc import Iterable

from django.db import connection

from storage.dialect import dialect


def hold_until_commit(names: Iterable[str]) -> None:
    """Hold these names until the transaction ends; waits for others. Always in the same order, so that nobody waits in a circle."""
    sql = dialect().hold
    if sql:
        with connection.cursor() as cursor:
            for name in sorted({*names}):
                cursor.execute(sql, [name])
