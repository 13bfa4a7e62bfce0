"""Dry runs: real work on a copy of the store, which is thrown away."""

import fcntl
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection, connections, transaction

from memories.store.places import ClearedCopies, PurgedTexts

PAGES_AT_ONCE = 2_000  # 8 MB; writers get their turn in between
PAUSE_S = 0.005
STALE_S = 3_600  # a folder this old that was never held belongs to a killed process
PREFIX = ".trial-"
HELD = "held"  # a file that is locked while its copy is in use
T = TypeVar("T")


def run_on_copy(work: Callable[[], T]) -> T:
    """The result of `work`, run on a copy of the database as it is now.

    On SQLite the copy is a file in LOCI_HOME, made while others read and write, and `work` runs in a thread of its own
    that is connected to it. On other databases `work` runs in a transaction that is rolled back.
    """
    if connection.vendor != "sqlite":
        with transaction.atomic():
            answer = work()
            transaction.set_rollback(True)
        return answer
    home = Path(settings.LOCI.home)
    remove_unused_copies(home)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=home) as folder, hold_copy(Path(folder)):
        return run_in_thread(lambda: copy_and_run(work, Path(folder) / "memory.db"))


class DryRunCopies:
    """The dry runs' copies of the store as a purge sees them; each ends with its run, or here if that was killed."""

    name = "trials"
    files = (f"{PREFIX}*",)

    def note(self) -> str:
        """Nothing to remember: a copy is deleted when its run ends."""
        return ""

    def find(self, doomed: PurgedTexts) -> tuple[str, ...]:
        """The number of copies, whatever they hold."""
        left = sum(1 for _ in Path(settings.LOCI.home).glob(f"{PREFIX}*"))
        return (
            (f"copies of the store used by dry runs may contain it until those end: {left}",) if left else ()
        )

    def clear(self, doomed: PurgedTexts, *, note: str) -> ClearedCopies:
        """Delete the copies of killed runs."""
        remove_unused_copies(Path(settings.LOCI.home))
        return ClearedCopies()


@contextmanager
def hold_copy(folder: Path) -> Iterator[None]:
    """Keep a copy's folder locked during the block, so that nobody removes it."""
    draft = folder / f".{HELD}"
    handle = os.open(draft, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        draft.replace(folder / HELD)  # it gets the name that others check only once it is locked
        yield
    finally:
        os.close(handle)


def remove_unused_copies(home: Path) -> int:
    """Delete the copies that nobody uses; the number of remaining ones."""
    folders = list(home.glob(f"{PREFIX}*"))
    for folder in folders:
        if not is_in_use(folder):
            shutil.rmtree(folder, ignore_errors=True)
    return sum(folder.exists() for folder in folders)


def is_in_use(folder: Path) -> bool:
    """True if a process holds the copy in this folder, or may be about to."""
    try:
        handle = os.open(folder / HELD, os.O_RDWR)
    except FileNotFoundError:  # the copy is just being made, or its process was killed at that moment
        return folder.exists() and time.time() - folder.stat().st_mtime < STALE_S
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def copy_and_run(work: Callable[[], T], path: Path) -> T:
    """Copy the SQLite database to `path` and run `work` with this thread's connection to the copy."""
    real = connections["default"]
    real.ensure_connection()
    copy = type(real)({**real.settings_dict, "NAME": str(path)}, "default")
    try:
        copy.ensure_connection()
        source: Any = real.connection
        source.backup(copy.connection, pages=PAGES_AT_ONCE, sleep=PAUSE_S)
        connections["default"] = copy
        return work()
    finally:
        copy.close()
        real.close()


def run_in_thread(work: Callable[[], T]) -> T:
    """The result of `work`, run in a thread with connections of its own; its exception is raised here."""
    results: list[T] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised again below
            errors.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=body, name="loci-trial")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
