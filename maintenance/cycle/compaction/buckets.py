"""Buckets: the events that compaction looks at together, a thread's or a week's, and which of them it has seen before."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Concat

from maintenance.cycle.compaction.topics import WINDOW
from maintenance.cycle.step import Turn
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.types import State, Trust, Type

SUMMARY_SOURCE: Final = "loci:compact"
# Keys that a run's cursor holds at a time: they are written with every batch, and each page reads the group once.
PAGE_KEYS = 5_000

Bucket = tuple[str, str, str]  # thread or week, which, scope


@dataclass(frozen=True)
class CompactionMark:
    """Where compaction came to in a group: it looked at what happened before `horizon`, of keys up to `key`.

    `seen` is the latest change of any event that was looked at: what changed later may have become ready since. It is
    compared with other changes alone, never with the run's own moment, which need not be that of the clock.
    """

    horizon: datetime
    key: int
    seen: datetime

    def as_json(self) -> dict[str, Any]:
        """Give it as a run keeps it."""
        return {"horizon": self.horizon.isoformat(), "key": self.key, "seen": self.seen.isoformat()}


def read_mark(kept: Mapping[str, Any] | None) -> CompactionMark | None:
    """Give the mark that a run kept."""
    if not kept:
        return None
    return CompactionMark(
        datetime.fromisoformat(kept["horizon"]), kept["key"], datetime.fromisoformat(kept["seen"])
    )


@dataclass(frozen=True)
class EventRow:
    """What grouping needs of an event."""

    key: int
    bucket: Bucket
    updated: datetime
    is_new: bool


@dataclass(frozen=True)
class WindowPage:
    """Windows of events to be compared with one another, by their keys, and the last bucket among them."""

    windows: tuple[tuple[int, ...], ...]
    last: Bucket | None


def horizon_of(turn: Turn) -> datetime:
    """Give the moment before which events are old enough."""
    moment: datetime = turn.now - timedelta(days=turn.limits.compact_after_days)
    return moment


def compactable(turn: Turn) -> Any:
    """Give the query for the group's events that may be summarised, with `at`, when they happened.

    Old ones that count, unpinned, active and without an end to their life; none that a person is deciding about, that
    is a summary, or that went into one: who restored it wants it whole. A withdrawn summary does not count.
    """
    summarised = _links_to_event(LinkKind.DERIVED).filter(source__source=SUMMARY_SOURCE)
    decided = _links_to_event(LinkKind.CONFLICT).filter(status=LinkStatus.OPEN)
    summarised = summarised.exclude(source__state=State.RETRACTED)
    return (
        Memory.objects.filter(
            group=turn.group,
            type=Type.EPISODIC,
            state=State.LIVE,
            trust=Trust.ACTIVE,
            pinned=False,
            expires_at=None,
        )
        .annotate(at=Coalesce(F("valid_from"), F("created_at")))
        .filter(~Q(source=SUMMARY_SOURCE), ~Exists(summarised), ~Exists(decided), at__lt=horizon_of(turn))
    )


def _links_to_event(kind: str) -> QuerySet[Link]:
    """Give the links of a kind that lead to the event in the query around it.

    The kind is compared as an expression: SQLite would else walk all links of the kind for each event, instead of the
    few that lead to it (12 s in a group of 20,000).
    """
    links = Link.objects.filter(target_id=Coalesce(OuterRef("root_id"), OuterRef("key")))
    return links.alias(named=Concat("kind", Value(""))).filter(named=kind)


def find_page(turn: Turn, *, after: Bucket | None) -> WindowPage:
    """Give the next windows of buckets, in order, that have something new and may hold enough for a summary."""
    mark = read_mark(turn.mark)
    buckets: defaultdict[Bucket, list[EventRow]] = defaultdict(list)
    for event in _lights(turn, mark):
        if after is None or event.bucket > after:
            buckets[event.bucket].append(event)
    windows: list[tuple[int, ...]] = []
    keys, last = 0, None
    for bucket in sorted(buckets):
        if keys >= PAGE_KEYS:
            break
        found = list(_windows(buckets[bucket], at_least=turn.limits.compact_at_least))
        windows += found
        keys, last = keys + sum(map(len, found)), bucket
    return WindowPage(tuple(windows), last)


def new_mark(turn: Turn) -> CompactionMark | None:
    """Give the mark that a finished pass leaves; None where nothing new was there to be looked at."""
    mark = read_mark(turn.mark)
    events = list(_lights(turn, mark))
    if not any(event.is_new for event in events):
        return None
    keys = [event.key for event in events] + ([mark.key] if mark else [])
    changes = [event.updated for event in events] + ([mark.seen] if mark else [])
    return CompactionMark(horizon_of(turn), max(keys), max(changes))


def new_keys(turn: Turn, keys: tuple[int, ...]) -> set[int]:
    """Give those of the events that no earlier run looked at: a topic without one was tried, and failed, before."""
    mark = read_mark(turn.mark)
    rows = compactable(turn).filter(key__in=keys).values_list("key", "at", "updated_at")
    return {key for key, at, updated in rows if _is_new(mark, key, at, updated)}


def _lights(turn: Turn, mark: CompactionMark | None) -> Iterator[EventRow]:
    rows = compactable(turn).order_by("at", "key")
    columns = rows.values_list("key", "thread_id", "scope", "at", "updated_at")
    for key, thread, scope, at, updated in columns.iterator(chunk_size=2000):
        yield EventRow(key, _bucket(thread, scope, at), updated, _is_new(mark, key, at, updated))


def _bucket(thread: int | None, scope: str, at: datetime) -> Bucket:
    if thread is not None:
        return "thread", f"{thread:012d}", scope
    year, week, _ = at.isocalendar()
    return "week", f"{year:04d}-W{week:02d}", scope


def _is_new(mark: CompactionMark | None, key: int, at: datetime, updated: datetime) -> bool:
    return mark is None or key > mark.key or at >= mark.horizon or updated > mark.seen


def _windows(events: list[EventRow], *, at_least: int) -> Iterator[tuple[int, ...]]:
    """Cut a bucket, in order of time, into windows that are small enough to compare all with all."""
    for start in range(0, len(events), WINDOW):
        window = events[start : start + WINDOW]
        if len(window) >= at_least and any(event.is_new for event in window):
            yield tuple(event.key for event in window)
