"""Turns around a hit: what was said right before and after it, shortened, if the budget has room."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from django.db.models import BigIntegerField, Q, QuerySet, Value

from access.visibility import Visibility
from memories.models import Memory
from memories.queries.labels import label_of, read_doubts
from memories.queries.quoting import mark_turn
from memories.queries.visibility import sees
from memories.recall.budget import Notes, Portion, counting_encoder
from memories.recall.choosing import Excerpts, Fitting
from memories.recall.pipeline import Ranking
from memories.recall.weights import TURN_CHARS, TURN_REACH
from memories.store.withdrawn.left_out import find_left_out
from storage.compiled_queries import CompiledQuery

_MIN_HITS = 4  # smallest compiled size; larger ones are doubled
READ_CHARS = 800  # of a turn, searched for the question's words
_MIN_ROOM = 20  # tokens; less holds no turn


# What the Visibility, labels and the answer read: whole rows take twice as long.
COLUMNS: Final = (
    "key", "id", "content", "type", "scope", "group", "thread", "position", "state", "trust", "outside", "tags", "source", "confidence",
    "importance", "root", "valid_from", "valid_to", "valid_to_known_at", "created_at", "retired_at", "expires_at", "author_name",
)  # fmt: skip


@dataclass(frozen=True)
class NearTurn:
    """A turn beside a hit: `offset` is its place from there, `text` the part of it that is shown as `line`."""

    memory: Memory
    offset: int
    text: str
    line: str
    is_cut: bool


@dataclass(frozen=True)
class Around:
    """The turns around hits, by the hits' keys, and the tokens of their lines."""

    turns: Mapping[int, tuple[NearTurn, ...]] = field(default_factory=dict)
    tokens: int = 0


NOTHING_AROUND: Final = Around()


def find_around(
    portions: Sequence[Portion],
    ranking: Ranking,
    visibility: Visibility,
    notes: Notes,
    fitting: Fitting,
) -> Around:
    """The turns around those hits that are turns, the best hits' first, in what is left of the budget.

    A turn that the caller may not see, that the group has withdrawn, that is itself a hit or an equal of one is no part of it.
    No query without a turn or without room, one query otherwise.
    """
    found = ranking.candidates
    hits = [
        portion.memory
        for portion in portions
        if portion.memory.position is not None
        and (candidate := found.get(portion.memory.key)) is not None
        and candidate.is_turn
    ]
    room = fitting.token_budget
    if not hits or room < _MIN_ROOM:
        return NOTHING_AROUND
    equals = (memory.key for same in notes.alike.values() for memory in same)
    known = {*(portion.memory.key for portion in portions), *equals}
    is_seen = sees(visibility)
    rows = [row for row in _read_beside(hits) if row.key not in known and is_seen(row)]
    left_out = find_left_out(rows, visibility)
    read_doubts(rows)
    places = {(row.thread_id, row.position): row for row in rows if row.key not in left_out}
    return _fill_room(hits, places, Excerpts(fitting.words, counting_encoder(fitting.encoder)), room)


def _fill_room(
    hits: Sequence[Memory], places: dict[tuple[int | None, int | None], Memory], excerpts: Excerpts, room: int
) -> Around:
    """As many of the rows beside each hit as there is room for, nearest first."""
    turns = [
        (hit.key, _make_turn(row, offset, hit, excerpts))
        for hit in hits
        for offset, row in _take_beside(hit, places)
    ]
    spent = excerpts.count_lines([turn.line for _, turn in turns])
    while spent > room:
        turns = turns[: min(len(turns) - 1, len(turns) * room // spent)]
        spent = excerpts.count_lines([turn.line for _, turn in turns])
    near = defaultdict[int, list[NearTurn]](list)
    for key, turn in turns:
        near[key].append(turn)
    in_order = {key: tuple(sorted(own, key=lambda turn: turn.offset)) for key, own in near.items()}
    return Around(in_order, spent)


def _take_beside(
    hit: Memory, places: dict[tuple[int | None, int | None], Memory]
) -> Iterator[tuple[int, Memory]]:
    """The rows beside a hit with their places from there, nearest first; each is taken out of `places`."""
    for distance in range(1, TURN_REACH + 1):
        for offset in (-distance, distance):
            if row := places.pop((hit.thread_id, (hit.position or 0) + offset), None):
                yield offset, row


def _make_turn(row: Memory, offset: int, hit: Memory, excerpts: Excerpts) -> NearTurn:
    """The row as a turn beside the hit, with its date if that is another one."""
    text = (
        excerpts.part_of(row.content, TURN_CHARS, read_chars=READ_CHARS)
        if len(row.content) > TURN_CHARS
        else row.content
    )
    day, hit_day = (f"{each.moment:%Y-%m-%d}" for each in (row, hit))
    line = mark_turn(row, text, label=label_of(row), when=day if day != hit_day else "")
    return NearTurn(row, offset, text, line, is_cut=text != row.content)


def _read_beside(hits: Sequence[Memory]) -> list[Memory]:
    """The rows in the places around those of the hits, in whatever state; one query."""
    count = _MIN_HITS
    while count < len(hits):
        count *= 2
    padded = [*hits, *[hits[-1]] * (count - len(hits))]
    values = [
        value
        for hit in padded
        for value in (hit.thread_id or 0, (hit.position or 0) - TURN_REACH, (hit.position or 0) + TURN_REACH)
    ]
    rows = _places_query(count).rows(*values)
    threads = {hit.thread_id: hit.thread for hit in hits}
    for row in rows:
        row.thread = threads[row.thread_id]
    return rows


@cache
def _places_query(count: int) -> CompiledQuery[Memory]:
    # As an expression: a placeholder is outside the column's range, where Django expects no row.
    def bound(value: int) -> Value:
        return Value(value, output_field=BigIntegerField())

    def make(*values: int) -> QuerySet[Memory]:
        places = Q()
        for at in range(0, len(values), 3):
            thread, low, high = values[at : at + 3]
            places |= Q(thread=thread, position__gte=bound(low), position__lte=bound(high))
        return Memory.objects.only(*COLUMNS).filter(places).order_by()

    return CompiledQuery(make, 3 * count)
