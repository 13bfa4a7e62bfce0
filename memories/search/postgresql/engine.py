"""Search engine on PostgreSQL. The database searches itself: no process keeps an index in memory or follows changes."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

from django.db import connection, transaction

from access.visibility import Visibility
from memories.search.base import AnyVector, Hit, HybridHits, Vector
from memories.search.keyword import (
    POSTING_BUDGET,
    Postings,
    VisibleTexts,
    find_by_words,
    find_count_errors,
    find_separately,
    join_columns,
    parse_numbers,
)
from memories.search.postgresql.lexemes import CONTEXT, STEMS, TEXT, all_of, any_of, rooms_of, term_query
from memories.search.postgresql.vectors import Visible, find_nearest, tend_large_rooms
from memories.search.query_terms import Match, is_letter
from memories.search.rows import RowReader, find_dated, groups_sql, read_visible, render
from memories.search.schema import apply_index_schema, created_names, fill_group_use, fill_search_rows
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


class _GinPostings:
    """PostingReader over search_row."""

    needs_share = False

    def postings(
        self, terms: Sequence[str], visibility: Visibility, texts: VisibleTexts
    ) -> Iterator[Postings]:
        """For each term the texts of the visible groups that have it; one statement."""
        rooms = rooms_of(visibility)
        STEMS.learn(terms)
        queries = [term_query(starred(term), rooms, kinds=kind) for term in terms for kind in (TEXT, CONTEXT)]
        groups, params = _own_groups(visibility)
        rows = fetch(_POSTINGS.format(groups=groups), [queries, *params])
        parts = [parse_numbers(keys, words) for keys, words in rows]
        return map(join_columns, parts[::2], parts[1::2])

    def counts(self, terms: Sequence[str], visibility: Visibility, texts: VisibleTexts) -> list[int]:
        """For each term the number of texts that have it, counted up to POSTING_BUDGET + 1."""
        rooms = rooms_of(visibility)
        queries = [term_query(starred(term), rooms, kinds=(TEXT, CONTEXT)) for term in terms]
        groups, params = _own_groups(visibility)
        rows = fetch(_COUNT.format(groups=groups), [*params, POSTING_BUDGET + 1, queries])
        return [int(count) for (count,) in rows]


_GIN_POSTINGS = _GinPostings()


def _own_groups(v: Visibility) -> tuple[str, list[Any]]:
    """A condition where rooms do not suffice: without other groups' global rows, which share a room with the own ones."""
    if v.groups is None or v.include_global:
        return "", []
    sql, params = groups_sql(v, "s")
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


def _find_newest(
    alternatives: Sequence[Sequence[str]], visibility: Visibility, *, forms: Sequence[str] = (), limit: int
) -> list[int]:
    """Keys of the newest visible memories with a word of each list of alternatives and with all the forms."""
    rooms = rooms_of(visibility)
    STEMS.learn(word.removesuffix("*") for words in (*alternatives, forms) for word in words)
    wanted = [any_of(term_query(word, rooms) for word in words) for words in alternatives]
    wanted += [term_query(form, rooms, weight=_FORMS_WEIGHT) for form in forms]
    where, params = render(visibility)
    return [key for (key,) in fetch(_FOUND.format(where=where), [all_of(wanted), *params, limit])]


def _read_index_words(first: str, visibility: Visibility, *, shortest: int, longest: int) -> list[str]:
    """The words (stems) of the visible groups' texts that begin with `first`, within these lengths."""
    beginning = any_of(
        f"'{room}{kind}{first}':*" for room in rooms_of(visibility) for kind in (TEXT, CONTEXT)
    )
    return [term for (term,) in fetch(_LIKE, [beginning, first, shortest, longest])]


def _keep_visible_words(terms: Sequence[str], visibility: Visibility, *, limit: int) -> list[str]:
    """The first `limit` of the terms that a visible text has, in their order."""
    where, params = render(visibility)
    rooms, found = rooms_of(visibility), list[str]()
    for start in range(0, len(terms), limit):
        batch = terms[start : start + limit]
        queries = [
            any_of(f"'{room}{kind}{term}'" for room in rooms for kind in (TEXT, CONTEXT)) for term in batch
        ]
        found += [batch[place] for (place,) in fetch(_PRESENT.format(where=where), [queries, *params])]
        if len(found) >= limit:
            break
    return found[:limit]


