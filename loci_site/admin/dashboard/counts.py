"""Cached counts over the whole store, shared by all viewers; each viewer's figures are summed from the visible part.

Counting a million rows takes seconds, so a page never waits for it: a small store is counted on each request, a large
one by a background thread, and the page shows when.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.models import Count, Max, QuerySet
from django.utils import timezone

from memories.models import Memory
from memories.types import Scope, State, Trust
from relations.models import Relation

log = logging.getLogger(__name__)
SMALL_STORE = 5_000  # memories; counting that many takes about 20 ms
_MIN_AGE_S = 30.0  # a count is cached at least this long, and AGE_FACTOR times as long as it took
_AGE_FACTOR = 20.0
_FIRST_COUNT_WAIT_S = 0.1  # the longest that a page waits for the first count
CACHE_KEY = "loci-census"
_NEW_DAYS = 7
_HIDDEN = frozenset({Trust.REJECTED, Trust.QUARANTINED})


class _MemoryCount(NamedTuple):
    group: int
    scope: str
    type: str
    state: str
    trust: str
    pinned: bool
    amount: int


@dataclass(frozen=True)
class _Census:
    """All counts of the store, with the time they were taken and how long that took."""

    taken_at: datetime
    took_s: float
    cells: tuple[_MemoryCount, ...]
    relations: dict[int, int]
    new: dict[int, int]  # memories of the last _NEW_DAYS days, by group

    @property
    def is_old(self) -> bool:
        """True if the counts are due to be taken again."""
        age_s = (timezone.now() - self.taken_at).total_seconds()
        return age_s > max(_MIN_AGE_S, self.took_s * _AGE_FACTOR)


@dataclass(frozen=True)
class VisibleCensus:
    """The part of a census that one actor may see, or one group's part of that."""

    census: _Census
    groups: frozenset[int] | None  # None: all
    group: int | None = None

    def has(self, group: int | None, scope: str) -> bool:
        """True if rows of this group and scope count; the same rule as Visibility's for lists."""
        if self.group is not None:
            return group == self.group
        return self.groups is None or scope == Scope.GLOBAL or group in self.groups

    @cached_property
    def cells(self) -> list[_MemoryCount]:
        return [cell for cell in self.census.cells if self.has(cell.group, cell.scope)]

    def sum(self, **wanted: str | bool) -> int:
        """Count memories with these values: `sum(state="live", type="semantic")`."""
        return sum(self.by("state", **wanted).values())

    def by(self, column: str, **wanted: str | bool) -> dict[Any, int]:
        """Count memories with these values, by a column."""
        counts: dict[Any, int] = {}
        for cell in self.cells:
            if all(getattr(cell, name) == value for name, value in wanted.items()):
                counts[getattr(cell, column)] = counts.get(getattr(cell, column), 0) + cell.amount
        return counts

    def relations(self) -> int:
        return sum(n for group, n in self.census.relations.items() if self.has(group, Scope.GROUP))


def live_by_group(census: _Census) -> dict[int, Counter[str]]:
    """Count each group's live memories by type, and its candidates under "candidate"."""
    found: dict[int, Counter[str]] = {}
    for cell in census.cells:
        if cell.state == State.LIVE:
            own = found.setdefault(cell.group, Counter())
            own[cell.type] += cell.amount
            if cell.trust == Trust.CANDIDATE:
                own[cell.trust] += cell.amount
    return found


def current_census() -> _Census | None:
    """The newest counts; None if there are none yet. A page waits at most FIRST_COUNT_WAIT_S for them.

    A small store is counted now. A large store's counts are cached, and a thread takes them again when they are old.
    """
    if (Memory.objects.aggregate(newest=Max("key"))["newest"] or 0) <= SMALL_STORE:
        return take_census()
    cached: _Census | None = cache.get(CACHE_KEY)
    if cached is None or cached.is_old:
        COUNTER.start(_cache_census)
    if cached is None:
        COUNTER.wait(_FIRST_COUNT_WAIT_S)
        cached = cache.get(CACHE_KEY)
    return cached


def take_census() -> _Census:
    """Count the store, in three queries. A live memory that recall never returns counts by its trust, not as live."""
    began, now = perf_counter(), timezone.now()
    kinds = ("group_id", "scope", "type", "state", "trust", "pinned")
    cells = (_MemoryCount(*row) for row in count_by(Memory.objects.order_by(), *kinds))
    return _Census(
        taken_at=now,
        cells=tuple(
            cell._replace(state=cell.trust) if cell.state == State.LIVE and cell.trust in _HIDDEN else cell
            for cell in cells
        ),
        relations=dict(count_by(Relation.objects.filter(retired_at=None), "group_id")),
        new=dict(
            count_by(Memory.objects.filter(created_at__gte=now - timedelta(days=_NEW_DAYS)), "group_id")
        ),
        took_s=perf_counter() - began,
    )


def count_by(rows: QuerySet[Any], *columns: str) -> Iterable[tuple[Any, ...]]:
    """Count rows by these columns: a tuple of their values and the number for each combination."""
    found: Iterable[tuple[Any, ...]] = rows.order_by().values_list(*columns).annotate(amount=Count("pk"))
    return found


def _cache_census() -> None:
    """Take the census and cache it until the next one replaces it."""
    cache.set(CACHE_KEY, take_census(), timeout=None)


class _BackgroundCounter:
    """Runs the count in a background thread, one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, work: Callable[[], None]) -> None:
        """Run the work in a thread, unless one is running already."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=_run, args=(work,), name="census", daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait for the running thread, at most this long."""
        if self._thread is not None:
            self._thread.join(seconds)


def _run(work: Callable[[], None]) -> None:
    try:
        work()
    except DatabaseError:
        log.exception("could not count the memories")
    finally:
        connection.close()


COUNTER = _BackgroundCounter()
