"""Copies of the store outside of it, in the way of each database; `copies()` is the one place that chooses."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from django.db import DEFAULT_DB_ALIAS, connection, connections

CopyProgress = Callable[[int, int], None]  # done, total


class _Snapshot(Protocol):
    """The store as of one moment."""

    def copy_to(self, target: Path, *, progress: CopyProgress | None = None) -> None:
        """Write a copy of it to a new file."""


class StoreCopies(Protocol):
    """What backups and restores need of a database; by default a copy is its file, and takes nothing beyond it."""

    part: str  # the name of the store's part in an archive

    def check(self) -> None:
        """Raise Unavailable if something that backups need is missing."""
        return

    def snapshot(self) -> AbstractContextManager[_Snapshot]:
        """The store as of now, which the models read during the block; writers are not blocked."""

    def use(self, path: Path) -> AbstractContextManager[None]:
        """Point this thread's models at the copy in the file during the block; its changes stay with the copy."""

    def save(self, path: Path) -> None:
        """Write the copy with its changes to its file."""
        return

    def discard(self, folder: Path) -> None:
        """Free what copies of files in this folder take up beyond the files."""
        return

    def discard_leftovers(self) -> None:
        """Free what copies of killed processes take up; no other process makes copies meanwhile."""
        return

    def faults(self, *, is_quick: bool) -> list[str]:
        """What the database finds wrong with the opened store."""

    def foreign_code(self) -> list[str]:
        """The opened store's triggers and views that Loci does not make."""

    def is_there(self) -> bool:
        """True if there is a store, in whatever state."""

    def exclusive_access(self) -> AbstractContextManager[None]:
        """Keep others out of the store during the block; DatabaseError if it is in use."""

    def set_damaged_aside(self) -> Path:
        """Keep an unreadable store as it is, so that someone may still save part of it; where."""

    def swap(self, copy: Path, *, is_readable: bool) -> None:
        """Put the copy in the store's place at once; `is_readable`: there is a readable store there."""


@lru_cache(maxsize=1)
def copies() -> StoreCopies:
    """The copies of the database in use."""
    found: StoreCopies = import_module(f"maintenance.backups.{connection.vendor}_copies").COPIES
    return found


@contextmanager
def connected_to(name: str, **options: Any) -> Iterator[Any]:
    """Replace this thread's default connection by one to another database during the block, with other options of the engine."""
    before = connections[DEFAULT_DB_ALIAS]
    replacement: Any = before.copy()
    replacement.settings_dict["NAME"] = name
    replacement.settings_dict["OPTIONS"] |= options
    # Connections are thread-local, so other threads are not affected.
    connections[DEFAULT_DB_ALIAS] = replacement
    try:
        yield replacement
    finally:
        connections[DEFAULT_DB_ALIAS] = before
        replacement.close()
