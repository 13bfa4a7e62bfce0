"""Vectors in memory of each database that this process searches, kept current by the list of changes.

Triggers record every change of a piece in `index_change`; a search reads the last one first and then what changed since,
so the next search finds what another process committed. If the list does not reach back far enough, or the model changed,
everything is read again."""

import json
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from django.conf import settings
from django.db import DatabaseError, connection

from access.visibility import Visibility
from memories.search.in_memory.table import (
    EXACT_MB,
    AllowedRows,
    Keys,
    Nearest,
    PieceRow,
    Reader,
    Vectors,
    VectorTable,
)
from memories.search.schema import index_width
from storage.compiled_queries import fetch

ROWS_AT_ONCE = 2000
# Only the order of the times matters; the views in rows.sql compute `until` the same way.
_ROWS = """
SELECT p.key, p.memory_id, m.group_id, m.scope,
    CASE row.standing WHEN 3 THEN 'outlasting' ELSE m.state END, m.trust, m.type, row.until,
    CAST((julianday(COALESCE(m.valid_from, m.created_at)) - 2440587.5) * 86400000 AS INTEGER), p.embedding
FROM memories_piece AS p
JOIN memories_memory AS m ON m.key = p.memory_id
JOIN memories_vec_row AS row ON row.memory = p.memory_id
WHERE p.embedding IS NOT NULL AND p.model = %s
"""
_NEXT = f"{_ROWS} AND p.key > %s ORDER BY p.key LIMIT %s"
_NAMED = f"{_ROWS} AND p.key IN (SELECT value FROM json_each(%s))"  # noqa: S608 - constants alone
_STATE = """
SELECT (SELECT value FROM index_state WHERE name = 'model'),
    (SELECT MIN(seq) FROM index_change), (SELECT MAX(seq) FROM index_change)
"""
_CHANGED = "SELECT DISTINCT piece FROM index_change WHERE seq > %s AND seq <= %s"
_VECTORS = "SELECT key, embedding FROM memories_piece WHERE key IN (SELECT value FROM json_each(%s))"


class _IndexProgress(NamedTuple):
    """Progress of the index: its model, and the first and last change still in the list."""

    model: str
    first: int
    last: int


def read_progress() -> _IndexProgress:
    """The model, and both ends of the list of changes."""
    [(model, first, last)] = fetch(_STATE, [])
    return _IndexProgress(model or "", first or 0, last or 0)


def read_all(model: str) -> Iterator[list[PieceRow]]:
    """All pieces with a vector of this model, in batches of ROWS_AT_ONCE, ordered by key."""
    last = 0
    while rows := fetch(_NEXT, [model, last, ROWS_AT_ONCE]):
        last = rows[-1][0]
        yield [PieceRow(*row) for row in rows]


def read_rows(pieces: Sequence[int], model: str) -> list[PieceRow]:
    """Existing pieces with a vector of this model."""
    return [PieceRow(*row) for row in fetch(_NAMED, [model, json.dumps(list(pieces))])]


def read_vectors(pieces: Keys) -> Vectors:
    """Vectors of the pieces in their order, float32[n, width]; zeros for a deleted piece."""
    found = dict(fetch(_VECTORS, [json.dumps(pieces.tolist())]))
    zeros = bytes(max(map(len, filter(None, found.values())), default=0) or 4 * index_width(connection))
    return decode_vectors([found.get(piece) or zeros for piece in pieces.tolist()])


def decode_vectors(embeddings: Sequence[bytes]) -> Vectors:
    """Vectors of the embedding column, one or more, as float32[n, width]."""
    return np.frombuffer(b"".join(embeddings), dtype="<f4").reshape(len(embeddings), -1)


@dataclass(frozen=True)
class _TrialAllowed(AllowedRows):
    """What a Visibility may allow of the rows that did not change; `own` of those that did."""

    own: AllowedRows


