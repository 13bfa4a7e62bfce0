"""Search as you type on PostgreSQL: the last word may be unfinished, and similar words replace a mistyped one."""

from collections.abc import Sequence

from access.visibility import Visibility
from memories.search.postgresql.lexemes import CONTEXT, STEMS, TEXT, all_of, any_of, rooms_of, term_query
from memories.search.rows import render
from storage.compiled_queries import fetch

FORMS_WEIGHT = "B"  # of the column `forms` in search_row.stems
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


def find_newest(
    alternatives: Sequence[Sequence[str]], visibility: Visibility, *, forms: Sequence[str] = (), limit: int
) -> list[int]:
    """Keys of the newest visible memories with a word of each list of alternatives and with all the forms."""
    rooms = rooms_of(visibility)
    STEMS.learn(word.removesuffix("*") for words in (*alternatives, forms) for word in words)
    wanted = [any_of(term_query(word, rooms) for word in words) for words in alternatives]
    wanted += [term_query(form, rooms, weight=FORMS_WEIGHT) for form in forms]
    where, params = render(visibility)
    return [key for (key,) in fetch(_FOUND.format(where=where), [all_of(wanted), *params, limit])]


def read_index_words(first: str, visibility: Visibility, *, shortest: int, longest: int) -> list[str]:
    """The words (stems) of the visible groups' texts that begin with `first`, within these lengths."""
    beginning = any_of(
        f"'{room}{kind}{first}':*" for room in rooms_of(visibility) for kind in (TEXT, CONTEXT)
    )
    return [term for (term,) in fetch(_LIKE, [beginning, first, shortest, longest])]


def keep_visible_words(terms: Sequence[str], visibility: Visibility, *, limit: int) -> list[str]:
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
