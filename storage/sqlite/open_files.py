"""Which SQLite files are open: every process marks the files that it opens, and exclusive access is refused meanwhile.

The mark is a kernel lock on a file beside the database. It ends with its process, however that ends, so it is never
stale.
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
    """Another process has the file open or needs exclusive access to it."""


def mark_open(database: Path, *, timeout_s: float) -> None:
    """Mark the file as open until this process ends; wait while another process has exclusive access.

    Raises:
        FileInUse: the other process took longer than `timeout_s`.
    """
    with _guard:
        if database in _shared or database in _exclusive:
            return
        handle = open_lock_file(database)
        deadline = time.monotonic() + timeout_s
        while not try_lock(handle, fcntl.LOCK_SH):
            if time.monotonic() > deadline:
                os.close(handle)
                raise FileInUse(f"{database.name} is being restored from a backup")
            time.sleep(POLL_INTERVAL_S)
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
        handle = open_lock_file(database)
        if not try_lock(handle, fcntl.LOCK_EX):
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


def open_lock_file(database: Path) -> int:
    """A descriptor of the lock file beside the database, created with mode 0600."""
    return os.open(database.with_name(f"{database.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)


def try_lock(handle: int, kind: int) -> bool:
    """True if the lock was free and is now held; never waits."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