class TrialTable:
    """A table in which some pieces changed or went for one reader; the table itself stays as it is.

    Answers as the VectorTable would that had these changes.
    """

    def __init__(self, table: VectorTable, changed: Sequence[int], rows: Sequence[PieceRow]) -> None:
        """`rows` are those of the changed pieces that are still there."""
        self._table = table
        self._changed: Keys = np.array(sorted(changed), dtype=np.int64)
        self._own = VectorTable(exact_mb=EXACT_MB if table.has_exact else 0, width=table.width)
        self._own.put(rows)

    def allowed(self, v: Visibility) -> _TrialAllowed:
        """Mark the rows that the Visibility may allow."""
        found = self._table.allowed(v)
        rows = found.rows[~np.isin(found.part.columns.piece[found.rows], self._changed)]
        return _TrialAllowed(found.part, rows, found.until, self._own.allowed(v))

    def nearest(self, vector: Vectors, allowed: AllowedRows, *, wanted: int, read: Reader) -> Nearest:
        """The `wanted` nearest pieces by cosine; `read` returns vectors that are not in memory."""
        kept = self._table.nearest(vector, allowed, wanted=wanted, read=read)
        if not isinstance(allowed, _TrialAllowed):
            return kept
        own = self._own.nearest(vector, allowed.own, wanted=wanted, read=read)
        cosines = np.concatenate([kept.cosines, own.cosines])
        best = np.argsort(-cosines, kind="stable")[:wanted]
        return Nearest(
            np.concatenate([kept.memories, own.memories])[best],
            cosines[best],
            is_all=kept.is_all and own.is_all and len(best) == len(cosines),
        )

    def best_cosines(self, memories: Collection[int], vector: Vectors) -> dict[int, float] | None:
        """The cosine of each memory's best piece; None if the vectors are not in memory."""
        kept = self._table.best_cosines(memories, vector, without=self._changed)
        own = self._own.best_cosines(memories, vector)
        if kept is None or own is None:
            return None
        return kept | {key: max(cosine, kept.get(key, -1.0)) for key, cosine in own.items()}


AnyTable = VectorTable | TrialTable


log = logging.getLogger(__name__)
# A process with a single search, such as a command, is faster without reading all vectors.
_SEARCHES_BEFORE = 3
_MOST_DATABASES = 3  # in memory at once: the store and the copies of dry runs
# If more than this share of the rows changed, reading all is faster. At least a batch of an import.
RELOAD_SHARE, RELOAD_MIN_ROWS = 0.2, 5000
_DELETED_SHARE = 0.25  # of rows that are only marked as deleted
WAIT_S = 0.2  # for another thread's update; after that a search uses the database's own index

Place = tuple[str, int, int]  # the file's name, device and inode: a replaced file is another database


