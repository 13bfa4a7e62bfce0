"""Words as search_row.stems has them: each with its room before it, so that a search reads its own rooms' lists alone.

The stems come from the database (words.sql), which made those of the texts.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from access.visibility import Visibility
from storage.compiled_queries import fetch

TEXT, CONTEXT = ".", "~"  # between room and word: a word of the text, or of its context
GLOBAL_ROOM = 0
_ROOMS = "SELECT DISTINCT group_id FROM search_group ORDER BY group_id"
_STEMS = "SELECT search_words(%s)"


def rooms_of(v: Visibility) -> list[int]:
    """The rooms that may have rows of the Visibility; global rows stand in one of their own, whatever their group."""
    groups = [group for (group,) in fetch(_ROOMS, [])] if v.groups is None else sorted(v.groups)
    return [GLOBAL_ROOM, *groups]


@lru_cache(maxsize=20_000)
def stems_of(text: str) -> tuple[str, ...]:
    """The stems of a term's words, in order."""
    [(stems,)] = fetch(_STEMS, [text])
    return tuple(stems)


def term_query(term: str, rooms: Iterable[int], *, kinds: Sequence[str] = (TEXT,), weight: str = "") -> str:
    """The tsquery of texts with a term: its words in a row; one that ends in "*" is a prefix. Empty without a word."""
    mark = f":{weight}{'*' if term.endswith('*') else ''}".removesuffix(":")
    stems = stems_of(term.removesuffix("*"))
    phrases = [
        " <-> ".join([*(f"'{room}{kind}{stem}'" for stem in stems[:-1]), f"'{room}{kind}{stems[-1]}'{mark}"])
        for room in rooms
        for kind in kinds
        if stems
    ]
    return any_of(phrases)


def any_of(queries: Iterable[str]) -> str:
    """One query for any of these."""
    return " | ".join(f"({query})" for query in queries if query)


def all_of(queries: Iterable[str]) -> str:
    """One query for all of these; a query without a word is found in no text."""
    parts = [*queries]
    return " & ".join(f"({query})" for query in parts) if all(parts) else ""
