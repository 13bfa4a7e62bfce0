"""Triggers and views that must survive the rebuild of a table.

Django changes a SQLite table by creating a new one, dropping the old one and renaming. The drop removes the table's
triggers, and the rename fails while a view or trigger elsewhere names the table. So all of them are dropped and created
again verbatim in the migration's own transaction: no other connection ever sees them missing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_DEPENDENTS = (
    "SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'view') AND sql IS NOT NULL"
)


@contextmanager
def suspend_dependents(connection: Any) -> Iterator[None]:
    """Drop all triggers and views during the block, then create them again unchanged."""
    with connection.cursor() as cursor:
        cursor.execute(_DEPENDENTS)
        # Views are created first: triggers read them.
        dependents = sorted(cursor.fetchall(), key=lambda row: row[0] != "view")
        for kind, name, _ in reversed(dependents):
            cursor.execute(f'DROP {kind} "{name}"')
    yield
    with connection.cursor() as cursor:
        for _, _, sql in dependents:
            cursor.execute(sql)
