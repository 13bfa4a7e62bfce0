"""Search engine on PostgreSQL. The database searches itself: no process keeps an index in memory or follows changes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from django.db import connection, transaction

from access.visibility import Visibility
from memories.search.base import NearSearch, SearchIndex
from memories.search.keyword import (
    POSTING_BUDGET,
    Postings,
    VisibleTexts,
    join_columns,
    parse_numbers,
)
from memories.search.postgresql.lexemes import CONTEXT, STEMS, TEXT, all_of, any_of, rooms_of, term_query
from memories.search.postgresql.vectors import find_nearest, tend_large_rooms
from memories.search.query_terms import is_letter
from memories.search.rows import AnyVector, Hit, RowReader, groups_sql, render, resolve_vector
from storage.compiled_queries import fetch
from storage.postgresql.months import check_references

_POSTINGS = """
SELECT COALESCE(STRING_AGG(s.key::text, ','), ''), COALESCE(STRING_AGG(s.words::text, ','), '')
FROM UNNEST(%s::text[]) WITH ORDINALITY AS asked (query, place)
LEFT JOIN LATERAL (
    SELECT s.key, s.words FROM search_row AS s WHERE s.stems @@ asked.query::tsquery {groups}
) AS s ON TRUE
GROUP BY asked.place ORDER BY asked.place
"""
_COUNT = """
SELECT (SELECT COUNT(*) FROM (
    SELECT 1 FROM search_row AS s WHERE s.stems @@ asked.query::tsquery {groups} LIMIT %s
) AS found)
FROM UNNEST(%s::text[]) WITH ORDINALITY AS asked (query, place) ORDER BY asked.place
"""


def _own_groups(v: Visibility) -> tuple[str, list[Any]]:
    """A condition where rooms do not suffice: without other groups' global rows, which share a room with the own ones."""
    if v.groups is None or v.include_global:
        return "", []
    sql, params = groups_sql(v)
    return f"AND {sql}", params


def starred(term: str) -> str:
    """The term as term_query() takes it: a single letter of a script without spaces stands for every pair it begins."""
    return f"{term}*" if is_letter(term) else term


_FORMS_WEIGHT = "B"  # of the column `forms` in search_row.stems
_FOUND = """
SELECT m.key FROM search_row AS s JOIN memories_memory AS m ON m.key = s.key
WHERE s.stems @@ %s::tsquery AND {where} ORDER BY m.key DESC LIMIT %s
"""
_LIKE = """
SELECT DISTINCT found.term FROM (
    SELECT SUBSTR(word.lexeme, 1 + LENGTH(SUBSTRING(word.lexeme FROM '^[0-9]+[.~]'))) AS term
    FROM search_row AS s CROSS JOIN LATERAL UNNEST(s.stems) AS word WHERE s.stems @@ %s::tsquery
) AS found
WHERE STARTS_WITH(found.term, %s) AND LENGTH(found.term) BETWEEN %s AND %s
ORDER BY found.term
"""
_PRESENT = """
SELECT asked.place - 1 FROM UNNEST(%s::text[]) WITH ORDINALITY AS asked (query, place)
WHERE EXISTS (
    SELECT 1 FROM search_row AS s JOIN memories_memory AS m ON m.key = s.key
    WHERE s.stems @@ asked.query::tsquery AND {where}
)
ORDER BY asked.place
"""


_NAMES = """
SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace
UNION SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
UNION SELECT tgname FROM pg_trigger
"""
_FILL_VECTORS = """
INSERT INTO piece_search (piece, memory, room, standing, until, type, h)
SELECT p.key, p.memory_id, row.room, row.standing, row.until, row.type, p.embedding::halfvec
FROM memories_piece AS p JOIN memories_vec_row AS row ON row.memory = p.memory_id
WHERE p.embedding IS NOT NULL AND p.model = (SELECT value FROM index_state WHERE name = 'model')
"""
_WORD_ERRORS = """
SELECT COUNT(*) FROM search_row AS s JOIN memories_memory AS m ON m.key = s.key WHERE s.stems <> search_stems(m)
"""


