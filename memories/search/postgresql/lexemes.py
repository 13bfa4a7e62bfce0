"""Words as search_row.stems has them: each with its room before it, so that a search reads its own rooms' lists alone.

The stems come from the database (words.sql), which made those of the texts.
"""

from collections.abc import Iterable, Sequence

from access.visibility import Visibility
from storage.compiled_queries import fetch

TEXT, CONTEXT = ".", "~"  # between room and word: a word of the text, or of its context
_GLOBAL_ROOM = 0
_ROOMS = "SELECT DISTINCT group_id FROM search_group ORDER BY group_id"
_STEMS = "SELECT term, search_words(term) FROM UNNEST(%s::text[]) AS term"
_MAX_STEMS = 20_000


def rooms_of(v: Visibility) -> list[int]:
    """The rooms that may hold rows of the Visibility; all global rows share one, whatever their group."""
    groups = [group for (group,) in fetch(_ROOMS, [])] if v.groups is None else sorted(v.groups)
    return [_GLOBAL_ROOM, *groups]


class _Stems:
    """The stems of terms, as the database makes them; the most recent ones are kept. Safe to share between threads."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    def learn(self, terms: Iterable[str]) -> None:
        """Read the stems of those terms that are not known yet, in one statement."""
        new = [*{*terms} - self._known.keys()]
        if not new:
            return
        if len(self._known) > _MAX_STEMS:
            self._known = {}
        found = fetch(_STEMS, [new], is_repeated=True)
        self._known |= {term: tuple(stems) for term, stems in found}

    def of(self, term: str) -> tuple[str, ...]:
        """The stems of a term's words, in order."""
        while (stems := self._known.get(term)) is None:
            self.learn([term])
        return stems


STEMS = _Stems()


def term_query(term: str, rooms: Iterable[int], *, kinds: Sequence[str] = (TEXT,), weight: str = "") -> str:
    """The tsquery of texts with a term: its words in a row; one that ends in "*" is a prefix. Empty without a word."""
    mark = f":{weight}{'*' if term.endswith('*') else ''}".removesuffix(":")
    stems = STEMS.of(term.removesuffix("*"))
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
