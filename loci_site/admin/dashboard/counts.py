"""Cached counts over the whole store, shared by all viewers; each viewer's figures are summed from the visible part.

Counting a million rows takes seconds, so a page never waits for it: a small store is counted on each request, a large
one by a background thread, and the page shows when.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.models import Count, F, Max, QuerySet, TextField
from django.db.models.functions import Cast, Substr
from django.utils import timezone

from access.actor import Actor
from memories.models import Memory, Piece, RecallLog
from memories.types import Scope, State, Trust
from relations.models import Relation

log = logging.getLogger(__name__)
SMALL_STORE = 5_000  # memories; counting that many takes about 20 ms
_MIN_AGE_S = 30.0  # a count is cached at least this long, and AGE_FACTOR times as long as it took
_AGE_FACTOR = 20.0
_FIRST_COUNT_WAIT_S = 0.1  # the longest that a page waits for the first count
RECALL_DAYS = 30
GROWTH_WEEKS = 26
CACHE_KEY = "loci-census"


class _MemoryCount(NamedTuple):
    group: int
    scope: str
    type: str
    state: str
    trust: str
    pinned: bool
    amount: int


class _StoreCount(NamedTuple):
    group: int
    scope: str
    day: str
    amount: int


class _RecallCount(NamedTuple):
    """The number of recalls in a group on a day, by whether they abstained. `group` None: recalls outside any group."""

    group: int | None
    day: str
    abstained: bool
    amount: int


@dataclass(frozen=True)
class Census:
    """All counts of the store, with the time they were taken and how long that took."""

    taken_at: datetime
    took_s: float
    cells: tuple[_MemoryCount, ...]
    days: tuple[_StoreCount, ...]
    recalls: tuple[_RecallCount, ...]
    relations: dict[int, int]
    owed: dict[tuple[int, str], int]

    @property
    def is_old(self) -> bool:
        """True if the counts are due to be taken again."""
        age_s = (timezone.now() - self.taken_at).total_seconds()
        return age_s > max(_MIN_AGE_S, self.took_s * _AGE_FACTOR)


@dataclass(frozen=True)
class VisibleCensus:
    """The part of a census that one actor may see, or one group's part of that."""

    census: Census
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

    def stored(self) -> dict[date, int]:
        return _sum_by_day(
            (row.day, row.amount) for row in self.census.days if self.has(row.group, row.scope)
        )

    def recalls(self, *, abstained: bool) -> dict[date, int]:
        """The number of recalls by day: those that abstained, or the others."""
        rows = (row for row in self.census.recalls if row.abstained == abstained)
        return _sum_by_day((row.day, row.amount) for row in rows if self.has(row.group, Scope.GROUP))

    def relations(self) -> int:
        return sum(n for group, n in self.census.relations.items() if self.has(group, Scope.GROUP))

    def owed(self) -> int:
        return sum(n for (group, scope), n in self.census.owed.items() if self.has(group, scope))


def visible_census(census: Census, actor: Actor, *, group: int | None = None) -> VisibleCensus:
    """The counts that the actor may see; `group` narrows them to one group that the actor may enter."""
    return VisibleCensus(census, None if actor.all_groups else frozenset(actor.roles), group)


def live_by_group(census: Census) -> dict[int, Counter[str]]:
    """Count each group's live memories by type, and its candidates under "candidate"."""
    found: dict[int, Counter[str]] = {}
    for cell in census.cells:
        if cell.state == State.LIVE:
            own = found.setdefault(cell.group, Counter())
            own[cell.type] += cell.amount
            if cell.trust == Trust.CANDIDATE:
                own[cell.trust] += cell.amount
    return found


def current_census() -> Census | None:
    """The newest counts; None if there are none yet. A page waits at most FIRST_COUNT_WAIT_S for them.

    A small store is counted now. A large store's counts are cached, and a thread takes them again when they are old.
    """
    if (Memory.objects.aggregate(newest=Max("key"))["newest"] or 0) <= SMALL_STORE:
        return take_census()
    cached: Census | None = cache.get(CACHE_KEY)
    if cached is None or cached.is_old:
        COUNTER.start(_cache_census)
    if cached is None:
        COUNTER.wait(_FIRST_COUNT_WAIT_S)
        cached = cache.get(CACHE_KEY)
    return cached


def take_census() -> Census:
    """Count the store, in six queries."""
    began, now = perf_counter(), timezone.now()
    kinds = ("group_id", "scope", "type", "state", "trust", "pinned")
    rows = Memory.objects.order_by()
    days = rows.filter(created_at__gte=now - timedelta(weeks=GROWTH_WEEKS)).annotate(day=_day("created_at"))
    recalls = RecallLog.objects.filter(at__gte=now - timedelta(days=RECALL_DAYS)).annotate(day=_day("at"))
    return Census(
        taken_at=now,
        cells=tuple(_MemoryCount(*row) for row in count_by(rows, *kinds)),
        days=tuple(_StoreCount(*row) for row in count_by(days, "group_id", "scope", "day")),
        recalls=tuple(_RecallCount(*row) for row in count_by(recalls, "group_id", "day", "abstained")),
        relations=dict(count_by(Relation.objects.filter(retired_at=None), "group_id")),
        owed={
            (group, scope): amount
            for group, scope, amount in count_by(
                Piece.objects.filter(embedding=None), "memory__group_id", "memory__scope"
            )
        },
        took_s=perf_counter() - began,
    )


def count_by(rows: QuerySet[Any], *columns: str) -> Iterable[tuple[Any, ...]]:
    """Count rows by these columns: a tuple of their values and the number for each combination."""
    found: Iterable[tuple[Any, ...]] = rows.order_by().values_list(*columns).annotate(amount=Count("pk"))
    return found


def _day(column: str) -> Substr:
    # The database's own text of a timestamp: on SQLite, Django's date functions call Python for each row.
    return Substr(Cast(F(column), TextField()), 1, 10)


def _sum_by_day(rows: Iterable[tuple[str, int]]) -> dict[date, int]:
    counts: dict[date, int] = {}
    for day, count in rows:
        counts[date.fromisoformat(day)] = counts.get(date.fromisoformat(day), 0) + count
    return counts


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
        log.exception("could not take the counts of the dashboard")
    finally:
        connection.close()


COUNTER = _BackgroundCounter()