class _PgvectorSearch(NearSearch):
    """NearSearch by pgvector."""

    _scores: Mapping[int, float] = {}

    def best(self, scored: Collection[int], *, floor: float = -1.0) -> list[Hit]:
        found, self._scores = find_nearest(
            resolve_vector(self._vector), self._visibility, self._visible, limit=self._limit, scored=scored
        )
        return found

    def cosines(self, keys: Collection[int]) -> dict[int, float]:
        return {key: self._scores[key] for key in keys if key in self._scores}


class PostgresqlEngine(SearchIndex):
    """SearchIndex on PostgreSQL."""

    names, vectors, needs_share = _NAMES, "piece_search", False

    def postings(
        self, terms: Sequence[str], visibility: Visibility, texts: VisibleTexts
    ) -> Iterator[Postings]:
        rooms = rooms_of(visibility)
        STEMS.learn(terms)
        queries = [term_query(starred(term), rooms, kinds=kind) for term in terms for kind in (TEXT, CONTEXT)]
        groups, params = _own_groups(visibility)
        rows = fetch(_POSTINGS.format(groups=groups), [queries, *params])
        parts = [parse_numbers(keys, words) for keys, words in rows]
        return map(join_columns, parts[::2], parts[1::2])

    def counts(self, terms: Sequence[str], visibility: Visibility, texts: VisibleTexts) -> list[int]:
        rooms = rooms_of(visibility)
        queries = [term_query(starred(term), rooms, kinds=(TEXT, CONTEXT)) for term in terms]
        groups, params = _own_groups(visibility)
        rows = fetch(_COUNT.format(groups=groups), [*params, POSTING_BUDGET + 1, queries])
        return [int(count) for (count,) in rows]

    def search_near(
        self, vector: AnyVector, visibility: Visibility, visible: RowReader, *, limit: int
    ) -> NearSearch:
        return _PgvectorSearch(vector, visibility, visible, limit=limit)

    def find_newest(
        self,
        alternatives: Sequence[Sequence[str]],
        visibility: Visibility,
        *,
        forms: Sequence[str] = (),
        limit: int,
    ) -> list[int]:
        rooms = rooms_of(visibility)
        STEMS.learn(word.removesuffix("*") for words in (*alternatives, forms) for word in words)
        wanted = [any_of(term_query(word, rooms) for word in words) for words in alternatives]
        wanted += [term_query(form, rooms, weight=_FORMS_WEIGHT) for form in forms]
        where, params = render(visibility)
        return [key for (key,) in fetch(_FOUND.format(where=where), [all_of(wanted), *params, limit])]

    def read_index_words(
        self, first: str, visibility: Visibility, *, shortest: int, longest: int
    ) -> list[str]:
        beginning = any_of(
            f"'{room}{kind}{first}':*" for room in rooms_of(visibility) for kind in (TEXT, CONTEXT)
        )
        return [term for (term,) in fetch(_LIKE, [beginning, first, shortest, longest])]

    def find_visible_words(self, terms: Sequence[str], visibility: Visibility) -> list[int]:
        where, params = render(visibility)
        rooms = rooms_of(visibility)
        queries = [
            any_of(f"'{room}{kind}{term}'" for room in rooms for kind in (TEXT, CONTEXT)) for term in terms
        ]
        return [place for (place,) in fetch(_PRESENT.format(where=where), [queries, *params])]

    def find_word_errors(self) -> list[str]:
        [(words,)] = fetch(_WORD_ERRORS, [])
        return [f"{words} memories have other words in the keyword index"] if words else []

    def tend(self) -> None:
        tend_large_rooms()

    def rebuild(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            check_references(cursor)
            super().rebuild()

    def stop_writers(self) -> None:
        # Their triggers then read what this transaction left.
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE memories_memory, memories_piece IN SHARE ROW EXCLUSIVE MODE")

    def fill_vectors(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM piece_search")
            cursor.execute(_FILL_VECTORS)
            count: int = cursor.rowcount
        return count
