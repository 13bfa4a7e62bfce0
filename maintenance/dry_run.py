"""Trying something out on a copy of the store: a dry run does what the real one would, and nothing of it stays."""

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
from uuid import UUID

from django.conf import settings
from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from memories.store.purge_hooks import ClearedCopies

PAGES_AT_ONCE = 2_000  # 8 MB; writers get their turn in between
PAUSE_S = 0.005
STALE_S = 3_600  # a folder that is this old and was never held was left by a process that was killed
PREFIX = ".trial-"
HELD = "held"  # a file that is locked as long as somebody works on the copy
T = TypeVar("T")


def tried(work: Callable[[], T]) -> T:
    """Give what `work` answers when it runs on a copy of the database as it is now.

    On SQLite the copy is a file in LOCI_HOME, made while others read and write, and `work` runs in a thread of its own
    whose connection leads there. Elsewhere `work` runs in a transaction that is rolled back.
    """
    if connection.vendor != "sqlite":
        with transaction.atomic():
            answer = work()
            transaction.set_rollback(True)
        return answer
    home = Path(settings.LOCI.home)
    _remove_stale(home)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=home) as folder, _holding(Path(folder)):
        return _in_thread(lambda: _on_copy(work, Path(folder) / "memory.db"))


class Trials:
    """The copies that dry runs work on, as a purge sees them: they go with the run, or here where that was killed."""

    def note(self) -> None:
        """A copy is gone at the end of its run; nothing has to be remembered."""

    def clear(self, ids: frozenset[UUID], texts: tuple[str, ...]) -> ClearedCopies:
        """Remove what killed runs left; name those at work."""
        left = _remove_stale(Path(settings.LOCI.home))
        said = f"copies of the store that dry runs work on may hold it until these end: {left}"
        return ClearedCopies(remains=(said,) if left else ())


@contextmanager
def _holding(folder: Path) -> Iterator[None]:
    draft = folder / f".{HELD}"
    handle = os.open(draft, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        draft.replace(folder / HELD)  # only once it is locked does it bear the name that is looked for
        yield
    finally:
        os.close(handle)


def _remove_stale(home: Path) -> int:
    """Remove the copies that nobody works on any more; give how many are left."""
    folders = list(home.glob(f"{PREFIX}*"))
    for folder in folders:
        if not _is_held(folder):
            shutil.rmtree(folder, ignore_errors=True)
    return sum(folder.exists() for folder in folders)


def _is_held(folder: Path) -> bool:
    try:
        handle = os.open(folder / HELD, os.O_RDWR)
    except FileNotFoundError:  # it is being made, or its maker was killed then
        return folder.exists() and time.time() - folder.stat().st_mtime < STALE_S
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _on_copy(work: Callable[[], T], path: Path) -> T:
    real = connections["default"]
    real.ensure_connection()
    copy = type(real)({**real.settings_dict, "NAME": str(path)}, "default")
    try:
        _fill(copy, real)
        connections["default"] = copy
        return work()
    finally:
        copy.close()
        real.close()


def _fill(copy: BaseDatabaseWrapper, real: BaseDatabaseWrapper) -> None:
    copy.ensure_connection()
    source: Any = real.connection
    source.backup(copy.connection, pages=PAGES_AT_ONCE, sleep=PAUSE_S)


def _in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread, whose connections are its own; raise here what it raises there."""
    answers: list[T] = []
    faults: list[BaseException] = []

    def body() -> None:
        try:
            answers.append(work())
        except BaseException as fault:  # raised again below
            faults.append(fault)
        finally:
            connections.close_all()

    thread = threading.Thread(target=body, name="loci-trial")
    thread.start()
    thread.join()
    if faults:
        raise faults[0]
    return answers[0]
