"""The timeline: when memories were true (valid time) and when Loci knew them (record time)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.day_range import local_moment
from access.admin.form_errors import refusing_as_json
from access.groups import find_group
from access.models import Group
from access.visibility import Narrowing
from loci_site.admin.explore.page import json_response, query_narrowing, query_texts
from memories.admin.filters import SEARCH_LIMIT, find_by_words
from memories.language.cleaning import clean_line
from memories.models import Memory
from memories.queries.as_of import TimeSpan, known_span, true_span
from memories.queries.visibility import as_q, listed_by, recallable_by
from memories.search.base import search_index
from memories.search.query_terms import Match, words
from memories.types import State, Trust, Type

MAX_ROWS = 40
WIDTH = 1000  # of a bar's picture
_EVENT_WIDTH = 10.0  # it happened at a moment
TIME_FIELDS = ("group", "words", "entity", "as_of", "known_at")
_MIN_SPAN = timedelta(days=2)
HIDDEN = frozenset({State.FORGOTTEN, State.MERGED})


@dataclass(frozen=True)
class _TimelineRow:
    """A memory with its bars: when it was true, and below it when Loci knew it. x runs from 0 to WIDTH."""

    memory: Memory
    true: str
    known: str
    start: float
    width: float
    is_open: bool
    known_start: float
    known_width: float
    is_shown: bool


@dataclass(frozen=True)
class _Timeline:
    """The rows, the earliest first, by months, and the scale of all bars; the sliders run from `start` to `end`."""

    rows: tuple[_TimelineRow, ...]
    start: datetime
    end: datetime
    now_x: float
    width: int = WIDTH

    @property
    def months(self) -> list[tuple[str, list[_TimelineRow]]]:
        """The rows by the month in which each began, such as "2026-05"."""
        by_month = groupby(self.rows, key=lambda row: f"{local_moment(row.memory.moment):%Y-%m}")
        return [(month, list(rows)) for month, rows in by_month]


def timeline_context(request: HttpRequest, actor: Actor, given: dict[str, str]) -> dict[str, Any]:
    """Memories over time; marks those that recall would find at `as_of` and `known_at` of the address."""
    narrowing = query_narrowing(request)
    # In the reader's time zone, with the offset, so that a link means the same to all.
    moments = {"as_of": narrowing.as_of, "known_at": narrowing.known_at}
    given |= {name: local_moment(at).isoformat() if at else "" for name, at in moments.items()}
    rows, group = find_rows(actor, given)
    shown = _recallable_keys(actor, group, narrowing, [row.key for row in rows])
    return {
        "picture": _draw_timeline(rows, shown),
        "count": len(shown),
        "is_cut": len(rows) == MAX_ROWS,
        **moments,
        "zone": str(timezone.get_current_timezone()),
    }


@refusing_as_json
def find_recallable(request: HttpRequest) -> HttpResponse:
    """JSON for the sliders: ids of the page's memories that recall would find at `as_of` and `known_at`."""
    actor = actor_of(request)
    given = query_texts(request, "group", "words", "entity", max_chars=200)
    rows, group = find_rows(actor, given)
    shown = _recallable_keys(actor, group, query_narrowing(request), [row.key for row in rows])
    return json_response({"ids": [str(row.id) for row in rows if row.key in shown], "of": len(rows)})


def find_rows(actor: Actor, given: dict[str, str]) -> tuple[list[Memory], Group]:
    """The memories of the page by time, at most MAX_ROWS of the newest, and their group."""
    group = find_group(actor, given["group"])
    rows = Memory.objects.filter(as_q(listed_by(actor, group)), group=group)
    rows = rows.exclude(state__in=HIDDEN).exclude(trust=Trust.QUARANTINED)
    text = clean_line(given["words"], field="words", max_chars=200)
    if text:
        rows = find_by_words(actor, rows, text, best_first=True)
    entity = words(clean_line(given["entity"], field="entity", max_chars=200))
    if entity:
        # A name matches as a phrase: its words side by side.
        match, seen = Match((" ".join(entity),)), listed_by(actor, group)
        hits = search_index().keyword(match, seen, limit=SEARCH_LIMIT)
        rows = rows.filter(key__in=[hit.key for hit in hits])
    found = list(rows.select_related("group").defer("context", "metadata")[:MAX_ROWS])
    return sorted(found, key=lambda row: (row.moment, row.key)), group


def _recallable_keys(actor: Actor, group: Group, narrowing: Narrowing, keys: Sequence[int]) -> set[int]:
    """Those of the keys that recall would find at the narrowing's moments, by recall's own visibility rule."""
    seen = as_q(recallable_by(actor, group, narrowing=narrowing))
    return set(Memory.objects.filter(seen, key__in=keys).values_list("key", flat=True))


def _draw_timeline(rows: Sequence[Memory], shown: set[int]) -> _Timeline | None:
    if not rows:
        return None
    start, end = _time_span(rows)
    span_s = (end - start).total_seconds()

    def x(at: datetime) -> float:
        return round(WIDTH * (min(max(at, start), end) - start).total_seconds() / span_s, 1)

    drawn = tuple(_draw_row(row, x, is_shown=row.key in shown, end=end) for row in rows)
    return _Timeline(drawn, start, end, x(timezone.now()))


def _draw_row(
    memory: Memory, x: Callable[[datetime], float], *, is_shown: bool, end: datetime
) -> _TimelineRow:
    """The row of a memory; `x` maps a moment to the picture, `end` closes open spans."""
    true, known = true_span(memory), known_span(memory)
    begin = true.start or memory.created_at
    x_from, x_to = x(begin), x(true.end or end)
    known_from, known_to = x(known.start or begin), x(known.end or end)
    return _TimelineRow(
        memory=memory,
        true=span_text(true),
        known=span_text(known),
        start=x_from,
        width=_EVENT_WIDTH if memory.type == Type.EPISODIC else max(6.0, round(x_to - x_from, 1)),
        is_open=true.end is None,
        known_start=known_from,
        known_width=max(4.0, round(known_to - known_from, 1)),
        is_shown=is_shown,
    )


def span_text(span: TimeSpan) -> str:
    """A period in the reader's words and time zone."""
    if span.start is None:
        return gettext("until {end}").format(end=_moment_text(span.end)) if span.end else gettext("always")
    if span.end is None:
        return gettext("from {start} on").format(start=_moment_text(span.start))
    line = gettext("from {start} until {end}")
    return line.format(start=_moment_text(span.start), end=_moment_text(span.end))


def _moment_text(at: datetime) -> str:
    """A moment in the reader's time zone. Midnight in UTC is how a memory names a day alone, which is that day everywhere."""
    if at.time() == time.min:
        return f"{at:%Y-%m-%d}"
    return f"{local_moment(at):%Y-%m-%d %H:%M %Z}"


def _time_span(rows: Sequence[Memory]) -> tuple[datetime, datetime]:
    """Start and end of the picture: every moment of the rows and now, with a margin, at least MIN_SPAN."""
    now = timezone.now()
    seen = [at for row in rows for at in (row.valid_from, row.valid_to, row.created_at, row.retired_at) if at]
    start, end = min([*seen, now]), max([*seen, now])
    margin = max((end - start) * 0.02, (_MIN_SPAN - (end - start)) / 2, timedelta(hours=1))
    first, last = datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 29, tzinfo=UTC)
    return max(start, first + margin) - margin, min(end, last - margin) + margin
