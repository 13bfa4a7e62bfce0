"""Memories of the time that a question names, and whether there is anything of that time at all."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from django.utils import timezone

from access.visibility import Visibility
from memories.models import Memory
from memories.recall.dates.reading import read_times
from memories.recall.dates.spans import DaySpan, NamedTime, local_day, moments_of, overlap
from memories.recall.weights import DATED_CANDIDATES, MAX_EMPTY_DAYS, MAX_LISTED
from memories.search.base import search_index
from memories.types import Type

DAYS_OF_A_MONTH = 31


class OfThatTime(NamedTuple):
    """Keys of memories of the time, newest first: `events`, and all with the facts that were only stored then."""

    events: tuple[int, ...] = ()
    all: tuple[int, ...] = ()

    @property
    def listed(self) -> tuple[int, ...]:
        """What a question for the time alone lists: its events, or if there are none what was stored then."""
        return (self.events or self.all)[:MAX_LISTED]


NOTHING_OF_THAT_TIME = OfThatTime()


def memories_of(times: Sequence[NamedTime], visibility: Visibility) -> OfThatTime:
    """The newest visible memories of these times."""
    today = timezone.localdate(visibility.now)
    periods = [moments_of(span) for time in times for span in time.spans(today)]
    rows = [
        row
        for row in search_index().dated(periods, visibility, limit=DATED_CANDIDATES)
        if any(time.covers(local_day(row.moment)) for time in times)
    ]
    return OfThatTime(tuple(row.key for row in rows if row.is_event), tuple(row.key for row in rows))


def is_past(time: NamedTime, today: date) -> bool:
    """Whether a time is a few certain days before today, one or up to MAX_EMPTY_DAYS of a year that is named."""
    span = time.latest(today)
    if span.first is None or span.last is None or span.last >= today:
        return False
    return time.is_day or (not time.is_open and (span.last - span.first).days < MAX_EMPTY_DAYS)


def mentions_any_of(memory: Memory, times: Sequence[NamedTime], today: date) -> bool:
    """Whether a memory of another day names one of the times, or the month or week around it; a year is too long.

    What it tells from its own day is read from there: "yesterday" is the day before.
    """
    told = read_times(memory.content, today=local_day(memory.moment)).times
    named = [span for time in told if not time.is_open for span in time.spans(today) if is_short(span)]
    return any(overlap(span, asked) for span in named for time in times for asked in time.spans(today))


def is_short(span: DaySpan) -> bool:
    """Whether a span has at most the days of a month."""
    return (
        span.first is not None and span.last is not None and (span.last - span.first).days < DAYS_OF_A_MONTH
    )


def is_true_at(memory: Memory, times: Sequence[NamedTime], today: date) -> bool:
    """Whether a memory is a fact that was true at one of the times."""
    if memory.type == Type.EPISODIC or memory.valid_from is None:
        return False
    since, until = local_day(memory.valid_from), memory.valid_to and local_day(memory.valid_to)
    return any(is_true_then(since, until, time, today) for time in times)


def is_true_then(since: date, until: date | None, time: NamedTime, today: date) -> bool:
    """Whether what is true from `since` to before `until` was true in the latest days that the time means."""
    span = time.latest(today)
    has_begun = span.last is None or since <= span.last
    return has_begun and (until is None or span.first is None or span.first < until)
