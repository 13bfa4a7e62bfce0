"""PostgreSQL's dialect."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import connection

from storage.postgresql.index_faults import index_faults
from storage.postgresql.rule_names import rule_names


class PostgresqlDialect:
    """Lists are arrays, timestamps have a zone."""

    ordered_join = "JOIN"
    everything = "TRUE"
    in_list = "= ANY(%s)"
    assigns_keys = False
    hold = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
    mark_change = "SELECT set_config('loci.change', %s, true)"
    purge_leaves: tuple[str, ...] = (
        "PostgreSQL's files hold deleted rows until the operator runs VACUUM (FULL); its write-ahead log, replicas and"
        " dumps hold them as long as they are kept",
    )
    has_tag = "{column} @> jsonb_build_array(%s::text)"

    def rule_names(self, table: str) -> set[str]:
        """The names of a table's indexes and named constraints."""
        return rule_names(table)

    def index_faults(self) -> list[str]:
        """Indexes that are not valid, and those that amcheck finds broken."""
        return index_faults()

    def stored_bytes(self) -> int:
        """The size of tables and indexes, without the write-ahead log."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])

    def list_param(self, values: Iterable[int]) -> list[int]:
        """Numbers as an array."""
        return [*values]

    def moment_param(self, moment: datetime) -> datetime:
        """The timestamp itself."""
        return moment

    def read_moment(self, stored: Any) -> datetime | None:
        """The timestamp itself: sessions are in UTC."""
        found: datetime | None = stored
        return found


DIALECT = PostgresqlDialect()
