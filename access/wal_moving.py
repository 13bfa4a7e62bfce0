"""Moving what was written from SQLite's WAL into its file between the transactions of a long piece of work.

SQLite does so at the end of a commit, once some thousand pages stand in the WAL. A page that each batch of an import
changes is then written to the file again and again. Moving more at once writes it once, and nobody holds the write lock.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections

CACHE_KIB = (
    65_536  # texts' hashes fall anywhere in their indexes: with the usual 16 MiB each is read again and again
)
MOST_PAGES = 14_000  # 55 MiB; with a batch more it is what journal_size_limit leaves the WAL


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
    try:
        yield lambda: _move(MOST_PAGES)
    finally:
        with suppress(DatabaseError):  # whatever fails here, the work's own fault is what is told
            _row(f"PRAGMA cache_size = {int(cache)}")
            _row(f"PRAGMA wal_autocheckpoint = {int(usual)}")
            _move(int(usual))


def _move(most: int) -> None:
    # A library before 3.51 knows no NOOP and moves the pages at once.
    _busy, pages, moved = _row("PRAGMA wal_checkpoint(NOOP)")
    if pages - moved >= most:
        _row("PRAGMA wal_checkpoint(PASSIVE)")


def _row(statement: str) -> Any:
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()
