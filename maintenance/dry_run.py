"""Dry runs: real work on a copy of the store, which is thrown away."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from pathlib import Path
from typing import Any, TypeVar, cast

from django.conf import settings
from django.db import connection, transaction

from maintenance.backups.copies import copies
from memories.store.places import ClearedCopies, OutsideCopies, PurgedTexts
from storage.locks import take_lock

_STALE_S = 3_600  # a folder this old that was never held belongs to a killed process
PREFIX = ".trial-"
HELD = "held"  # a file that is locked while its copy is in use
T = TypeVar("T")


def run_on_copy(work: Callable[[], T]) -> T:
    """The result of `work`, run on a copy of the database as it is now.

    On SQLite the copy is a file in LOCI_HOME, made while others read and write. On other databases `work` runs in a
    transaction that is rolled back.
    """
    if connection.vendor != "sqlite":
        with transaction.atomic():
            answer = work()
            transaction.set_rollback(True)
        return answer
    home = Path(settings.LOCI.home)
    _remove_unused_copies(home)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=home) as folder, hold_copy(Path(folder)):
        copy, source = Path(folder) / "memory.db", cast("Any", connection)  # our own backend
        source.copy_to(copy)
        with copies().use(copy):
            # In a context of its own: what it logs and changes is not part of the caller's work.
            return Context().run(work)


class DryRunCopies(OutsideCopies):
    """The dry runs' copies of the store as a purge sees them; each ends with its run, or here if that was killed."""

    name = "trials"
    files = (f"{PREFIX}*",)

    def find(self, doomed: PurgedTexts) -> tuple[str, ...]:
        """The number of copies, whatever they hold."""
        left = sum(1 for _ in Path(settings.LOCI.home).glob(f"{PREFIX}*"))
        return (
            (f"copies of the store used by dry runs may contain it until those end: {left}",) if left else ()
        )

    def clear(self, doomed: PurgedTexts, *, note: str) -> ClearedCopies:
        """Delete the copies of killed runs."""
        _remove_unused_copies(Path(settings.LOCI.home))
        return ClearedCopies()


@contextmanager
def hold_copy(folder: Path) -> Iterator[None]:
    """Keep a copy's folder locked during the block, so that no process removes it."""
    draft = folder / f".{HELD}"
    handle = os.open(draft, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        take_lock(handle)
        draft.replace(folder / HELD)  # it gets the name that others check only once it is locked
        yield
    finally:
        os.close(handle)


def _remove_unused_copies(home: Path) -> None:
    for folder in list(home.glob(f"{PREFIX}*")):
        if not is_in_use(folder):
            shutil.rmtree(folder, ignore_errors=True)


def is_in_use(folder: Path) -> bool:
    """True if a process holds the copy in this folder, or may be about to."""
    try:
        handle = os.open(folder / HELD, os.O_RDWR)
    except FileNotFoundError:  # the copy is just being made, or its process was killed at that moment
        return folder.exists() and time.time() - folder.stat().st_mtime < _STALE_S
    try:
        return not take_lock(handle)
    finally:
        os.close(handle)
