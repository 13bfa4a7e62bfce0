"""Cached counts of the texts that contain a word: a query drops its most common words if ranking would take too long.

The counts are those of the groups that a caller may see. The rare words of a query decide the order.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence

from memories.search.query_terms import Match

POSTING_BUDGET = 25_000  # matches to rank: about 10 ms
MAX_AGE_S = 600.0  # older counts are read again
MAX_COUNTS = 20_000
CountAll = Callable[[Sequence[str]], Sequence[int]]


class TermCounts:
    """Counts by place and word; the oldest are dropped. Safe to share between threads.

    A place is a database and the groups in which it was counted, so that no caller gets counts of other groups.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: OrderedDict[tuple[Hashable, str], tuple[int, float]] = OrderedDict()

    def of(self, place: Hashable, terms: Sequence[str], count: CountAll) -> dict[str, int]:
        """Number of texts with each word in a place; `count` reads those that are not cached from the index."""
        now = time.monotonic()
        cached = {term: self._counts.get((place, term)) for term in terms}
        missing = [term for term, entry in cached.items() if entry is None or now - entry[1] > MAX_AGE_S]
        fresh = dict(zip(missing, count(missing), strict=True)) if missing else {}
        with self._lock:
            for term, number in fresh.items():
                self._counts[place, term] = number, now
                self._counts.move_to_end((place, term))
            while len(self._counts) > MAX_COUNTS:
                self._counts.popitem(last=False)
        return {term: entry[0] for term, entry in cached.items() if entry is not None} | fresh


def within_budget(match: Match, counts: Mapping[str, int], *, budget: int = POSTING_BUDGET) -> Match:
    """The rarest terms that together match at most `budget` texts, in query order; at least one."""
    chosen: set[str] = set()
    total = 0
    for term in sorted(match.terms, key=counts.__getitem__):
        total += counts[term]
        if chosen and total > budget:
            break
        chosen.add(term)
    return Match(tuple(term for term in match.terms if term in chosen))
