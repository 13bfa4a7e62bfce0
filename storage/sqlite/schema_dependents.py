"""Triggers and views that must live through a table's remake.

Django changes a SQLite table by making a new one, dropping the old and renaming. That drops the table's triggers, and
the rename fails while a view or trigger elsewhere names the table. So they are set aside and put back verbatim, in the
migration's own transaction: at no time does another connection see them missing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LISTED = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'view') AND sql IS NOT NULL"


@contextmanager
def suspend_dependents(connection: Any) -> Iterator[None]:
    """Drop all triggers and views for the time of the block, then make them again as they were."""
    with connection.cursor() as cursor:
        cursor.execute(_LISTED)
        # Views first when they are made again: triggers read them.
        kept = sorted(cursor.fetchall(), key=lambda row: row[0] != "view")
        for kind, name, _ in reversed(kept):
            cursor.execute(f'DROP {kind} "{name}"')
    yield
    with connection.cursor() as cursor:
        for _, _, sql in kept:
            cursor.execute(sql)
