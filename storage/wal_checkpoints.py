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
MOST_PAGES = 15_000  # 59 MiB; journal_size_limit leaves the WAL 64
# What a thread left, since it was written meanwhile, is moved by the work itself: only once all is moved does the WAL
# begin anew.
REST_PAGES = 2500
TOO_MANY_PAGES = 32_000  # in the WAL; then the work waits


@contextmanager
def pages_moved_between() -> Iterator[Callable[[], None]]:
    """Give what is called between two transactions, and moves the pages where they are many; else commits do it. More pages are kept.

    Inside another transaction, and on another database, it does nothing.
    """
    connection: Any = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield lambda: None
        return
    [usual], [cache] = _row("PRAGMA wal_autocheckpoint"), _row("PRAGMA cache_size")
    _row("PRAGMA wal_autocheckpoint = 0")
    if -CACHE_KIB < cache < 0:  # below nought it counts KiB
        _row(f"PRAGMA cache_size = {-CACHE_KIB}")
    mover = _Mover()
    try:
        yield mover.move
    finally:
        with suppress(DatabaseError):  # whatever fails here, the work's own fault is what is told
            mover.close()
            _row(f"PRAGMA cache_size = {int(cache)}")
            _row(f"PRAGMA wal_autocheckpoint = {int(usual)}")
            _move(int(usual))


class _Mover:
    """Moves the pages of one piece of work; the thread and its connection are made when there are many for the first time."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._moving: Future[None] | None = None

    def move(self) -> None:
        """Move what is many, or begin to; raises what the thread's last move did."""
        pages, waiting = _counted()
        if self._moving is not None:
            if pages < TOO_MANY_PAGES and not self._moving.done():
                return
            self._moving.result()
            self._moving = None
            pages, waiting = _counted()
            if waiting < REST_PAGES or pages >= TOO_MANY_PAGES:
                _move(0)
                return
        elif waiting < MOST_PAGES:
            return
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="loci-pages")
        self._moving = self._thread.submit(_move, 0)

    def close(self) -> None:
        """Wait for the thread and close its connection."""
        if self._thread is not None:
            with self._thread as thread:
                thread.submit(connections.close_all)


def _counted() -> tuple[int, int]:
    """Give the pages in the WAL and how many of them are not in the file yet."""
    # A library before 3.51 knows no NOOP and moves the pages at once.
    _busy, pages, moved = _row("PRAGMA wal_checkpoint(NOOP)")
    return pages, pages - moved


def _move(most: int) -> None:
    if _counted()[1] >= most:
        _row("PRAGMA wal_checkpoint(PASSIVE)")


def _row(statement: str) -> Any:
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()
