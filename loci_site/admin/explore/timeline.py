"""The timeline: when memories were true (valid time) and since when Loci has known them (record time)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.text import Truncator

from access.actor import Actor
from access.admin.caller import actor_of
from access.errors import LociError
from access.groups import find_group
from access.models import Group
from access.visibility import Narrowing
from loci_site.admin.explore.page import (
    answer,
    asked,
    group_names,
    moments,
    page,
    refusal_json,
    shown_moment,
)
from memories.admin.search import SEARCH_LIMIT, find_by_words
from memories.language.cleaning import clean_line
from memories.models import Memory
from memories.queries.as_of import known_span, true_span
from memories.queries.visibility import as_q, listed_by, recallable_by
from memories.search.base import search_index
from memories.search.query_terms import Match, words
from memories.types import State, Type

MAX_ROWS = 60
WIDTH, ROW, TOP = 960, 26, 26  # of the picture, a row and the scale above
LEFT = 250  # room for the texts
LABEL_CHARS = 38
DATES = 6
LEAST_SPAN = timedelta(days=2)
HIDDEN = frozenset({State.FORGOTTEN, State.MERGED})


@dataclass(frozen=True)
class TimelineRow:
    """A memory as the picture shows it: when it was true, and below when Loci went by it; x from 0 to WIDTH."""

    memory: Memory
    label: str
    says: str
    y: int
    start: float
    width: float
    is_open: bool
    is_event: bool
    known_start: float
    known_width: float
    is_shown: bool


@dataclass(frozen=True)
class Timeline:
    """The rows with the scale; `start` and `end` are what the sliders go from and to."""

    rows: tuple[TimelineRow, ...]
    dates: tuple[tuple[float, str], ...]
    start: datetime
    end: datetime
    height: int
    width: int = WIDTH
    left: int = LEFT
    now_x: float = 0.0


def timeline(request: HttpRequest) -> HttpResponse:
    """Show memories over time; `as_of` and `known_at` say what recall would give then."""
    actor = actor_of(request)
    given = {
        name: asked(request, name, longest=200) for name in ("group", "words", "entity", "as_of", "known_at")
    }
    context: dict[str, Any] = {"title": "Timeline", "given": given, "groups": group_names(actor)}
    try:
        narrowing = moments(request)
        rows, room = _rows(actor, given)
        shown = _then(actor, room, narrowing, [row.key for row in rows])
    except LociError as refusal:
        return page(request, "timeline.html", context | {"refusal": refusal}, status=refusal.status)
    context |= {
        "picture": _picture(rows, shown),
        "spans": [(row, true_span(row), known_span(row), row.key in shown) for row in rows],
        "count": len(shown),
        "is_cut": len(rows) == MAX_ROWS,
        "as_of": shown_moment(narrowing.as_of),
        "known_at": shown_moment(narrowing.known_at),
        "now": timezone.now(),
    }
    return page(request, "timeline.html", context)


def standing_then(request: HttpRequest) -> HttpResponse:
    """Give in JSON the ids of those of the page's memories that recall would give then; the sliders ask this."""
    actor = actor_of(request)
    given = {name: asked(request, name, longest=200) for name in ("group", "words", "entity")}
    try:
        rows, room = _rows(actor, given)
        shown = _then(actor, room, moments(request), [row.key for row in rows])
    except LociError as refusal:
        return refusal_json(refusal)
    return answer({"ids": [str(row.id) for row in rows if row.key in shown], "of": len(rows)})


def _rows(actor: Actor, given: dict[str, str]) -> tuple[list[Memory], Group | None]:
    """Give the memories of the page, in the order of their time; the newest where there are too many."""
    room = find_group(actor, given["group"]) if given["group"] else None
    rows = Memory.objects.filter(as_q(listed_by(actor, room))).exclude(state__in=HIDDEN)
    if room is not None:
        rows = rows.filter(group=room)
    wanted = clean_line(given["words"], field="words", max_chars=200)
    if wanted:
        rows = find_by_words(actor, rows, wanted, best_first=True)
    entity = words(clean_line(given["entity"], field="entity", max_chars=200))
    if entity:
        # A name is one thing: its words stand beside each other.
        match, seen = Match((" ".join(entity),)), listed_by(actor, room)
        rows = rows.filter(
            key__in=[hit.key for hit in search_index().keyword(match, seen, limit=SEARCH_LIMIT)]
        )
    found = list(rows.select_related("group").defer("context", "metadata")[:MAX_ROWS])
    return sorted(found, key=lambda row: (row.valid_from or row.created_at, row.key)), room


def _then(actor: Actor, room: Group | None, narrowing: Narrowing, keys: Sequence[int]) -> set[int]:
    """Give the keys of those that recall would give at those moments: the one rule says it, not the picture."""
    seen = as_q(recallable_by(actor, room, narrowing=narrowing))
    return set(Memory.objects.filter(seen, key__in=keys).values_list("key", flat=True))


def _picture(rows: Sequence[Memory], shown: set[int]) -> Timeline | None:
    if not rows:
        return None
    start, end = _span(rows)
    long_s = (end - start).total_seconds()

    def x(at: datetime) -> float:
        share = (min(max(at, start), end) - start).total_seconds() / long_s
        return round(LEFT + (WIDTH - LEFT) * share, 1)

    dates = [start + (end - start) * n / (DATES - 1) for n in range(DATES)]
    return Timeline(
        rows=tuple(_row(row, n, x, is_shown=row.key in shown, end=end) for n, row in enumerate(rows)),
        dates=tuple((x(at), f"{at:%Y-%m-%d}") for at in dates),
        start=start,
        end=end,
        height=TOP + ROW * len(rows) + 6,
        now_x=x(timezone.now()),
    )


def _row(
    memory: Memory, number: int, x: Callable[[datetime], float], *, is_shown: bool, end: datetime
) -> TimelineRow:
    true, known = true_span(memory), known_span(memory)
    begin = true.start or memory.created_at
    x_from, x_to = x(begin), x(true.end or end)
    known_from, known_to = x(known.start or begin), x(known.end or end)
    text = " ".join(memory.content.split())
    return TimelineRow(
        memory=memory,
        label=Truncator(text).chars(LABEL_CHARS),
        says=f"{Truncator(text).chars(120)} – true {true}; known {known}; {memory.state}",
        y=TOP + ROW * number,
        start=x_from,
        width=max(3.0, round(x_to - x_from, 1)),
        is_open=true.end is None,
        is_event=memory.type == Type.EPISODIC,
        known_start=known_from,
        known_width=max(2.0, round(known_to - known_from, 1)),
        is_shown=is_shown,
    )


def _span(rows: Sequence[Memory]) -> tuple[datetime, datetime]:
    """Give from when to when the picture goes: all that is known of, and now, with a little room."""
    now = timezone.now()
    seen = [at for row in rows for at in (row.valid_from, row.valid_to, row.created_at, row.retired_at) if at]
    start, end = min([*seen, now]), max([*seen, now])
    room = max((end - start) * 0.02, (LEAST_SPAN - (end - start)) / 2, timedelta(hours=1))
    first, last = datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 29, tzinfo=UTC)
    return max(start, first + room) - room, min(end, last - room) + room
