"""Chunks in SQLite: FTS5 and vec0, kept by the triggers of chunks.sql."""

import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from access.visibility import Visibility
from memories.queries.visibility import chunk_rule, to_sql
from memories.search.query_terms import expression_of
from sources.artifacts.search.base import FoundChunk, room_of
from storage.compiled_queries import fetch

COLUMNS: Final = "content locator heading forms"
FEW: Final = 32  # more than asked for: vec0 compares rounded vectors

_FOUND = """
FROM chunk_fts AS f CROSS JOIN sources_chunk AS c INDEXED BY chunk_search ON c.key = f.rowid
WHERE f.chunk_fts MATCH {word} AND {where}
"""
_POSTINGS = f"""
SELECT (SELECT GROUP_CONCAT(c.key) || ' ' || GROUP_CONCAT(c.words) {_FOUND}) FROM json_each(%s) AS word
"""  # noqa: S608 - constants alone
_COUNT = f"SELECT COUNT(*) FROM (SELECT 1 {_FOUND} LIMIT %s)"  # noqa: S608 - constants alone
_NEAREST = (
    "SELECT chunk FROM chunk_vec WHERE embedding MATCH vec_quantize_int8(%s, 'unit') AND k = %s AND room = %s"
)
_ROWS = """
SELECT c.key, c.content, c.words, c.weight, CASE WHEN c.model = %s THEN c.embedding END FROM sources_chunk AS c
WHERE c.key IN (SELECT value FROM json_each(%s)) AND {where}
"""


class _SqliteChunks:
    """ChunkIndex on SQLite."""

    def postings(self, terms: Sequence[str], visibility: Visibility) -> list[tuple[str, str]]:
        expressions = json.dumps([expression_of([term], COLUMNS) for term in terms])
        where, params = to_sql(chunk_rule(visibility), "c")
        rows = fetch(_POSTINGS.format(word="word.value", where=where), [*params, expressions])
        return [tuple((row or " ").split(" ")) for (row,) in rows]

    def counts(self, terms: Sequence[str], visibility: Visibility, *, most: int) -> list[int]:
        where, params = to_sql(chunk_rule(visibility), "c")
        sql = _COUNT.format(word="%s", where=where)
        rows = [fetch(sql, [expression_of([term], COLUMNS), *params, most]) for term in terms]
        return [int(count) for [(count,)] in rows]

    def nearest(self, vector: Any, visibility: Visibility, *, limit: int) -> list[int]:
        """Keys of the nearest chunks; they are compared again with the whole vectors."""
        return [key for (key,) in fetch(_NEAREST, [vector.tobytes(), limit + FEW, room_of(visibility)])]

    def read(self, keys: Sequence[int], visibility: Visibility, vector: Any, model: str) -> list[FoundChunk]:
        where, params = to_sql(chunk_rule(visibility), "c")
        rows = fetch(_ROWS.format(where=where), [model, json.dumps(keys), *params])
        cosines = np.zeros(len(rows))
        if vector is not None:
            found = b"".join(row[4] or bytes(4 * len(vector)) for row in rows)
            cosines = np.frombuffer(found, dtype="<f4").reshape(len(rows), len(vector)) @ vector
        return [
            FoundChunk(key, content, words, weight, float(cosine))
            for (key, content, words, weight, _), cosine in zip(rows, cosines, strict=True)
        ]


INDEX: Final = _SqliteChunks()
