"""Who has a SQLite file open: every process that opens it says so, and one that must be alone with it finds out.

A lock of the kernel on a file beside the database. It ends with its process, however that ends, so it is never stale.
"""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_INTERVAL_S = 0.05
_shared: dict[Path, int] = {}
_exclusive: set[Path] = set()
_guard = threading.Lock()


class FileInUse(Exception):
    """Another process has the file open, or wants to be alone with it."""


def mark_open(database: Path, *, timeout_s: float) -> None:
    """Note, until this process ends, that it has the file open; waits while another one is alone with it.

    Raises:
        InUse: the other one took longer than `timeout_s`.
    """
    with _guard:
        if database in _shared or database in _exclusive:
            return
        handle = _opened(database)
        deadline = time.monotonic() + timeout_s
        while not _locked(handle, fcntl.LOCK_SH):
            if time.monotonic() > deadline:
                os.close(handle)
                raise FileInUse(f"{database.name} is being restored from a backup")
            time.sleep(POLL_INTERVAL_S)
        _shared[database] = handle


@contextmanager
def exclusive_access(database: Path) -> Iterator[None]:
    """Keep every other process from the file for the time of the block; this one's connections are to be closed.

    Raises:
        InUse: another process has it open.
    """
    with _guard:
        if (handle := _shared.pop(database, None)) is not None:
            os.close(handle)
        handle = _opened(database)
        if not _locked(handle, fcntl.LOCK_EX):
            os.close(handle)
            raise FileInUse(f"{database.name} is open in another process")
        _exclusive.add(database)
    try:
        yield
    finally:
        with _guard:
            _exclusive.discard(database)
            os.close(handle)


def _opened(database: Path) -> int:
    return os.open(database.with_name(f"{database.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)


def _locked(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
