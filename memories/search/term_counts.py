"""Cached counts of the texts that contain a word: a query drops its most common words if ranking would take too long.

Ranking costs about a microsecond per text that matches a word, and the rare words of a query decide the order.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from memories.search.query_terms import Match

POSTING_BUDGET = 25_000  # matches to rank: about 20 ms
MAX_AGE_S = 600.0  # older counts are read again
MAX_COUNTS = 20_000
CountAll = Callable[[Sequence[str]], Sequence[int]]


class TermCounts:
    """Counts by database and word; the oldest are dropped. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()

    def of(self, database: str, terms: Sequence[str], count: CountAll) -> dict[str, int]:
        """Number of texts with each word in a database; `count` reads those that are not cached from the index."""
        now = time.monotonic()
        cached = {term: self._counts.get((database, term)) for term in terms}
        missing = [term for term, entry in cached.items() if entry is None or now - entry[1] > MAX_AGE_S]
        fresh = dict(zip(missing, count(missing), strict=True)) if missing else {}
        with self._lock:
            for term, number in fresh.items():
                self._counts[database, term] = number, now
                self._counts.move_to_end((database, term))
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
