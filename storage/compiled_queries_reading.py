"""Reading rows without what Django does around each statement, which takes longer than many a statement."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

# A wrapper of statements that has this attribute, true, looks at writes alone: it is not asked about a SELECT.
LOOKS_AT_WRITES = "looks_at_writes_alone"


def fetch(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Give all rows of one SELECT, with a %s for each of the params, which are texts, numbers and bytes.

    On SQLite it goes to the library at once, unless somebody follows the statements or the transaction is broken: a
    cursor of Django's asks and wraps some twenty things each time, and a recall makes a dozen statements. Errors are
    Django's in both ways.
    """
    connection: Any = connections[DEFAULT_DB_ALIAS]
    if connection.vendor == "sqlite" and connection.connection is not None and not _is_followed(connection):
        with connection.wrap_database_errors:
            found: list[tuple[Any, ...]] = connection.connection.execute(_marked(sql), params).fetchall()
        return found
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _is_followed(connection: Any) -> bool:
    if connection.needs_rollback or connection.queries_logged:
        return True
    wrappers = connection.execute_wrappers
    return not all(getattr(each, LOOKS_AT_WRITES, False) for each in wrappers)


@lru_cache(maxsize=1000)
def _marked(sql: str) -> str:
    """Give the statement with SQLite's own marks."""
    return sql.replace("%s", "?").replace("%%", "%")
