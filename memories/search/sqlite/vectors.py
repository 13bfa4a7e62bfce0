"""Reads the pieces, vectors and changes that the in-memory table follows from SQLite."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from memories.embedding import DIMENSIONS
from memories.search.in_memory.table import Keys, PieceRow, Vectors
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
