"""PostgreSQL's dialect."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import DatabaseError, transaction

from storage.compiled_queries import fetch

# Approximate indexes are left out: one whose making was killed is made anew by the next maintenance run.
_INVALID = """
SELECT indexrelid::regclass::text FROM pg_index JOIN pg_am ON TRUE JOIN pg_class AS index ON index.oid = indexrelid
WHERE NOT indisvalid AND pg_am.oid = index.relam AND amname <> 'hnsw'
"""
# amcheck is for administrators, unless they grant its functions.
_AMCHECK = """
SELECT 1 FROM pg_proc
WHERE proname = 'bt_index_check' AND pg_function_is_visible(oid) AND has_function_privilege(oid, 'EXECUTE')
"""
_BTREES = """
SELECT index.oid::regclass::text FROM pg_class AS index JOIN pg_am ON pg_am.oid = index.relam
WHERE index.relkind = 'i' AND amname = 'btree' AND index.relnamespace = current_schema()::regnamespace
"""
_NAMES = """
SELECT relname FROM pg_class JOIN pg_index ON indexrelid = oid WHERE indrelid = to_regclass(%s)
UNION SELECT conname FROM pg_constraint WHERE conrelid = to_regclass(%s)
"""


class _PostgresqlDialect:
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
        return {name for (name,) in fetch(_NAMES, [table, table])}

    def index_faults(self) -> list[str]:
        """Indexes that are not valid, and those that amcheck finds broken, where the role may ask that extension."""
        found = [f"the index {name} is not valid" for (name,) in fetch(_INVALID, [])]
        for (name,) in fetch(_BTREES, []) if fetch(_AMCHECK, []) else ():
            try:
                with transaction.atomic():  # an error ends the transaction
                    fetch("SELECT bt_index_check(%s::regclass)", [name])
            except DatabaseError as error:
                found.append(f"{name}: {str(error).splitlines()[0]}")
        return found

    def stored_bytes(self) -> int:
        """The size of tables and indexes, without the write-ahead log."""
        [(size,)] = fetch("SELECT pg_database_size(current_database())", [])
        return int(size)

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


DIALECT = _PostgresqlDialect()
