"""SQLite's dialect."""

import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import connection

from storage.compiled_queries import fetch
from storage.locks import take_lock

_CONSTRAINT = re.compile(r'\bCONSTRAINT "(\w+)"')
_shared: dict[Path, int] = {}
_exclusive: set[Path] = set()
_guard = threading.Lock()


class FileInUse(Exception):
    """Another process has the file open or needs exclusive access to it."""


def mark_open(database: Path, *, timeout_s: float) -> None:
    """Mark the file as open until this process ends; wait while another process has exclusive access.

    Raises:
        FileInUse: the other process took longer than `timeout_s`.
    """
    with _guard:
        if database in _shared or database in _exclusive:
            return
        handle = _open_lock_file(database)
        if not take_lock(handle, is_shared=True, wait_s=timeout_s):
            os.close(handle)
            raise FileInUse(f"{database.name} is being restored from a backup")
        _shared[database] = handle


@contextmanager
def exclusive_access(database: Path) -> Iterator[None]:
    """Lock every other process out of the file during the block; close this process' own connections first.

    Raises:
        FileInUse: another process has it open.
    """
    with _guard:
        if (handle := _shared.pop(database, None)) is not None:
            os.close(handle)
        handle = _open_lock_file(database)
        if not take_lock(handle):
            os.close(handle)
            raise FileInUse(f"{database.name} is open in another process")
        _exclusive.add(database)
    try:
        yield
    finally:
        with _guard:
            _exclusive.discard(database)
            os.close(handle)


def database_files(database: Path) -> tuple[Path, Path, Path]:
    """The database file, its write-ahead log and its shared memory."""
    return database, database.with_name(f"{database.name}-wal"), database.with_name(f"{database.name}-shm")


def _open_lock_file(database: Path) -> int:
    """A descriptor of the lock file next to the database, created with mode 0600."""
    return os.open(database.with_name(f"{database.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)


class _SqliteDialect:
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
        rows = fetch("SELECT type, name, sql FROM sqlite_master WHERE tbl_name = %s", [table])
        return {name for kind, name, _ in rows if kind == "index"} | {
            name for kind, _, sql in rows if kind == "table" for name in _CONSTRAINT.findall(sql)
        }

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


DIALECT = _SqliteDialect()
