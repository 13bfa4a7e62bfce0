"""Reads the pieces, vectors and changes that the in-memory table follows from SQLite."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from django.db import connection, transaction

from memories.embedding import DIMENSIONS
from memories.search.in_memory.table import Keys, PieceRow, Vectors
from memories.search.schema import statements
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
    (SELECT MIN(seq) FROM index_change), (SELECT MAX(seq) FROM index_change), (SELECT MAX(key) FROM memory_log)
"""
_PIECES = "SELECT COUNT(*) FROM memories_piece"
_CHANGED = "SELECT DISTINCT piece FROM index_change WHERE seq > %s AND seq <= %s"
_VECTORS = "SELECT key, embedding FROM memories_piece WHERE key IN (SELECT value FROM json_each(%s))"


class IndexProgress(NamedTuple):
    """Progress of the index: its model, and the first and last change still in the list.

    `log` is the last row of the audit log, which also records texts that wait for their vector; the list does not.
    """

    model: str
    first: int
    last: int
    log: int = 0


def read_progress() -> IndexProgress:
    """The model, both ends of the list of changes and the audit log's last row."""
    [(model, first, last, log)] = fetch_rows(_STATE, [])
    return IndexProgress(model or "", first or 0, last or 0, log or 0)


def count_pieces() -> int:
    """Number of pieces, with and without a vector."""
    [(count,)] = fetch_rows(_PIECES, [])
    return int(count)


def read_all(model: str) -> Iterator[list[PieceRow]]:
    """All pieces with a vector of this model, in batches of ROWS_AT_ONCE, ordered by key."""
    last = 0
    while rows := fetch_rows(_NEXT, [model, last, ROWS_AT_ONCE]):
        last = rows[-1][0]
        yield [PieceRow(*row) for row in rows]


def read_rows(pieces: Sequence[int], model: str) -> list[PieceRow]:
    """Existing pieces with a vector of this model."""
    return [PieceRow(*row) for row in fetch_rows(_NAMED, [model, json.dumps(list(pieces))])]


def read_changed(after: int, until: int) -> list[int]:
    """Pieces with a change after `after`, up to `until`."""
    return [piece for (piece,) in fetch_rows(_CHANGED, [after, until])]


def read_vectors(pieces: Keys) -> Vectors:
    """Vectors of the pieces in their order, float32[n, 384]; zeros for a deleted piece."""
    found = dict(fetch_rows(_VECTORS, [json.dumps(pieces.tolist())]))
    zeros = bytes(DIMENSIONS * 4)
    return decode_vectors([found.get(piece) or zeros for piece in pieces.tolist()])


def decode_vectors(embeddings: Sequence[bytes]) -> Vectors:
    """Vectors of the embedding column as float32[n, 384]."""
    return np.frombuffer(b"".join(embeddings), dtype="<f4").reshape(len(embeddings), DIMENSIONS)


