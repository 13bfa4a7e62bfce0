"""What differs between the SQL of the databases; `dialect()` is the one place that chooses."""

from collections.abc import Iterable
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from django.db import connection


class _Dialect(Protocol):
    """Fragments of SQL, and values as the database takes and returns them."""

    ordered_join: str  # a join whose left side the planner shall read first
    everything: str  # a condition that is always true
    in_list: str  # after a column: it is one of list_param()'s values
    assigns_keys: bool  # a writer's transaction knows the keys that its rows will get
    hold: str  # a statement that holds the name in its parameter until the transaction ends; empty where all is held
    mark_change: str  # a statement that gives the transaction its change, in its parameter; empty where the connection knows it
    purge_leaves: tuple[
        str, ...
    ]  # where purged text stays after the commit, in words, and what an operator can do
    has_tag: str  # with the column formatted in: the JSON list has the parameter

    def rule_names(self, table: str) -> set[str]:
        """The names of a table's indexes and named constraints."""

    def index_faults(self) -> list[str]:
        """Indexes that the database itself finds broken; empty where a check of the whole file does that."""

    def stored_bytes(self) -> int:
        """The size of the database on disk."""

    def list_param(self, values: Iterable[int]) -> Any:
        """Numbers as the one parameter of `in_list`."""

    def moment_param(self, moment: datetime) -> Any:
        """A timestamp as the parameter of a comparison."""

    def read_moment(self, stored: Any) -> datetime | None:
        """The timestamp that a statement returned, with its zone."""


def dialect() -> _Dialect:
    """The dialect of the database in use."""
    return _dialect_of(connection.vendor)


@cache
def _dialect_of(vendor: str) -> _Dialect:
    """A vendor's dialect, imported once, since every recall and store asks for it."""
    found: _Dialect = import_module(f"storage.{vendor}.dialect").DIALECT
    return found


def hold_until_commit(names: Iterable[str]) -> None:
    """Hold these names until the transaction ends; waits for others. Always in the same order, so that there is no deadlock."""
    sql = dialect().hold
    if sql:
        with connection.cursor() as cursor:
            for name in sorted({*names}):
                cursor.execute(sql, [name])
