"""Memories of the time that a question names, and whether there is anything of that time at all."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from django.utils import timezone

from access.visibility import Visibility
from memories.language.dates.named_days import named_days
from memories.language.dates.spans import DaySpan, NamedTime, local_day, moments_of, overlap
from memories.language.dates.written import MONTHS, READ_CHARS, WEEKDAYS, read_times
from memories.models import Memory
from memories.recall.weights import DATED_CANDIDATES, MAX_EMPTY_DAYS, MAX_LISTED
from memories.search.base import search_index
from memories.search.query_terms import match_for
from memories.search.rows import RankingFields, find_dated
from memories.types import Type

_DAYS_OF_A_MONTH = 31
_DAYS_OF_A_WEEK = timedelta(days=7)
_MAX_PHRASES = 30  # three days


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
    """The newest visible memories of these times, then those of another moment whose text names one of the days.

    Of times to come the next one is first.
    """
    today = timezone.localdate(visibility.now)
    periods = [moments_of(span) for time in times for span in time.spans(today)]
    rows = [
        row
        for row in find_dated(periods, visibility, limit=DATED_CANDIDATES)
        if any(time.covers(local_day(row.moment)) for time in times)
    ]
    if all((first := time.latest(today).first) is not None and first > today for time in times):
        rows.reverse()
    events, every = tuple(row.key for row in rows if row.is_event), tuple(row.key for row in rows)
    told = tuple(key for key in _find_told(times, visibility) if key not in every)
    return OfThatTime((*events, *told), (*every, *told))


def _find_told(times: Sequence[NamedTime], visibility: Visibility) -> list[int]:
    """Keys of visible memories whose text names one of the days, whatever their own moment is."""
    today = timezone.localdate(visibility.now)
    days = [day for time in times if time.is_day and (day := time.latest(today).first)]
    phrases = [phrase for day in days for phrase in written_forms(day)]
    phrases += [WEEKDAYS[day.weekday()] for day in days if abs(day - today) < _DAYS_OF_A_WEEK]
    match = match_for(" ".join(f'"{phrase}"' for phrase in phrases[-_MAX_PHRASES:]))
    if match is None:
        return []
    keys = [hit.key for hit in search_index().keyword(match, visibility, limit=MAX_LISTED)]
    rows = search_index().find(None, None, visibility, limit=MAX_LISTED, also=keys).rows
    return [key for key in keys if key in rows and is_told(rows[key], day_of_row(rows[key]), times)]


def day_of_row(row: RankingFields) -> date | None:
    """The day of a memory: its own, or that on which it was stored."""
    moment = row.moment
    return local_day(moment) if moment is not None else None


def is_of(day: date | None, times: Sequence[NamedTime]) -> bool:
    """Whether one of the times covers the day."""
    return day is not None and any(time.covers(day) for time in times)


def is_told(row: RankingFields, day: date | None, times: Sequence[NamedTime]) -> bool:
    """Whether the text of a memory of this day names one of these days."""
    named = named_days(row.content, day or timezone.localdate(), row.days)
    return any(is_of(each, times) for each in named)


def written_forms(day: date) -> list[str]:
    """A day as texts write it, but for its year; words alone, as the keyword index has them."""
    month, ordinal = MONTHS[day.month - 1], f"{day.day}{_ordinal_ending(day.day)}"
    names = dict.fromkeys((month, month[:3]))
    return [
        f"{day.year} {day:%m} {day:%d}",
        f"{day:%d} {day:%m} {day.year}",
        *(f"{number} {name}" for name in names for number in (day.day, ordinal)),
        *(f"{name} {number}" for name in names for number in (day.day, ordinal)),
        f"{ordinal} of {month}",
    ]


def _ordinal_ending(number: int) -> str:
    return "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def is_past(time: NamedTime, today: date) -> bool:
    """Whether a time is a few certain days before today, one or up to MAX_EMPTY_DAYS of a year that is named."""
    span = time.latest(today)
    if span.is_loose or span.first is None or span.last is None or span.last >= today:
        return False
    return time.is_day or (not time.is_open and (span.last - span.first).days < MAX_EMPTY_DAYS)


def mentions_any_of(memory: Memory, times: Sequence[NamedTime], today: date) -> bool:
    """Whether a memory of another day names one of the times, or the month or week around it; a year is too long.

    What it tells from its own day is read from there: "yesterday" is the day before.
    """
    told = read_times(memory.content[:READ_CHARS], today=local_day(memory.moment)).times
    named = [span for time in told if not time.is_open for span in time.spans(today) if is_short(span)]
    return any(overlap(span, asked) for span in named for time in times for asked in time.spans(today))


def is_short(span: DaySpan) -> bool:
    """Whether a span has at most the days of a month."""
    return (
        span.first is not None and span.last is not None and (span.last - span.first).days < _DAYS_OF_A_MONTH
    )


def is_true_at(memory: Memory, times: Sequence[NamedTime], today: date) -> bool:
    """Whether a memory is a fact that was true at one of the times."""
    if memory.type == Type.EPISODIC or memory.valid_from is None:
        return False
    since, until = local_day(memory.valid_from), memory.valid_to and local_day(memory.valid_to)
    spans = [time.latest(today) for time in times]
    return any(
        (span.last is None or since <= span.last)
        and (until is None or span.first is None or span.first < until)
        for span in spans
    )
