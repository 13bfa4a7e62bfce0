"""Copies of a store on PostgreSQL: dumps, each read into a database of its own while it is used."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import DatabaseError, OperationalError, connection, transaction
from django.utils import timezone
from psycopg import errors, sql

from access.errors import Conflict
from maintenance.backups.archive import DUMP
from maintenance.backups.copies import CopyProgress, StoreCopies, connected_to
from maintenance.backups.open_copy import log_ends
from maintenance.backups.server_tools import (
    check_tools,
    create_database,
    drop_databases,
    dump,
    load,
    server,
)
from memories.search.schema import own_names
from storage.compiled_queries import fetch
from storage.dialect import dialect

MARK = "_loci_copy_"  # in the names of databases of copies, after the store's
_MAX_NAME_BYTES = 63
_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
_CODE = """
SELECT tgname FROM pg_trigger JOIN pg_class AS held ON held.oid = tgrelid
WHERE NOT tgisinternal AND held.relnamespace = current_schema()::regnamespace
UNION SELECT relname FROM pg_class WHERE relkind IN ('v', 'm') AND relnamespace = current_schema()::regnamespace
UNION SELECT evtname FROM pg_event_trigger
UNION SELECT rulename FROM pg_rewrite WHERE rulename <> '_RETURN' AND ev_class >= 16384
"""
_COPIES = "SELECT datname FROM pg_database WHERE starts_with(datname, %s) AND datname <> current_database()"


@dataclass(frozen=True)
class ExportedSnapshot:
    """A snapshot that pg_dump reads too."""

    database: str
    name: str

    def copy_to(self, target: Path, *, progress: CopyProgress | None = None) -> None:
        """Dump the database as of the snapshot."""
        if progress is not None:
            progress(0, 1)
        dump(self.database, target, snapshot=self.name)


class _PostgresqlCopies(StoreCopies):
    """StoreCopies on PostgreSQL."""

    part = DUMP

    def __init__(self) -> None:
        self._ends: dict[str, list[int | str]] | None = None  # of the log when exclusive_access() began

    def check(self) -> None:
        """pg_dump and pg_restore are there, and not older than the server."""
        check_tools()

    @contextmanager
    def snapshot(self) -> Iterator[ExportedSnapshot]:
        """A transaction that sees the store as of its first statement, and its snapshot's name."""
        with connected_to(_store_name()), transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            [(name,)] = fetch("SELECT pg_export_snapshot()", [])
            yield ExportedSnapshot(_store_name(), name)

    @contextmanager
    def use(self, path: Path) -> Iterator[None]:
        """Point this thread's models at the copy's database; the first use reads the dump into it."""
        name = _copy_name(path)
        if name not in copy_names():
            create_database(name)
            try:
                if path.exists():
                    load(path, name)
            except BaseException:
                drop_databases([name])
                raise
        with connected_to(name):
            yield

    def save(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        dump(_copy_name(path), path)

    def discard(self, folder: Path) -> None:
        if found := [
            name for name in copy_names() if name in {_copy_name(path) for path in folder.iterdir()}
        ]:
            drop_databases(found)

    def discard_leftovers(self) -> None:
        if found := copy_names():
            drop_databases(found)

    def faults(self, *, is_quick: bool) -> list[str]:
        """Indexes that are broken; foreign keys are the server's to keep."""
        return [] if is_quick else dialect().index_faults()

    def foreign_code(self) -> list[str]:
        own = own_names(connection.vendor)
        return sorted(name for (name,) in fetch(_CODE, []) if name not in own)

    def is_there(self) -> bool:
        with connection.cursor() as cursor:
            return bool(connection.introspection.table_names(cursor))

    @contextmanager
    def exclusive_access(self) -> Iterator[None]:
        """No other process is connected to the store at the beginning; swap() checks that none wrote since."""
        [(others,)] = fetch(_OTHERS, [])
        if others:
            raise OperationalError(f"{_store_name()} is open in another process")
        self._ends = _ends()
        yield

    def set_damaged_aside(self) -> Path:
        """The name under which swap() keeps the database."""
        return Path(_kept_name())

    def swap(self, copy: Path, *, is_readable: bool) -> None:
        """Rename the copy's database to the store's, in one transaction that fails while others are connected.

        A store that can be read is in a backup, and its database is dropped.
        """
        store, incoming, old = _store_name(), _copy_name(copy), _kept_name()
        is_empty = not self.is_there()
        if _ends() != self._ends:
            raise Conflict("The store was written to meanwhile.", hint="Stop Loci, then restore again.")
        connection.close()
        with server() as found:
            try:
                with found.transaction():
                    rename(found, store, old)
                    rename(found, incoming, store)
            except errors.ObjectInUse as error:
                raise Conflict("The store is in use.", hint="Stop Loci, then restore again.") from error
        if is_readable or is_empty:
            drop_databases([old])


def _store_name() -> str:
    return str(connection.settings_dict["NAME"])


def short(name: str, *, room: int) -> str:
    """The beginning of a name that leaves room in the longest that PostgreSQL takes."""
    return name.encode()[: _MAX_NAME_BYTES - room].decode(errors="ignore")


def _main_name() -> str:
    """The store's name, also while one of its copies is open."""
    return _store_name().partition(MARK)[0]


def _copy_name(path: Path) -> str:
    """The name of the database of the copy in this file."""
    digest = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:12]
    return f"{short(_main_name(), room=len(MARK) + len(digest))}{MARK}{digest}"


def _kept_name() -> str:
    stamp = f"_before_{timezone.now():%Y%m%d_%H%M%S}"
    return f"{short(_store_name(), room=len(stamp))}{stamp}"


def copy_names() -> list[str]:
    """The databases of the store's copies on the server, but for one that is open."""
    beginning = f"{short(_main_name(), room=len(MARK) + 12)}{MARK}"
    rows = fetch(_COPIES, [beginning])
    return [name for (name,) in rows]


def _ends() -> dict[str, list[int | str]] | None:
    """The ends of the log's chains; None if they cannot be read."""
    try:
        return log_ends()
    except DatabaseError:
        return None


def rename(found: Any, old: str, new: str) -> None:
    """Rename a database without connections."""
    found.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(old), sql.Identifier(new)))


COPIES = _PostgresqlCopies()
