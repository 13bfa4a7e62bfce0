"""Counts over the whole store, taken seldom and shared by all who look; what each may see is summed from them.

Counting a million rows takes seconds, so a page never waits for it: a small store is counted each time, a large one by
a thread beside the requests, and the page says when.
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
from memories.models import Link, LinkStatus, Memory, Piece, RecallLog
from memories.types import Scope, State, Trust
from relations.models import Relation

log = logging.getLogger(__name__)
SMALL = 5_000  # memories; that many are counted in about 20 ms
LEAST_AGE_S = 30.0  # a count is kept so long at least, and AGE_FACTOR times as long as it took
AGE_FACTOR = 20.0
PATIENCE_S = 0.1  # a page waits so long for the first count
RECALL_DAYS = 30
GROWTH_WEEKS = 26
KEPT = "loci-census"


class MemoryCount(NamedTuple):
    """How many memories are of one kind."""

    group: int
    scope: str
    type: str
    state: str
    trust: str
    pinned: bool
    amount: int


class StoreCount(NamedTuple):
    """How many memories of a group were stored on a day."""

    group: int
    scope: str
    day: str
    amount: int


class RecallCount(NamedTuple):
    """How many recalls of a group were made on a day, by whether they found nothing. `group` None: in no group."""

    group: int | None
    day: str
    abstained: bool
    amount: int


class LinkCount(NamedTuple):
    """How many open links of a kind lead between two groups."""

    kind: str
    source: int
    source_scope: str
    target: int
    target_scope: str
    amount: int


@dataclass(frozen=True)
class Census:
    """The counts, and when they were taken."""

    taken_at: datetime
    took_s: float
    cells: tuple[MemoryCount, ...]
    days: tuple[StoreCount, ...]
    recalls: tuple[RecallCount, ...]
    links: tuple[LinkCount, ...]
    relations: dict[int, int]
    owed: dict[tuple[int, str], int]

    @property
    def is_old(self) -> bool:
        """True where it is to be taken again."""
        age_s = (timezone.now() - self.taken_at).total_seconds()
        return age_s > max(LEAST_AGE_S, self.took_s * AGE_FACTOR)


@dataclass(frozen=True)
class VisibleCensus:
    """A census as far as one actor may see it, or one group's part of that."""

    census: Census
    groups: frozenset[int] | None  # None: all
    room: int | None = None

    def has(self, group: int | None, scope: str) -> bool:
        """Say whether rows of a group and scope are counted; as Visibility has it for lists."""
        if self.room is not None:
            return group == self.room
        return self.groups is None or scope == Scope.GLOBAL or group in self.groups

    @cached_property
    def cells(self) -> list[MemoryCount]:
        """Give the kinds of memories that are counted."""
        return [cell for cell in self.census.cells if self.has(cell.group, cell.scope)]

    def sum(self, **wanted: str | bool) -> int:
        """Count memories with these values: `sum(state="live", type="semantic")`."""
        return sum(
            c.amount for c in self.cells if all(getattr(c, name) == value for name, value in wanted.items())
        )

    def by(self, column: str, **wanted: str) -> dict[Any, int]:
        """Count memories by a column, those with these values."""
        counts: dict[Any, int] = {}
        for cell in self.cells:
            if all(getattr(cell, name) == value for name, value in wanted.items()):
                counts[getattr(cell, column)] = counts.get(getattr(cell, column), 0) + cell.amount
        return counts

    def stored(self) -> dict[date, int]:
        """Give how many memories were stored, by day."""
        return _by_day((row.day, row.amount) for row in self.census.days if self.has(row.group, row.scope))

    def recalls(self, *, abstained: bool) -> dict[date, int]:
        """Give how many recalls were made, by day: those that found nothing, or the others."""
        rows = (row for row in self.census.recalls if row.abstained == abstained)
        return _by_day((row.day, row.amount) for row in rows if self.has(row.group, Scope.GROUP))

    def open_links(self, kind: str) -> int:
        """Count the open links of a kind both of whose ends may be seen, in the group where there is one."""
        ends = VisibleCensus(self.census, self.groups)
        return sum(
            row.amount
            for row in self.census.links
            if row.kind == kind
            and self.has(row.source, row.source_scope)
            and ends.has(row.target, row.target_scope)
        )

    def relations(self) -> int:
        """Count the relations that hold."""
        return sum(n for group, n in self.census.relations.items() if self.has(group, Scope.GROUP))

    def owed(self) -> int:
        """Count the pieces without a vector."""
        return sum(n for (group, scope), n in self.census.owed.items() if self.has(group, scope))


