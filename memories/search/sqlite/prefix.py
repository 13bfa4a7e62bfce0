"""What a search as one types asks of FTS5: words of which the last may be unfinished, and words like a mistyped one.

Nothing is ranked here: BM25 visits every match, which for two letters is a tenth of a store. The newest matches inside the
Visibility are read, and whoever shows them puts them in order.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection

from access.visibility import Visibility
from memories.search.sqlite.rows import render
from storage.compiled_queries import fetch

LONGEST_ROOMS = 50  # groups named inside the match; for more, the rows alone say which are seen

_FOUND = """
SELECT m.key FROM memories_fts AS f CROSS JOIN memories_memory AS m ON m.key = f.rowid
WHERE f.memories_fts MATCH %s AND {where} ORDER BY f.rowid DESC LIMIT %s
"""
# A table of this connection alone, which holds nothing: it reads the index's own list of words.
_WORDS = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.memories_fts_words USING fts5vocab('main', 'memories_fts', 'row')"
_LIKE = """
SELECT term FROM temp.memories_fts_words
WHERE term >= %s AND term < %s AND length(term) BETWEEN %s AND %s LIMIT %s
"""
_BEGINNINGS = (
    "SELECT key, substr(content, 1, %s) FROM memories_memory WHERE key IN (SELECT value FROM json_each(%s))"
)
_LOOKS = """
SELECT key, substr(content, 1, %s), state, type, pinned FROM memories_memory
WHERE key IN (SELECT value FROM json_each(%s))
"""


class PrefixMatch(NamedTuple):
    """What a memory is put in order by; `content` is the beginning of its text."""

    key: int
    content: str
    state: str
    type: str
    pinned: int


def find_newest(
    alternatives: Sequence[Sequence[str]], visibility: Visibility, *, forms: Sequence[str] = (), limit: int
) -> list[int]:
    """Give the keys of the newest visible memories that have, of each group of alternatives, one word, and all the forms.

    Words are letters and digits of any script, as terms.words() gives them; one that ends in "*" may go on.
    """
    where, params = render(visibility)
    groups = [f"({' OR '.join(map(_quoted, words))})" for words in alternatives]
    wanted = [f"{{content}} : ({' AND '.join(groups)})"] if groups else []
    wanted += [f"{{forms}} : ({' AND '.join(map(_quoted, forms))})"] if forms else []
    expression = " AND ".join(wanted) + _rooms(visibility)
    return [key for (key,) in fetch(_FOUND.format(where=where), [expression, *params, limit])]


def read_beginnings(keys: Sequence[int], chars: int) -> dict[int, str]:
    """Give the first so many characters of memories' texts, by key."""
    return dict(fetch(_BEGINNINGS, [chars, json.dumps([*keys])]))


def read_sort_fields(keys: Sequence[int], chars: int) -> dict[int, PrefixMatch]:
    """Give what memories are put in order by, with the first so many characters of their texts, by key."""
    return {row[0]: PrefixMatch(*row) for row in fetch(_LOOKS, [chars, json.dumps([*keys])])}


def read_index_words(first: str, *, shortest: int, longest: int, limit: int) -> list[str]:
    """Give the index's words (their stems) that begin with `first` and have so many letters.

    They are every group's words. A caller may search with them inside a Visibility, and must not show them.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WORDS)
    return [term for (term,) in fetch(_LIKE, [first, first + "\U0010ffff", shortest, longest, limit])]


def _quoted(word: str) -> str:
    return f'"{word[:-1]}"*' if word.endswith("*") else f'"{word}"'


def _rooms(v: Visibility) -> str:
    """Give the words of the filter column that a visible memory has one of; nothing where all may be seen."""
    if v.groups is None or len(v.groups) > LONGEST_ROOMS:
        return ""
    rooms = [f'"ingroup{key}"' for key in sorted(v.groups)] + ['"isglobal"'] * v.include_global
    return f" AND {{filter}} : ({' OR '.join(rooms)})" if rooms else ""
