"""How many texts have a word, remembered for a while: a question's most common words are left out where ranking what
they match would take too long.

Ranking costs about a microsecond for each text that a word matches, and of a question's words the rare ones decide.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from memories.search.query_terms import Match

POSTING_BUDGET = 25_000  # matches that are ranked: about 20 ms
KEPT_S = 600.0  # a count this old is asked for again
MOST_KEPT = 20_000
CountAll = Callable[[Sequence[str]], Sequence[int]]


class TermCounts:
    """Counts by database and word, the newest kept. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()

    def of(self, place: str, terms: Sequence[str], count: CountAll) -> dict[str, int]:
        """Give how many texts of the database at `place` have each word; `count` asks the index for those not known."""
        now = time.monotonic()
        known = {term: self._known.get((place, term)) for term in terms}
        asked = [term for term, kept in known.items() if kept is None or now - kept[1] > KEPT_S]
        fresh = dict(zip(asked, count(asked), strict=True)) if asked else {}
        with self._lock:
            for term, number in fresh.items():
                self._known[place, term] = number, now
                self._known.move_to_end((place, term))
            while len(self._known) > MOST_KEPT:
                self._known.popitem(last=False)
        return {term: kept[0] for term, kept in known.items() if kept is not None} | fresh


def within_budget(match: Match, counts: Mapping[str, int], *, budget: int = POSTING_BUDGET) -> Match:
    """Give the rarest terms that match at most `budget` texts together, in their order; at least the rarest."""
    kept: set[str] = set()
    total = 0
    for term in sorted(match.terms, key=counts.__getitem__):
        total += counts[term]
        if kept and total > budget:
            break
        kept.add(term)
    return Match(tuple(term for term in match.terms if term in kept))
