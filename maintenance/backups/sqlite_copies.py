"""Copies of a store on SQLite: files."""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections, transaction
from django.utils import timezone

from access.errors import Unavailable
from access.models import Group
from maintenance.backups.archive import DATABASE
from maintenance.backups.copies import StoreCopies, connected_to
from maintenance.backups.folder import backups_folder
from memories.search.schema import own_names
from storage.compiled_queries import fetch
from storage.encryption import database_key
from storage.encryption.pages import is_plain
from storage.sqlite.dialect import database_files
from storage.sqlite.reencrypt import CopyDiffers, copy_with_key, sync, wiping
from storage.whole_file import sync_folder


class _SqliteCopies(StoreCopies):
    """StoreCopies on SQLite."""

    part = DATABASE

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        """A connection that reads the store as of now; it never takes the write lock."""
        with connected_to(str(database_path()), transaction_mode="DEFERRED") as reader, transaction.atomic():
            # The snapshot is taken by the first read, not by BEGIN.
            Group.objects.exists()
            yield reader

    @contextmanager
    def use(self, path: Path) -> Iterator[None]:
        """Point this thread's models at the file.

        Other threads keep using the store. Afterwards the file is complete by itself: its write-ahead log is written back.
        """
        _match_encryption(path)
        with connected_to(str(path), transaction_mode="IMMEDIATE") as copy:
            copy.is_private_copy = True
            yield

    def faults(self, *, is_quick: bool) -> list[str]:
        """Faults that SQLite finds in the opened file and its foreign keys.

        `is_quick` skips comparing the indexes with their tables, which takes most of the time.
        """
        results = [
            str(text) for (text,) in fetch("PRAGMA quick_check" if is_quick else "PRAGMA integrity_check", [])
        ]
        broken = fetch("PRAGMA foreign_key_check", [])
        faults = [] if results == ["ok"] else results[:3]
        return faults + ([f"{len(broken)} rows refer to missing rows"] if broken else [])

    def foreign_code(self) -> list[str]:
        """Names of triggers and views that Loci does not make: they would run at any write or read."""
        own = own_names(connection.vendor)
        names = fetch("SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view')", [])
        return sorted(name for (name,) in names if name not in own)

    def is_there(self) -> bool:
        path = database_path()
        return path.exists() and path.stat().st_size > 0

    def exclusive_access(self) -> AbstractContextManager[None]:
        engine: Any = connection  # our own backend
        exclusive: AbstractContextManager[None] = engine.exclusive_access()
        return exclusive

    def set_damaged_aside(self) -> Path:
        """Copy the files as they are into a folder among the backups."""
        folder = backups_folder() / f"damaged-{timezone.now():%Y%m%dT%H%M%S}Z"
        folder.mkdir(mode=0o700)
        for path in database_files(database_path()):
            if path.exists():
                shutil.copy2(path, folder / path.name)
        return folder

    def swap(self, copy: Path, *, is_readable: bool) -> None:
        """Rename the copy over the store. The old write-ahead log must be gone, or SQLite would replay it into the new file."""
        database, log, shared = database_files(database_path())
        ready = database.with_name(f".{database.name}.restored")
        ready.unlink(missing_ok=True)
        shutil.move(copy, ready)  # a rename, unless the database is on another disk than the backups
        sync(ready)
        if is_readable:
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()
            if log.exists() and log.stat().st_size:
                raise Unavailable(
                    "The store's write-ahead log cannot be written back.", hint="Nothing was changed."
                )
        connection.close()
        for path in (log, shared):
            with suppress(FileNotFoundError):
                path.unlink()
        sync_folder(database.parent)
        ready.replace(database)
        sync_folder(database.parent)


def _match_encryption(path: Path) -> None:
    """Encrypt a plain copy, such as one from an older backup, if the store is encrypted."""
    key = database_key()
    if key is None or not path.exists() or not is_plain(path):
        return
    encrypted = path.with_name(f".{path.name}.encrypted")
    with connections[DEFAULT_DB_ALIAS].wrap_database_errors, wiping(path):
        try:
            copy_with_key(path, encrypted, old=None, new=key)
        except CopyDiffers as error:
            raise DatabaseError(f"the encrypted copy is faulty: {error}") from error
        encrypted.replace(path)


def database_path() -> Path:
    """Path of the store's database file."""
    return Path(str(connection.settings_dict["NAME"]))


COPIES = _SqliteCopies()