class _IndexFollower:
    """The vectors of one database and their progress. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # One value, so that a reader gets a consistent pair.
        self._state: tuple[VectorTable, _IndexProgress] | None = None
        self._searches = 0

    def table(self, progress: _IndexProgress) -> VectorTable | None:
        """The table, current as of `progress`; None if it is not worth reading yet, or busy."""
        self._searches += 1
        state = self._state
        if state is not None and (state[1].model, state[1].last) == (progress.model, progress.last):
            return state[0]
        if state is None and self._searches <= _SEARCHES_BEFORE:
            return None
        if not self._lock.acquire(timeout=WAIT_S):
            return None
        try:
            return self._update(progress)
        finally:
            self._lock.release()

    def trial(self, progress: _IndexProgress) -> AnyTable | None:
        """The table as the transaction at `progress` sees it; None if that cannot be derived from the table.

        The transaction's changes are kept apart: it may be rolled back, and others must not see them before its commit.
        """
        if self._state is None or not self._lock.acquire(timeout=WAIT_S):
            return None
        try:
            table, known = self._state
            changed = _changed_since(known, progress)
            if changed is None or len(changed) > RELOAD_MIN_ROWS:
                return None
            return TrialTable(table, changed, read_rows(changed, progress.model)) if changed else table
        finally:
            self._lock.release()

    def load(self) -> None:
        """Read the vectors now."""
        with self._lock:
            self._update(read_progress())

    def _update(self, progress: _IndexProgress) -> VectorTable:
        if self._state is None or progress.last <= self._state[1].last:
            progress = (
                read_progress()
            )  # again: another thread may have updated the table while this one waited
        if self._state is None:
            return self._read_all(progress)
        table, known = self._state
        changed = _changed_since(known, progress)
        most = max(RELOAD_MIN_ROWS, RELOAD_SHARE * len(table))
        if changed is None or len(changed) > most or table.deleted > _DELETED_SHARE * len(table):
            return self._read_all(progress)
        rows = read_rows(changed, progress.model) if changed else []
        table.put(rows)
        table.remove(set(changed) - {row.piece for row in rows})
        self._state = table, progress
        return table

    def _read_all(self, progress: _IndexProgress) -> VectorTable:
        [(count,)] = fetch("SELECT COUNT(*) FROM memories_piece", [])  # with and without a vector
        exact_mb, width = settings.LOCI.storage.vector_memory_mb, index_width(connection)
        table = VectorTable(exact_mb=exact_mb, expected=int(count), width=width)
        for rows in read_all(progress.model):
            table.put(rows)
        self._state = table, progress
        return table


def _changed_since(known: _IndexProgress, progress: _IndexProgress) -> list[int] | None:
    """The pieces that changed since `known`; None if the list no longer has every change, or the model changed."""
    if progress.model != known.model:
        return None
    if progress.last == known.last:
        return []
    if progress.last < known.last or progress.first > known.last + 1:
        return None
    return [piece for (piece,) in fetch(_CHANGED, [known.last, progress.last])]


_followers: OrderedDict[Place, _IndexFollower] = OrderedDict()
_guard = threading.Lock()

# In the child, a lock held by another thread at the fork would never be released.
os.register_at_fork(after_in_child=_followers.clear)


def current_table(progress: _IndexProgress) -> AnyTable | None:
    """The vectors in memory of the database in use; None if a search must use the database's own index.

    That is the case for a database that is not a file, and while the vectors are being read. Inside a transaction the
    table includes its own writes, for this transaction only.
    """
    place = _current_place() if progress.model else None
    if place is None:
        return None
    follower = _follower_of(place)
    return follower.trial(progress) if connection.in_atomic_block else follower.table(progress)


def load_table() -> None:
    """Read the vectors of the database in use into memory now."""
    if (place := _current_place()) is not None:
        _follower_of(place).load()


def load_in_background() -> None:
    """Start reading the vectors and return at once; called when a server starts. Never raises."""
    if connection.vendor != "sqlite":  # another database searches its vectors itself
        return
    threading.Thread(target=_load_and_close, name="loci-vectors", daemon=True).start()


def _load_and_close() -> None:
    try:
        with connection.cursor() as cursor:
            # Pages read through the memory map would stay in the process's memory.
            cursor.execute("PRAGMA mmap_size = 0")
        load_table()
    except DatabaseError as error:  # no tables yet: the next search tries again
        log.warning("The vectors could not be read into memory: %s", error)
    finally:
        connection.close()


def _follower_of(place: Place) -> _IndexFollower:
    """The follower of a database; the least recently used one is dropped beyond MOST_DATABASES."""
    with _guard:
        follower = _followers.setdefault(place, _IndexFollower())
        _followers.move_to_end(place)
        while len(_followers) > _MOST_DATABASES:
            _followers.popitem(last=False)
        return follower


def _current_place() -> Place | None:
    """The file of the database in use, if it is one."""
    name = str(connection.settings_dict["NAME"])
    try:
        stat = Path(name).stat()
    except OSError:
        return None
    return name, stat.st_dev, stat.st_ino
