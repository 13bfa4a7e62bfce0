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
from maintenance.backups.copies import CopyProgress, connected_to
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
MAX_NAME_BYTES = 63
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


class PostgresqlCopies:
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
        with connected_to(store_name()), transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            [(name,)] = fetch("SELECT pg_export_snapshot()", [])
            yield ExportedSnapshot(store_name(), name)

    @contextmanager
    def use(self, path: Path) -> Iterator[None]:
        """Point this thread's models at the copy's database; the first use reads the dump into it."""
        name = copy_name(path)
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
        """Dump the copy's database into its file."""
        path.unlink(missing_ok=True)
        dump(copy_name(path), path)

    def discard(self, folder: Path) -> None:
        """Drop the databases of the folder's copies."""
        if found := [name for name in copy_names() if name in {copy_name(path) for path in folder.iterdir()}]:
            drop_databases(found)

    def discard_leftovers(self) -> None:
        """Drop the databases of all copies."""
        if found := copy_names():
            drop_databases(found)

    def faults(self, *, is_quick: bool) -> list[str]:
        """Indexes that are broken; foreign keys are the server's to keep."""
        return [] if is_quick else dialect().index_faults()

    def foreign_code(self) -> list[str]:
        """Names of triggers, views and rules that Loci does not make."""
        own = own_names(connection.vendor)
        return sorted(name for (name,) in fetch(_CODE, []) if name not in own)

    def is_there(self) -> bool:
        """True if the database has tables."""
        with connection.cursor() as cursor:
            return bool(connection.introspection.table_names(cursor))

    @contextmanager
    def exclusive_access(self) -> Iterator[None]:
        """Nobody else is connected to the store at the beginning; swap() checks that nobody wrote since."""
        [(others,)] = fetch(_OTHERS, [])
        if others:
            raise OperationalError(f"{store_name()} is open in another process")
        self._ends = _ends()
        yield

    def set_damaged_aside(self) -> Path:
        """The name under which swap() keeps the database."""
        return Path(kept_name())

    def swap(self, copy: Path, *, is_readable: bool) -> None:
        """Rename the copy's database to the store's, in one transaction that fails while others are connected.

        A store that can be read is in a backup, and its database is dropped.
        """
        store, incoming, old = store_name(), copy_name(copy), kept_name()
        is_empty = not self.is_there()
        if _ends() != self._ends:
            raise Conflict("Somebody wrote to the store meanwhile.", hint="Stop Loci, then restore again.")
        connection.close()
        with server() as found:
            try:
                with found.transaction():
                    rename(found, store, old)
                    rename(found, incoming, store)
            except errors.ObjectInUse as error:
                raise Conflict("Somebody uses the store.", hint="Stop Loci, then restore again.") from error
        if is_readable or is_empty:
            drop_databases([old])


def store_name() -> str:
    """The name of the database that is open."""
    return str(connection.settings_dict["NAME"])


def short(name: str, *, room: int) -> str:
    """The beginning of a name that leaves room in the longest that PostgreSQL takes."""
    return name.encode()[: MAX_NAME_BYTES - room].decode(errors="ignore")


def main_name() -> str:
    """The store's name, also while one of its copies is open."""
    return store_name().partition(MARK)[0]


def copy_name(path: Path) -> str:
    """The name of the database of the copy in this file."""
    digest = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:12]
    return f"{short(main_name(), room=len(MARK) + len(digest))}{MARK}{digest}"


def kept_name() -> str:
    """The name of the store's database after another took its place."""
    stamp = f"_before_{timezone.now():%Y%m%d_%H%M%S}"
    return f"{short(store_name(), room=len(stamp))}{stamp}"


def copy_names() -> list[str]:
    """The databases of the store's copies on the server, but for one that is open."""
    beginning = f"{short(main_name(), room=len(MARK) + 12)}{MARK}"
    rows = fetch(_COPIES, [beginning])
    return [name for (name,) in rows]


def _ends() -> dict[str, list[int | str]] | None:
    """The ends of the log's chains; None if they cannot be read."""
    try:
        return log_ends()
    except DatabaseError:
        return None


def rename(found: Any, old: str, new: str) -> None:
    """Rename a database that nobody is connected to."""
    found.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(old), sql.Identifier(new)))


COPIES = PostgresqlCopies()
