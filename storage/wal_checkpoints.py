"""SQLite's WAL checkpoints, made between the transactions of a long piece of work instead of at each commit.

SQLite checkpoints at the end of a commit once some thousand pages are in the WAL, so a page that every batch of an import
changes is written to the file again and again. Larger checkpoints write it once, and none of them holds the write lock.
Most run in a thread while the work goes on: the disk takes longer than the processor.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections

# The hashes of texts fall anywhere in their index: with the usual 16 MiB its pages are read again and again.
CACHE_KIB = 65_536
CHECKPOINT_PAGES = 15_000  # 59 MiB; journal_size_limit leaves the WAL 64
# What the thread left over, since it was written meanwhile, is checkpointed by the work itself: the WAL restarts only
# when everything is in the file.
REST_PAGES = 2500
MAX_WAL_PAGES = 32_000  # from this size of the WAL on, the work waits


@contextmanager
def deferred_checkpoints() -> Iterator[Callable[[], None]]:
    """Stop checkpoints at commits, enlarge the page cache, and yield a function to call between two transactions.

    The function checkpoints once enough pages wait. Inside another transaction, and on another database, nothing changes
    and the function does nothing.
    """
    connection: Any = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield lambda: None
        return
    [autocheckpoint], [cache] = _pragma("PRAGMA wal_autocheckpoint"), _pragma("PRAGMA cache_size")
    _pragma("PRAGMA wal_autocheckpoint = 0")
    if -CACHE_KIB < cache < 0:  # a negative size is in KiB
        _pragma(f"PRAGMA cache_size = {-CACHE_KIB}")
    checkpoints = BackgroundCheckpoints()
    try:
        yield checkpoints.advance
    finally:
        with suppress(DatabaseError):  # whatever fails here must not hide an error of the work itself
            checkpoints.close()
            _pragma(f"PRAGMA cache_size = {int(cache)}")
            _pragma(f"PRAGMA wal_autocheckpoint = {int(autocheckpoint)}")
            checkpoint(int(autocheckpoint))


class BackgroundCheckpoints:
    """The checkpoints of one piece of work; the thread and its connection are made for the first one."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._running: Future[None] | None = None

    def advance(self) -> None:
        """Start or finish a checkpoint if enough pages wait; raises the error of the thread's last one."""
        pages, waiting = count_wal_pages()
        if self._running is not None:
            if pages < MAX_WAL_PAGES and not self._running.done():
                return
            self._running.result()
            self._running = None
            pages, waiting = count_wal_pages()
            if waiting < REST_PAGES or pages >= MAX_WAL_PAGES:
                checkpoint(0)
                return
        elif waiting < CHECKPOINT_PAGES:
            return
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="loci-pages")
        self._running = self._thread.submit(checkpoint, 0)

    def close(self) -> None:
        """Wait for the thread and close its connection."""
        if self._thread is not None:
            with self._thread as thread:
                thread.submit(connections.close_all)


def count_wal_pages() -> tuple[int, int]:
    """The number of pages in the WAL, and of those that are not in the file yet."""
    # SQLite before 3.51 does not know NOOP and makes a checkpoint instead.
    _busy, pages, moved = _pragma("PRAGMA wal_checkpoint(NOOP)")
    return pages, pages - moved


def checkpoint(min_pages: int) -> None:
    """Write the WAL into the file if at least `min_pages` wait; never waits for readers."""
    if count_wal_pages()[1] >= min_pages:
        _pragma("PRAGMA wal_checkpoint(PASSIVE)")


def _pragma(statement: str) -> Any:
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()
