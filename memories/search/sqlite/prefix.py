"""Search as you type on FTS5: the last word may be unfinished, and similar words replace a mistyped one.

Nothing is ranked here: BM25 visits every match, which for two letters is a tenth of a store. The newest matches inside the
Visibility are read, and the caller sorts them.
"""

import json
from collections.abc import Sequence

from django.db import connection

from access.visibility import Visibility
from memories.search.rows import render
from memories.search.sqlite.postings import MAX_FILTER_GROUPS, group_terms
from storage.compiled_queries import fetch

_FOUND = """
SELECT m.key FROM memories_fts AS f CROSS JOIN memories_memory AS m ON m.key = f.rowid
WHERE f.memories_fts MATCH %s AND {where} ORDER BY f.rowid DESC LIMIT %s
"""
# Temporary tables without content: they read the index's own list of words, and where each stands.
_WORDS = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.memories_fts_words USING fts5vocab('main', 'memories_fts', 'row')"
_PLACES = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.memories_fts_places USING fts5vocab('main', 'memories_fts', 'instance')"
_LIKE = """
SELECT term FROM temp.memories_fts_words
WHERE term >= %s AND term < %s AND length(term) BETWEEN %s AND %s
"""
# FTS5 stems every search term, even one that is already a stem: a search for "deploy" (the stem of deployment) matches
# "deploi" (the stem of deploy). So the match only narrows the search; the term itself must occur in a visible text.
_PRESENT = """
SELECT word.key FROM json_each(%s) AS word WHERE EXISTS (
    SELECT 1 FROM memories_fts AS f CROSS JOIN memories_memory AS m ON m.key = f.rowid
    WHERE f.memories_fts MATCH word.value ->> 0 AND {where}
) AND EXISTS (
    SELECT 1 FROM temp.memories_fts_places AS place CROSS JOIN memories_memory AS m ON m.key = place.doc
    WHERE place.term = word.value ->> 1 AND {where}
)
"""


def find_newest(
    alternatives: Sequence[Sequence[str]], visibility: Visibility, *, forms: Sequence[str] = (), limit: int
) -> list[int]:
    """Keys of the newest visible memories with a word of each list of alternatives and with all the forms.

    Words are letters and digits of any script, as query_terms.words() returns them; one that ends in "*" is a prefix.
    """
    where, params = render(visibility)
    clauses = [f"({' OR '.join(map(_quoted, words))})" for words in alternatives]
    # The forms hold what the index does not fold by itself: ł, ø, ß, and the parts of identifiers.
    wanted = [f"{{content forms}} : ({' AND '.join(clauses)})"] if clauses else []
    wanted += [f"{{forms}} : ({' AND '.join(map(_quoted, forms))})"] if forms else []
    expression = " AND ".join(wanted) + group_filter(visibility)
    return [key for (key,) in fetch(_FOUND.format(where=where), [expression, *params, limit])]


def read_index_words(first: str, *, shortest: int, longest: int) -> list[str]:
    """The index's words (stems) that begin with `first`, within these lengths.

    They come from every group, and all of them: a limit would let other groups' words crowd out the caller's. Only those
    that keep_visible_words() leaves may decide anything.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WORDS)
    return [term for (term,) in fetch(_LIKE, [first, first + "\U0010ffff", shortest, longest])]


def keep_visible_words(terms: Sequence[str], visibility: Visibility, *, limit: int) -> list[str]:
    """The first `limit` of the terms that a visible text has, in their order."""
    where, params = render(visibility)
    with connection.cursor() as cursor:
        cursor.execute(_PLACES)
    found: list[str] = []
    for start in range(0, len(terms), limit):
        batch = terms[start : start + limit]
        asked = [[_quoted(term) + group_filter(visibility), term] for term in batch]
        rows = fetch(_PRESENT.format(where=where), [json.dumps(asked), *params, *params])
        found += [batch[int(at)] for (at,) in rows]
        if len(found) >= limit:
            break
    return found[:limit]


def _quoted(word: str) -> str:
    """The word quoted for FTS5, with the "*" of a prefix outside the quotes."""
    return f'"{word[:-1]}"*' if word.endswith("*") else f'"{word}"'


def group_filter(v: Visibility) -> str:
    """Match clause with the filter column's words for visible groups; empty if all are visible."""
    terms = group_terms(v)
    return f" AND {{filter}} : ({' OR '.join(terms)})" if 0 < len(terms) <= MAX_FILTER_GROUPS else ""
