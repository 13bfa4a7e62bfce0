"""Buckets: the events that compaction compares, by thread or ISO week, and the mark of those compared before."""

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
from memories.queries.labels import is_doubted
from memories.types import State, Trust, Type

AT_LEAST = 5  # events on one topic, for a summary
SUMMARY_SOURCE: Final = "loci:compact"
CONVERSATION_SOURCE: Final = "loci:conversation"  # of a summary whose turns stay
SUMMARY_SOURCES: Final = (SUMMARY_SOURCE, CONVERSATION_SOURCE)
# Keys in a run's cursor at a time: the cursor is written with every batch, and each page reads the group once.
_PAGE_KEYS = 5_000

Bucket = tuple[str, str, str]  # "thread" or "week", its key, scope


@dataclass(frozen=True)
class _CompactionMark:
    """How far compaction got in a group: events before `horizon`, with keys up to `key`, were compared.

    `seen` is the latest change of any compared event: events changed later may have become compactable since. It is
    only ever compared with other changes, never with the run's own time, which need not be the clock's.
    """

    horizon: datetime
    key: int
    seen: datetime

    def as_json(self) -> dict[str, Any]:
        return {"horizon": self.horizon.isoformat(), "key": self.key, "seen": self.seen.isoformat()}


def _parse_mark(stored: Mapping[str, Any] | None) -> _CompactionMark | None:
    if not stored:
        return None
    return _CompactionMark(
        datetime.fromisoformat(stored["horizon"]), stored["key"], datetime.fromisoformat(stored["seen"])
    )


@dataclass(frozen=True)
class _EventRow:
    key: int
    bucket: Bucket
    updated: datetime
    is_new: bool


@dataclass(frozen=True)
class _WindowPage:
    """Windows of event keys, each to be compared within itself, and the last bucket among them."""

    windows: tuple[tuple[int, ...], ...]
    last: Bucket | None


def _age_horizon(turn: Turn) -> datetime:
    moment: datetime = turn.now - timedelta(days=turn.limits.compact_after_days)
    return moment


def compactable_events(turn: Turn) -> Any:
    """The group's events that may be summarised, annotated with `at`, when they happened.

    Old, live, active and unpinned events without an end date. Excluded are summaries, events with an open conflict or doubt,
    and events that went into a summary: who restored one wants it whole. A retracted summary does not count.
    """
    summarised = _find_links_to_event(LinkKind.DERIVED).filter(source__source=SUMMARY_SOURCE)
    in_conflict = _find_links_to_event(LinkKind.CONFLICT).filter(status=LinkStatus.OPEN)
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
        .filter(
            ~Q(source__in=SUMMARY_SOURCES),
            ~Exists(summarised),
            ~Exists(in_conflict),
            ~is_doubted(),
            at__lt=_age_horizon(turn),
        )
    )


def _find_links_to_event(kind: str) -> QuerySet[Link]:
    """Links of a kind that lead to the event of the outer query.

    The kind is compared as an expression: otherwise SQLite walks all links of the kind for each event, instead of the
    few that lead to it (12 s in a group of 20,000).
    """
    links = Link.objects.filter(target_id=Coalesce(OuterRef("root_id"), OuterRef("key")))
    return links.alias(named=Concat("kind", Value(""))).filter(named=kind)


def find_page(turn: Turn, *, after: Bucket | None) -> _WindowPage:
    """The next windows, in order of buckets, that hold something new and may hold enough for a summary."""
    buckets: defaultdict[Bucket, list[_EventRow]] = defaultdict(list)
    for event in read_events(turn, _parse_mark(turn.mark)):
        if after is None or event.bucket > after:
            buckets[event.bucket].append(event)
    windows: list[tuple[int, ...]] = []
    keys, last = 0, None
    for bucket in sorted(buckets):
        if keys >= _PAGE_KEYS:
            break
        found = list(_cut_windows(buckets[bucket]))
        windows += found
        keys, last = keys + sum(map(len, found)), bucket
    return _WindowPage(tuple(windows), last)


def compute_next_mark(turn: Turn) -> _CompactionMark | None:
    """The mark that a finished pass leaves; None if it had nothing new to compare."""
    mark = _parse_mark(turn.mark)
    events = list(read_events(turn, mark))
    if not any(event.is_new for event in events):
        return None
    keys = [event.key for event in events] + ([mark.key] if mark else [])
    changes = [event.updated for event in events] + ([mark.seen] if mark else [])
    return _CompactionMark(_age_horizon(turn), max(keys), max(changes))


def select_new_keys(turn: Turn, keys: tuple[int, ...]) -> set[int]:
    """Those of the events that no earlier run compared: a topic without any was tried before and failed."""
    mark = _parse_mark(turn.mark)
    rows = compactable_events(turn).filter(key__in=keys).values_list("key", "at", "updated_at")
    return {key for key, at, updated in rows if is_new(mark, key, at, updated)}


def read_events(turn: Turn, mark: _CompactionMark | None) -> Iterator[_EventRow]:
    """The group's compactable events in order of time, with their buckets."""
    rows = compactable_events(turn).order_by("at", "key")
    columns = rows.values_list("key", "thread_id", "scope", "at", "updated_at")
    for key, thread, scope, at, updated in columns.iterator(chunk_size=2000):
        yield _EventRow(key, _bucket_of(thread, scope, at), updated, is_new(mark, key, at, updated))


def _bucket_of(thread: int | None, scope: str, at: datetime) -> Bucket:
    """The bucket of an event: its thread, else its ISO week; per scope."""
    if thread is not None:
        return "thread", f"{thread:012d}", scope
    year, week, _ = at.isocalendar()
    return "week", f"{year:04d}-W{week:02d}", scope


def is_new(mark: _CompactionMark | None, key: int, at: datetime, updated: datetime) -> bool:
    """True if no earlier run compared an event with this key, time and last change."""
    return mark is None or key > mark.key or at >= mark.horizon or updated > mark.seen


def _cut_windows(events: list[_EventRow]) -> Iterator[tuple[int, ...]]:
    """Cut a bucket, in order of time, into windows small enough to compare all pairs; skip those with nothing new."""
    for start in range(0, len(events), WINDOW):
        window = events[start : start + WINDOW]
        if len(window) >= AT_LEAST and any(event.is_new for event in window):
            yield tuple(event.key for event in window)
