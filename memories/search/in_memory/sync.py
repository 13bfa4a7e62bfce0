"""The vectors in memory of each database that this process searches, kept true to it by the list of its changes.

Triggers write every change of a piece to `index_change`; a search looks at the last one first and reads what changed
since. So what another process committed is found by the next search. Where the list does not reach back far enough, or
the model changed, everything is read anew.
"""

import logging
import os
import threading
from collections import OrderedDict
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection

from memories.search.in_memory.overlay import AnyTable, TrialTable
from memories.search.in_memory.table import VectorTable
from memories.search.sqlite.vectors import (
    IndexProgress,
    count_pieces,
    read_all,
    read_changed,
    read_progress,
    read_rows,
)

log = logging.getLogger(__name__)
# A process that asks once, as a command does, is done sooner without reading all vectors.
SEARCHES_BEFORE = 3
MOST_DATABASES = 3  # kept at once: the store and copies that a dry run works on
# Where more than this share of the rows changed, reading all is quicker. At least a batch of an import.
ANEW_SHARE, ANEW_LEAST = 0.2, 5000
GONE_SHARE = 0.25  # of rows that are only marked as gone
WAIT_S = 0.2  # for another thread that follows; a search then goes to the database's own index

Place = tuple[str, int, int]  # the file's name, device and inode: a file put in its place is another database


class IndexFollower:
    """The vectors of one database and how far they have come. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: tuple[VectorTable, IndexProgress] | None = (
            None  # one value, so that a reader gets both of one time
        )
        self._asked = 0

    def table(self, stand: IndexProgress) -> VectorTable | None:
        """Give the table, as new as `stand`; None where it is not worth while yet, or busy."""
        self._asked += 1
        held = self._held
        if held is not None and (held[1].model, held[1].last) == (stand.model, stand.last):
            return held[0]
        if held is None and self._asked <= SEARCHES_BEFORE:
            return None
        if not self._lock.acquire(timeout=WAIT_S):
            return None
        try:
            return self._follow()
        finally:
            self._lock.release()

    def trial(self, stand: IndexProgress) -> AnyTable | None:
        """Give the table as the transaction sees it that is at `stand`; None where that cannot be told from it.

        What the transaction changed is kept apart: it may be taken back, and others never see it before.
        """
        if self._held is None or not self._lock.acquire(timeout=WAIT_S):
            return None
        try:
            table, known = self._held
            if stand.model != known.model or not _reaches_back(stand, known):
                return None
            changed = read_changed(known.last, stand.last) if stand.last > known.last else []
            if len(changed) > ANEW_LEAST:
                return None
            return TrialTable(table, changed, read_rows(changed, stand.model)) if changed else table
        finally:
            self._lock.release()

    def load(self) -> None:
        """Read the vectors now."""
        with self._lock:
            self._follow()

    def _follow(self) -> VectorTable:
        stand = read_progress()  # anew: another thread may have come further while this one waited
        if self._held is None:
            return self._read_all(stand)
        table, known = self._held
        if stand.model != known.model or not _reaches_back(stand, known):
            return self._read_all(stand)
        changed = read_changed(known.last, stand.last) if stand.last > known.last else []
        if len(changed) > max(ANEW_LEAST, ANEW_SHARE * len(table)) or table.gone > GONE_SHARE * len(table):
            return self._read_all(stand)
        rows = read_rows(changed, stand.model) if changed else []
        table.put(rows)
        table.remove(set(changed) - {row.piece for row in rows})
        self._held = table, stand
        return table

    def _read_all(self, stand: IndexProgress) -> VectorTable:
        table = VectorTable(exact_mb=settings.LOCI.storage.vector_memory_mb, expected=count_pieces())
        for rows in read_all(stand.model):
            table.put(rows)
        self._held = table, stand
        return table


def _reaches_back(stand: IndexProgress, known: IndexProgress) -> bool:
    """Say whether the list still has every change since `known`."""
    return stand.last == known.last or (stand.last > known.last and stand.first <= known.last + 1)


_followers: OrderedDict[Place, IndexFollower] = OrderedDict()
_guard = threading.Lock()

if hasattr(os, "register_at_fork"):
    # A lock that another thread held at the fork would never be released in the child.
    os.register_at_fork(after_in_child=_followers.clear)


def current_table(stand: IndexProgress) -> AnyTable | None:
    """Give the vectors in memory of the database in use; None where the database's own index has to be asked.

    That is so in a database that is no file, and while the vectors are still read. Inside a transaction what it wrote
    itself is found, and by nobody else.
    """
    place = _place() if stand.model else None
    if place is None:
        return None
    follower = _follower(place)
    return follower.trial(stand) if connection.in_atomic_block else follower.table(stand)


def load_table() -> None:
    """Read the vectors of the database in use into memory now."""
    place = _place()
    if place is not None:
        _follower(place).load()


def load_in_background() -> None:
    """Begin to read the vectors and return at once; a server does so when it starts. Never raises."""
    if connection.vendor != "sqlite":  # another database searches its own vectors
        return
    threading.Thread(target=_load, name="loci-vectors", daemon=True).start()


def _load() -> None:
    try:
        with connection.cursor() as cursor:
            # What is read once through the memory map would stay in the process's memory.
            cursor.execute("PRAGMA mmap_size = 0")
        load_table()
    except DatabaseError as error:  # no tables yet: a search tries again
        log.warning("The vectors could not be read into memory: %s", error)
    finally:
        connection.close()


def _follower(place: Place) -> IndexFollower:
    with _guard:
        follower = _followers.setdefault(place, IndexFollower())
        _followers.move_to_end(place)
        while len(_followers) > MOST_DATABASES:
            _followers.popitem(last=False)
        return follower


def _place() -> Place | None:
    name = str(connection.settings_dict["NAME"])
    try:
        there = Path(name).stat()
    except OSError:
        return None
    return name, there.st_dev, there.st_ino