def fetch_rows(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    """All rows of one statement."""
    return fetch(sql, params)


NOW, NEXT, OLD = "memories_vec", "memories_next_vec", "memories_old_vec"
_GROUP_INDEX = "memories_vec_rooms"
_PIECES_AT_ONCE = 250  # ~10 ms of write lock
_CHUNKS_AT_ONCE = 100  # deleted data is overwritten: 3 MB, ~12 ms
MAX_ROUNDS = 20
# vec0 does not rename its shadow tables.
_SHADOW_TABLE = re.compile(
    r"_(info|chunks|rowids|auxiliary|vector_chunks\d+|metadatachunks\d+|metadatatext\d+)"
)
_COPIED = f"""
INSERT INTO {NEXT} (piece, room, embedding, standing, until, type)
SELECT p.key, row.room, vec_quantize_int8(p.embedding, 'unit'), row.standing, row.until, row.type
FROM memories_piece AS p JOIN memories_vec_row AS row ON row.memory = p.memory_id
WHERE p.model = %s AND p.embedding IS NOT NULL AND
"""  # noqa: S608 - our own names


def switch_model(
    model: str, *, is_complete: Callable[[], bool], progress: Callable[[int, int], None]
) -> bool:
    """Make the index hold the vectors of `model` only; False if some pieces still lack them.

    `is_complete` is called within the last transaction: nobody writes between its answer and the swap.
    """
    discard(NEXT)
    discard(OLD)
    [(seen,)] = _query("SELECT COALESCE(MAX(seq), 0) FROM index_change", [])
    with connection.cursor() as cursor:
        cursor.execute(_read_sql(NOW).replace(f" {NOW} ", f" {NEXT} ", 1))
    _fill_next(model, progress)
    for _ in range(MAX_ROUNDS):
        changed = read_changes(seen)
        if len(changed) < _PIECES_AT_ONCE:
            break
        with transaction.atomic():
            seen = apply_changes(model, changed)
    is_switched = swap(model, seen, is_complete)
    discard(OLD if is_switched else NEXT)
    return is_switched


def discard(name: str) -> None:
    """Drop an index that is not in use, in batches: overwriting all of it at once would block writers."""
    if not _query("SELECT 1 FROM sqlite_master WHERE name = %s", [name]):
        return
    chunks = f"{name}_vector_chunks00"
    with connection.cursor() as cursor:
        while True:
            cursor.execute(
                f"DELETE FROM {chunks} WHERE rowid IN (SELECT rowid FROM {chunks} LIMIT {_CHUNKS_AT_ONCE})"  # noqa: S608
            )
            if not cursor.rowcount:
                break
        cursor.execute(f"DROP TABLE {name}")


def _fill_next(model: str, progress: Callable[[int, int], None]) -> None:
    """Copy the vectors of the model into the next index, one transaction per batch."""
    [(total,)] = _query("SELECT COUNT(*) FROM memories_piece WHERE model = %s", [model])
    done, last = 0, 0
    batch = "SELECT key FROM memories_piece WHERE model = %s AND key > %s ORDER BY key LIMIT %s"
    while keys := [key for (key,) in _query(batch, [model, last, _PIECES_AT_ONCE])]:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"{_COPIED} p.key > %s AND p.key <= %s", [model, last, keys[-1]])
        done, last = done + len(keys), keys[-1]
        progress(min(done, total), total)


def read_changes(seen: int) -> list[tuple[int, int]]:
    """The next batch of changes after `seen`: number and piece."""
    sql = "SELECT seq, piece FROM index_change WHERE seq > %s ORDER BY seq LIMIT %s"
    return _query(sql, [seen, _PIECES_AT_ONCE])


def apply_changes(model: str, changed: list[tuple[int, int]]) -> int:
    """Rewrite the changed pieces in the next index, inside a transaction; returns the last change."""
    pieces = sorted({piece for _, piece in changed})
    holders = ", ".join(["%s"] * len(pieces))
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {NEXT} WHERE piece IN ({holders})", pieces)  # noqa: S608 - placeholders
        cursor.execute(f"{_COPIED} p.key IN ({holders})", [model, *pieces])
    return changed[-1][0]


def swap(model: str, seen: int, is_complete: Callable[[], bool]) -> bool:
    """Apply the last changes and swap the names of both indexes in one transaction; False if incomplete."""
    with connection.cursor() as cursor:
        # Otherwise SQLite would rewrite the triggers to follow the old index to its new name.
        cursor.execute("PRAGMA legacy_alter_table = ON")
        try:
            with transaction.atomic():
                if not is_complete():
                    return False
                while changed := read_changes(seen):
                    seen = apply_changes(model, changed)
                _rename_index(cursor, NOW, OLD)
                _rename_index(cursor, NEXT, NOW)
                # A renamed table keeps its SQL index, under the old name.
                cursor.execute(f"DROP INDEX IF EXISTS {_GROUP_INDEX}")
                cursor.execute(_read_sql(_GROUP_INDEX))
                cursor.execute("UPDATE index_state SET value = %s WHERE name = 'model'", [model])
        finally:
            cursor.execute("PRAGMA legacy_alter_table = OFF")
    return True


def _rename_index(cursor: Any, before: str, after: str) -> None:
    """Rename a vector index and its shadow tables."""
    for (name,) in _query("SELECT name FROM sqlite_master WHERE type = 'table'", []):
        if name == before or (name.startswith(before) and _SHADOW_TABLE.fullmatch(name.removeprefix(before))):
            cursor.execute(f'ALTER TABLE "{name}" RENAME TO "{after}{name.removeprefix(before)}"')


def _read_sql(name: str) -> str:
    """The statement that creates this object."""
    return next(statement.sql for statement in statements("sqlite") if statement.name == name)


def _query(sql: str, params: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