_NAMES = """
SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace
UNION SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
UNION SELECT tgname FROM pg_trigger
"""
_FILL_VECTORS = """
INSERT INTO piece_search (piece, memory, room, standing, until, type, h)
SELECT p.key, p.memory_id, row.room, row.standing, row.until, row.type, p.embedding::halfvec(384)
FROM memories_piece AS p JOIN memories_vec_row AS row ON row.memory = p.memory_id
WHERE p.embedding IS NOT NULL AND p.model = (SELECT value FROM index_state WHERE name = 'model')
"""
_WORD_ERRORS = """
SELECT COUNT(*) FROM search_row AS s JOIN memories_memory AS m ON m.key = s.key WHERE s.stems <> search_stems(m)
"""
_VECTOR_ERRORS = """
SELECT COUNT(*) FILTER (WHERE kept.piece IS NULL), COUNT(*) FILTER (WHERE wanted.piece IS NULL),
    COUNT(*) FILTER (WHERE (kept.room, kept.standing, kept.until) <> (wanted.room, wanted.standing, wanted.until))
FROM piece_search AS kept FULL JOIN (
    SELECT p.key AS piece, row.room, row.standing, row.until
    FROM memories_piece AS p JOIN memories_vec_row AS row ON row.memory = p.memory_id
    WHERE p.embedding IS NOT NULL AND p.model = (SELECT value FROM index_state WHERE name = 'model')
) AS wanted ON wanted.piece = kept.piece
"""


class PostgresqlEngine:
    """SearchIndex on PostgreSQL."""

    dated = staticmethod(find_dated)
    find_newest = staticmethod(_find_newest)
    read_index_words = staticmethod(_read_index_words)
    keep_visible_words = staticmethod(_keep_visible_words)
    tend = staticmethod(tend_large_rooms)

    def find(
        self,
        match: Match | None,
        vector: AnyVector | None,
        visibility: Visibility,
        *,
        limit: int,
        also: Collection[int] = (),
    ) -> HybridHits:
        """The best `limit` memories of each search that has a query, with their true scores in the other search."""
        scores: dict[int, float] = {}

        def nearest(query: Vector, visible: Visible, scored: Collection[int]) -> list[Hit]:
            found, read = find_nearest(query, visibility, visible, limit=limit, scored=scored)
            scores.update(read)
            return found

        return find_separately(
            match,
            vector,
            visibility,
            postings=_GIN_POSTINGS,
            nearest=nearest,
            cosines=lambda keys, query: {key: scores[key] for key in keys if key in scores},
            limit=limit,
            also=also,
        )

    def keyword(self, match: Match, visibility: Visibility, *, limit: int) -> list[Hit]:
        """The best `limit` memories by BM25, best first."""
        return find_by_words(match, visibility, postings=_GIN_POSTINGS, limit=limit)

    def nearest(self, vector: Vector, visibility: Visibility, *, limit: int) -> list[Hit]:
        """The `limit` memories whose best piece is nearest, best first."""
        visible = RowReader(partial(read_visible, visibility=visibility))
        return find_nearest(vector, visibility, visible, limit=limit)[0]

    def missing_objects(self) -> list[str]:
        """Missing tables, indexes, views, triggers and functions."""
        existing = {name for (name,) in fetch(_NAMES, [])}
        return sorted(set(created_names(connection.vendor)) - existing)

    def find_errors(self) -> list[str]:
        """Differences between the rows, the keyword index and the vectors."""
        found = [f"{name} is missing" for name in self.missing_objects()]
        if found:
            return found
        [(words,)] = fetch(_WORD_ERRORS, [])
        [(missing, extra, stale)] = fetch(_VECTOR_ERRORS, [])
        counts = {
            "memories have other words in the keyword index": words,
            "lack their vector row": missing,
            "vector rows have no piece": extra,
            "vector rows are out of date": stale,
        }
        return [*find_count_errors(), *(f"{count} {what}" for what, count in counts.items() if count)]

    def rebuild(self) -> None:
        """Rebuild both indexes from memories_memory and memories_piece."""
        with transaction.atomic():
            with connection.cursor() as cursor:
                check_references(cursor)
            apply_index_schema(connection)
            _stop_writers()
            fill_search_rows(connection)
            fill_group_use(connection)
            _fill_vectors()

    def switch_model(
        self, model: str, *, is_complete: Callable[[], bool], progress: Callable[[int, int], None]
    ) -> bool:
        """Replace the vectors by those of another model; searches see the old ones until the commit, writers wait."""
        with transaction.atomic():
            _stop_writers()
            if not is_complete():
                return False
            with connection.cursor() as cursor:
                cursor.execute("UPDATE index_state SET value = %s WHERE name = 'model'", [model])
            count = _fill_vectors()
        progress(count, count)
        return True


def _stop_writers() -> None:
    """Let writers of pieces and memories wait until the transaction ends; readers go on.

    Their triggers then read what this transaction left.
    """
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE memories_memory, memories_piece IN SHARE ROW EXCLUSIVE MODE")


def _fill_vectors() -> int:
    """Write piece_search anew; returns its rows."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM piece_search")
        cursor.execute(_FILL_VECTORS)
        count: int = cursor.rowcount
    return count
