"""How many texts have a word, remembered for a while: a question's most common words are left out where ranking what
they match would take too long.

Ranking costs about a microsecond for each text that a word matches, and of a question's words the rare ones decide.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from memories.index.terms import Match

POSTING_BUDGET = 25_000  # matches that are ranked: about 20 ms
KEPT_S = 600.0  # a count this old is asked for again
MOST_KEPT = 20_000


class TermCounts:
    """Counts by database and word, the newest kept. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()

    def of(self, place: str, term: str, count: Callable[[str], int]) -> int:
        """Give how many texts of the database at `place` have the word; `count` asks the index."""
        now = time.monotonic()
        known = self._known.get((place, term))
        if known is None or now - known[1] > KEPT_S:
            known = count(term), now
            with self._lock:
                self._known[place, term] = known
                self._known.move_to_end((place, term))
                while len(self._known) > MOST_KEPT:
                    self._known.popitem(last=False)
        return known[0]


def within_budget(match: Match, count: Callable[[str], int], *, budget: int = POSTING_BUDGET) -> Match:
    """Give the rarest terms that match at most `budget` texts together, in their order; at least the rarest."""
    counts = {term: count(term) for term in match.terms}
    kept: set[str] = set()
    total = 0
    for term in sorted(counts, key=counts.__getitem__):
        total += counts[term]
        if kept and total > budget:
            break
        kept.add(term)
    return Match(tuple(term for term in match.terms if term in kept))
