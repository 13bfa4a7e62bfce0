"""Empties the tables after a test that commits, without making all permissions, content types and triggers anew each time."""

from collections.abc import Callable
from typing import Any, Final

from django.core.management.color import no_style
from django.db import DEFAULT_DB_ALIAS, connection
from django.test import TransactionTestCase

# Rows that migrations write and no test changes; Django's own way deletes them and makes them again, in 0.1 s a test.
KEPT: Final = frozenset({"django_content_type", "auth_permission"})


def empty_only_what_tests_fill() -> None:
    """Make transactional tests on SQLite delete only their rows. A test that changed the schema is flushed as Django does."""
    # Django has no public place for it.
    TransactionTestCase._fixture_teardown = _emptied(TransactionTestCase._fixture_teardown)  # type: ignore[attr-defined]


def _emptied(empty_as_django: Callable[[TransactionTestCase], None]) -> Callable[[TransactionTestCase], None]:
    known: int | None = None
    statements = list[str]()

    def empty(case: Any) -> None:
        nonlocal known
        if known != _schema_version() or case._databases_names(include_mirrors=False) != [DEFAULT_DB_ALIAS]:
            empty_as_django(case)  # migrate's signals restore what the test took away
            known = _schema_version()
            return
        if not statements:
            tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
            statements.extend(connection.ops.sql_flush(no_style(), sorted({*tables} - KEPT)))
        connection.ops.execute_sql_flush(statements)

    return empty


def _schema_version() -> int:
    """A number that every change of the schema raises, and every restore of a backup."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA schema_version")
        [version] = cursor.fetchone()
    return int(version)
