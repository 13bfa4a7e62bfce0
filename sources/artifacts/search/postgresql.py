"""Chunks in PostgreSQL: a GIN index and pgvector, kept by the triggers of chunks.sql.

A group's chunks are compared whole: a repository of 10,000 files has fewer than an approximate index needs.
"""

from collections.abc import Sequence
from typing import Any, Final

from access.visibility import Visibility
from memories.queries.visibility import chunk_rule, to_sql
from memories.search.postgresql.engine import starred
from memories.search.postgresql.lexemes import STEMS, term_query
from memories.search.postgresql.vectors import vector_text
from sources.artifacts.search.base import FoundChunk, room_of
from storage.compiled_queries import fetch

_POSTINGS = """
SELECT COALESCE(STRING_AGG(c.key::text, ','), ''), COALESCE(STRING_AGG(c.words::text, ','), '')
FROM UNNEST(%s::text[]) WITH ORDINALITY AS asked (query, place)
LEFT JOIN LATERAL (
    SELECT w.key, w.words FROM chunk_words AS w WHERE w.stems @@ asked.query::tsquery AND w.room = %s
) AS c ON TRUE
GROUP BY asked.place ORDER BY asked.place
"""
_COUNT = """
SELECT (SELECT COUNT(*) FROM (
    SELECT 1 FROM chunk_words AS w WHERE w.stems @@ asked.query::tsquery AND w.room = %s LIMIT %s
) AS found)
FROM UNNEST(%s::text[]) WITH ORDINALITY AS asked (query, place) ORDER BY asked.place
"""
_NEAREST = "SELECT chunk FROM chunk_near WHERE room = %s ORDER BY h <=> %s::halfvec LIMIT %s"
_ROWS = """
SELECT c.key, c.content, c.words, c.weight,
    CASE WHEN c.model = %s AND c.embedding IS NOT NULL THEN 1 - (c.embedding <=> %s::vector) ELSE 0 END
FROM sources_chunk AS c WHERE c.key = ANY(%s) AND {where}
"""
_ROWS_ALONE = """
SELECT c.key, c.content, c.words, c.weight, 0 FROM sources_chunk AS c WHERE c.key = ANY(%s) AND {where}
"""


class _PostgresqlChunks:
    """ChunkIndex on PostgreSQL."""

    def postings(self, terms: Sequence[str], visibility: Visibility) -> list[tuple[str, str]]:
        STEMS.learn(terms)
        room = room_of(visibility)
        return [(keys, words) for keys, words in fetch(_POSTINGS, [_queries_of(terms, room), room])]

    def counts(self, terms: Sequence[str], visibility: Visibility, *, most: int) -> list[int]:
        STEMS.learn(terms)
        room = room_of(visibility)
        rows = fetch(_COUNT, [room, most, _queries_of(terms, room)])
        return [int(count) for (count,) in rows]

    def nearest(self, vector: Any, visibility: Visibility, *, limit: int) -> list[int]:
        return [key for (key,) in fetch(_NEAREST, [room_of(visibility), vector_text(vector), limit])]

    def read(self, keys: Sequence[int], visibility: Visibility, vector: Any, model: str) -> list[FoundChunk]:
        where, params = to_sql(chunk_rule(visibility), "c")
        if vector is None:
            rows = fetch(_ROWS_ALONE.format(where=where), [[*keys], *params])
        else:
            rows = fetch(_ROWS.format(where=where), [model, vector_text(vector), [*keys], *params])
        return [
            FoundChunk(key, content, words, weight, float(cosine))
            for key, content, words, weight, cosine in rows
        ]


def _queries_of(terms: Sequence[str], room: int) -> list[str]:
    return [term_query(starred(term), (room,)) for term in terms]


INDEX: Final = _PostgresqlChunks()
