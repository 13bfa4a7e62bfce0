"""Chunks in PostgreSQL: a GIN index and pgvector, kept by the triggers of chunks.sql.

A group's chunks are compared whole: a repository of 10,000 files has fewer than an approximate index needs.
"""

from collections.abc import Sequence
from typing import Any, Final

from memories.search.postgresql.engine import starred
from memories.search.postgresql.lexemes import STEMS, term_query
from memories.search.postgresql.vectors import vector_text
from sources.artifacts.search.base import FoundChunk
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
_NEAREST = "SELECT chunk FROM chunk_near WHERE room = %s ORDER BY h <=> %s::halfvec(384) LIMIT %s"
_ROWS = """
SELECT key, content, words, weight,
    CASE WHEN model = %s AND embedding IS NOT NULL THEN 1 - (embedding <=> %s::vector) ELSE 0 END
FROM sources_chunk WHERE key = ANY(%s) AND group_id = %s AND state = 'live'
"""
_ROWS_ALONE = """
SELECT key, content, words, weight, 0 FROM sources_chunk WHERE key = ANY(%s) AND group_id = %s AND state = 'live'
"""


class PostgresqlChunks:
    """ChunkIndex on PostgreSQL."""

    def postings(self, terms: Sequence[str], group_key: int) -> list[tuple[str, str]]:
        """For each term the keys and lengths of the chunks that have it; one statement."""
        STEMS.learn(terms)
        return [(keys, words) for keys, words in fetch(_POSTINGS, [_queries_of(terms, group_key), group_key])]

    def counts(self, terms: Sequence[str], group_key: int, *, most: int) -> list[int]:
        """For each term the number of chunks with it; one statement."""
        STEMS.learn(terms)
        rows = fetch(_COUNT, [group_key, most, _queries_of(terms, group_key)])
        return [int(count) for (count,) in rows]

    def nearest(self, vector: Any, group_key: int, *, limit: int) -> list[int]:
        """Keys of the nearest chunks."""
        return [key for (key,) in fetch(_NEAREST, [group_key, vector_text(vector), limit])]

    def read(self, keys: Sequence[int], group_key: int, vector: Any, model: str) -> list[FoundChunk]:
        """The live chunks with these keys."""
        if vector is None:
            rows = fetch(_ROWS_ALONE, [[*keys], group_key])
        else:
            rows = fetch(_ROWS, [model, vector_text(vector), [*keys], group_key])
        return [
            FoundChunk(key, content, words, weight, float(cosine))
            for key, content, words, weight, cosine in rows
        ]


def _queries_of(terms: Sequence[str], group_key: int) -> list[str]:
    return [term_query(starred(term), (group_key,)) for term in terms]


INDEX: Final = PostgresqlChunks()
