"""SQLite's dialect."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import connection

from storage.sqlite.open_files import database_files
from storage.sqlite.rule_names import rule_names


class SqliteDialect:
    """Lists are JSON, timestamps are text."""

    ordered_join = "CROSS JOIN"
    everything = "1"
    in_list = "IN (SELECT value FROM json_each(%s))"
    assigns_keys = True
    hold = ""
    mark_change = ""
    purge_leaves: tuple[str, ...] = ()
    has_tag = "EXISTS (SELECT 1 FROM json_each({column}) WHERE json_each.value = %s)"

    def rule_names(self, table: str) -> set[str]:
        """The names of a table's indexes and named constraints."""
        return rule_names(table)

    def index_faults(self) -> list[str]:
        """None: SQLite's integrity check of a backup looks at them."""
        return []

    def stored_bytes(self) -> int:
        """The size of the database file, its log and its shared memory."""
        files = database_files(Path(str(connection.settings_dict["NAME"])))
        return sum(path.stat().st_size for path in files if path.exists())

    def list_param(self, values: Iterable[int]) -> str:
        """Numbers as JSON."""
        return f"[{','.join(map(str, values))}]"

    def moment_param(self, moment: datetime) -> str:
        """A timestamp as Django stores it, so that texts compare as times."""
        return str(connection.ops.adapt_datetimefield_value(moment))

    def read_moment(self, stored: Any) -> datetime | None:
        """The timestamp with its zone: Django stores UTC without one, and an expression returns text."""
        if isinstance(stored, str):
            stored = datetime.fromisoformat(stored)
        return stored.replace(tzinfo=UTC) if stored else None


DIALECT = SqliteDialect()
