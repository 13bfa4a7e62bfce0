"""Lists of the texts that have a word, read from the GIN index over search_row."""

from collections.abc import Iterator, Sequence
from typing import Any

from access.visibility import Visibility
from memories.search.keyword import Postings, VisibleTexts, join_columns, parse_numbers
from memories.search.postgresql.lexemes import CONTEXT, STEMS, TEXT, rooms_of, term_query
from memories.search.query_terms import is_letter
from memories.search.rows import groups_sql
from memories.search.term_counts import POSTING_BUDGET
from storage.compiled_queries import fetch

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


class GinPostings:
    """PostingReader over search_row."""

    needs_share = False

    def postings(
        self, terms: Sequence[str], visibility: Visibility, texts: VisibleTexts
    ) -> Iterator[Postings]:
        """For each term the texts of the visible groups that have it; one statement."""
        rooms = rooms_of(visibility)
        STEMS.learn(terms)
        queries = [term_query(starred(term), rooms, kinds=kind) for term in terms for kind in (TEXT, CONTEXT)]
        groups, params = own_groups(visibility)
        rows = fetch(_POSTINGS.format(groups=groups), [queries, *params])
        parts = [parse_numbers(keys, words) for keys, words in rows]
        return map(join_columns, parts[::2], parts[1::2])

    def counts(self, terms: Sequence[str], visibility: Visibility, texts: VisibleTexts) -> list[int]:
        """For each term the number of texts that have it, counted up to POSTING_BUDGET + 1."""
        rooms = rooms_of(visibility)
        queries = [term_query(starred(term), rooms, kinds=(TEXT, CONTEXT)) for term in terms]
        groups, params = own_groups(visibility)
        rows = fetch(_COUNT.format(groups=groups), [*params, POSTING_BUDGET + 1, queries])
        return [int(count) for (count,) in rows]


GIN_POSTINGS = GinPostings()


def own_groups(v: Visibility) -> tuple[str, list[Any]]:
    """A condition where rooms do not suffice: without other groups' global rows, which share a room with the own ones."""
    if v.groups is None or v.include_global:
        return "", []
    sql, params = groups_sql(v, "s")
    return f"AND {sql}", params


def starred(term: str) -> str:
    """The term as term_query() takes it: a single letter of a script without spaces stands for every pair it begins."""
    return f"{term}*" if is_letter(term) else term