def seen_by(census: Census, actor: Actor, *, room: int | None = None) -> VisibleCensus:
    """Give what of the counts the actor may see; `room` is a group that the actor may enter."""
    return VisibleCensus(census, None if actor.all_groups else frozenset(actor.roles), room)


def live_by_group(census: Census) -> dict[int, Counter[str]]:
    """Count each group's live memories by type, and under "candidate" those that wait for a person."""
    found: dict[int, Counter[str]] = {}
    for cell in census.cells:
        if cell.state == State.LIVE:
            own = found.setdefault(cell.group, Counter())
            own[cell.type] += cell.amount
            if cell.trust == Trust.CANDIDATE:
                own[cell.trust] += cell.amount
    return found


def current_census() -> Census | None:
    """Give the newest counts without ever making a page wait; None where there are none yet.

    A small store's are counted now. A large store's are kept, and taken again by a thread when they are old.
    """
    if (Memory.objects.aggregate(newest=Max("key"))["newest"] or 0) <= SMALL:
        return take_census()
    kept: Census | None = cache.get(KEPT)
    if kept is None or kept.is_old:
        WORK.begin(_take_and_keep)
    if kept is None:
        WORK.wait(PATIENCE_S)
        kept = cache.get(KEPT)
    return kept


def take_census() -> Census:
    """Count the store, in seven queries."""
    began, now = perf_counter(), timezone.now()
    kinds = ("group_id", "scope", "type", "state", "trust", "pinned")
    rows = Memory.objects.order_by()
    days = rows.filter(created_at__gte=now - timedelta(weeks=GROWTH_WEEKS)).annotate(day=_day("created_at"))
    recalls = RecallLog.objects.filter(at__gte=now - timedelta(days=RECALL_DAYS)).annotate(day=_day("at"))
    return Census(
        taken_at=now,
        cells=tuple(MemoryCount(*row) for row in _counted(rows, *kinds)),
        days=tuple(StoreCount(*row) for row in _counted(days, "group_id", "scope", "day")),
        recalls=tuple(RecallCount(*row) for row in _counted(recalls, "group_id", "day", "abstained")),
        links=tuple(LinkCount(*row) for row in _open_links()),
        relations=dict(_counted(Relation.objects.filter(retired_at=None), "group_id")),
        owed={(row[0], row[1]): row[2] for row in _owed()},
        took_s=perf_counter() - began,
    )


def _open_links() -> Iterable[tuple[Any, ...]]:
    ends = ("source__group_id", "source__scope", "target__group_id", "target__scope")
    return _counted(Link.objects.filter(status=LinkStatus.OPEN), "kind", *ends)


def _owed() -> Iterable[tuple[Any, ...]]:
    return _counted(Piece.objects.filter(embedding=None), "memory__group_id", "memory__scope")


def _counted(rows: QuerySet[Any], *columns: str) -> Iterable[tuple[Any, ...]]:
    found: Iterable[tuple[Any, ...]] = rows.order_by().values_list(*columns).annotate(amount=Count("pk"))
    return found


def _day(column: str) -> Substr:
    # The database's own text of a moment: Django's functions for dates call Python for each row of SQLite.
    return Substr(Cast(F(column), TextField()), 1, 10)


def _by_day(rows: Iterable[tuple[str, int]]) -> dict[date, int]:
    counts: dict[date, int] = {}
    for day, count in rows:
        counts[date.fromisoformat(day)] = counts.get(date.fromisoformat(day), 0) + count
    return counts


def _take_and_keep() -> None:
    cache.set(KEPT, take_census(), timeout=None)


class _Work:
    """One thread at a time that counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self, work: Callable[[], None]) -> None:
        """Do the work in a thread, unless it is being done."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=_guarded, args=(work,), name="census", daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait for the work under way, so long at most."""
        if self._thread is not None:
            self._thread.join(seconds)


def _guarded(work: Callable[[], None]) -> None:
    try:
        work()
    except DatabaseError:
        log.exception("the counts of the dashboard could not be taken")
    finally:
        connection.close()


WORK = _Work()
