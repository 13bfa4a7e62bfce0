"""Moving what was written from SQLite's WAL into its file between the transactions of a long piece of work.

SQLite does so at the end of a commit, once some thousand pages stand in the WAL. A page that each batch of an import
changes is then written to the file again and again. Moving more at once writes it once, and nobody holds the write lock.
Most is moved in a thread while the work goes on: the disk takes longer than the processor.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections

CACHE_KIB = (
    65_536  # texts' hashes fall anywhere in their index: with the usual 16 MiB each is read again and again
)
CHECKPOINT_PAGES = 15_000  # 59 MiB; journal_size_limit leaves the WAL 64
# What a thread left, since it was written meanwhile, is moved by the work itself: only once all is moved does the WAL
# begin anew.
REST_PAGES = 2500
MAX_WAL_PAGES = 32_000  # in the WAL; then the work waits


@contextmanager
def deferred_checkpoints() -> Iterator[Callable[[], None]]:
    """Give what is called between two transactions, and moves the pages where they are many; else commits do it. More pages are kept.

    Inside another transaction, and on another database, it does nothing.
    """
    connection: Any = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield lambda: None
        return
    [usual], [cache] = _pragma("PRAGMA wal_autocheckpoint"), _pragma("PRAGMA cache_size")
    _pragma("PRAGMA wal_autocheckpoint = 0")
    if -CACHE_KIB < cache < 0:  # below nought it counts KiB
        _pragma(f"PRAGMA cache_size = {-CACHE_KIB}")
    mover = BackgroundCheckpoints()
    try:
        yield mover.move
    finally:
        with suppress(DatabaseError):  # whatever fails here, the work's own fault is what is told
            mover.close()
            _pragma(f"PRAGMA cache_size = {int(cache)}")
            _pragma(f"PRAGMA wal_autocheckpoint = {int(usual)}")
            checkpoint(int(usual))


class BackgroundCheckpoints:
    """Moves the pages of one piece of work; the thread and its connection are made when there are many for the first time."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._moving: Future[None] | None = None

    def move(self) -> None:
        """Move what is many, or begin to; raises what the thread's last move did."""
        pages, waiting = count_wal_pages()
        if self._moving is not None:
            if pages < MAX_WAL_PAGES and not self._moving.done():
                return
            self._moving.result()
            self._moving = None
            pages, waiting = count_wal_pages()
            if waiting < REST_PAGES or pages >= MAX_WAL_PAGES:
                checkpoint(0)
                return
        elif waiting < CHECKPOINT_PAGES:
            return
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="loci-pages")
        self._moving = self._thread.submit(checkpoint, 0)

    def close(self) -> None:
        """Wait for the thread and close its connection."""
        if self._thread is not None:
            with self._thread as thread:
                thread.submit(connections.close_all)


def count_wal_pages() -> tuple[int, int]:
    """Give the pages in the WAL and how many of them are not in the file yet."""
    # A library before 3.51 knows no NOOP and moves the pages at once.
    _busy, pages, moved = _pragma("PRAGMA wal_checkpoint(NOOP)")
    return pages, pages - moved


def checkpoint(most: int) -> None:
    if count_wal_pages()[1] >= most:
        _pragma("PRAGMA wal_checkpoint(PASSIVE)")


def _pragma(statement: str) -> Any:
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()
