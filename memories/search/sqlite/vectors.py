"""What the in-memory vectors are made of and follow, read from SQLite."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from memories.embedding import DIMENSIONS
from memories.search.in_memory.table import Keys, PieceRow, Vectors
from storage.compiled_queries import fetch

ROWS_AT_ONCE = 2000
# Of the times, only their order counts; the views in rows.sql say the same of `until`.
_ROWS = """
SELECT p.key, p.memory_id, m.group_id, m.scope, m.state, m.trust, m.type, row.until,
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
    """How far the index has come: its model, and the first and last change that the list still has.

    `log` is the last row of the audit log: a text that waits for its vector is there, but not in the list.
    """

    model: str
    first: int
    last: int
    log: int = 0


def read_progress() -> IndexProgress:
    """Give the model, the ends of the list of changes and the log's last row."""
    [(model, first, last, log)] = query(_STATE, [])
    return IndexProgress(model or "", first or 0, last or 0, log or 0)


def count_pieces() -> int:
    """Give how many pieces there are, with and without a vector."""
    [(count,)] = query(_PIECES, [])
    return int(count)


def read_all(model: str) -> Iterator[list[PieceRow]]:
    """Give all pieces with a vector of this model, in the order of their keys, some thousand at once."""
    last = 0
    while rows := query(_NEXT, [model, last, ROWS_AT_ONCE]):
        last = rows[-1][0]
        yield [PieceRow(*row) for row in rows]


def read_rows(pieces: Sequence[int], model: str) -> list[PieceRow]:
    """Give those of the pieces that are there with a vector of this model."""
    return [PieceRow(*row) for row in query(_NAMED, [model, json.dumps(list(pieces))])]


def read_changed(after: int, until: int) -> list[int]:
    """Give the pieces that changed."""
    return [piece for (piece,) in query(_CHANGED, [after, until])]


def read_vectors(pieces: Keys) -> Vectors:
    """Give pieces' vectors in their order, float32[n, 384]; zeros for one that is gone."""
    found = dict(query(_VECTORS, [json.dumps(pieces.tolist())]))
    gone = bytes(DIMENSIONS * 4)
    return decode_vectors([found.get(piece) or gone for piece in pieces.tolist()])


def decode_vectors(embeddings: Sequence[bytes]) -> Vectors:
    """Give vectors as they stand in the rows as float32[n, 384]."""
    return np.frombuffer(b"".join(embeddings), dtype="<f4").reshape(len(embeddings), DIMENSIONS)


def query(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Give all rows of one statement."""
    return fetch(sql, params)
