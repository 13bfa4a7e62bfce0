"""Loci's database engine for PostgreSQL: Django's own backend, which reports a COMMIT that failed, keeps plans and marks changes."""

from contextlib import suppress
from typing import Any

from django.db import Error
from django.db.backends.postgresql import base
from django.db.backends.postgresql.base import ServerBindingCursor

from storage.changes import current_change
from storage.faults import report_failed_commit
from storage.postgresql.dialect import DIALECT

_CANCEL_S = 1.0
_MAX_PREPARED = 300  # statements of a connection; stores and recalls have about fifty, some in several sizes


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to PostgreSQL."""

    display_name = "PostgreSQL with pgvector"
    keeps_plans = False

    def init_connection_state(self) -> None:
        """Find out whether statements may be prepared: not through a pooler, which may give each transaction another server process."""
        super().init_connection_state()
        connection: Any = self.connection
        self.keeps_plans = connection.prepare_threshold is not None and is_direct(connection)
        connection.prepared_max = _MAX_PREPARED

    def repeated_cursor(self) -> Any:
        """A cursor for statements that come again and again: the server keeps their plans after some uses.

        Values travel apart from the statement, so each must have a type that the server can tell.
        """
        self.ensure_connection()
        if not self.keeps_plans or self.queries_logged:  # a log has values in the statements
            return self.cursor()
        with self.wrap_database_errors:
            cursor = ServerBindingCursor(self.connection)  # type: ignore[call-arg]  # the stubs do not know psycopg 3
        return self._prepare_cursor(cursor)  # type: ignore[attr-defined]  # the stubs leave it out

    def interrupt(self) -> None:
        """End the statement under way with an OperationalError; for another thread."""
        connection: Any = self.connection
        if connection is not None:
            with suppress(Exception):  # the server is away: the statement fails by itself
                connection.cancel_safe(timeout=_CANCEL_S)

    def set_autocommit(
        self, autocommit: bool, force_begin_transaction_with_broken_autocommit: bool = False
    ) -> None:
        """Begin or end a transaction; tell one that begins the change that it is a part of."""
        super().set_autocommit(autocommit, force_begin_transaction_with_broken_autocommit)
        change = None if autocommit else current_change()
        if change is not None:
            try:
                with self.cursor() as cursor:
                    cursor.execute(DIALECT.mark_change, [str(change)])
            except Error:
                self.close()  # else the next block would take this one as its transaction, and not commit
                raise

    def _commit(self) -> Any:
        with report_failed_commit():
            return super()._commit()  # type: ignore[misc]  # the stubs leave it out


def is_direct(connection: Any) -> bool:
    """True if the server itself answers: a pooler gives its clients process numbers of its own."""
    with connection.cursor() as cursor:
        own = cursor.execute("SELECT pg_backend_pid()").fetchone()[0]
    return bool(own == connection.info.backend_pid)
