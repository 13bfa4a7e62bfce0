"""Every rendering of a Visibility gives the rows that its words allow: no more, no fewer."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from access.models import Group
from access.visibility import Visibility
from memories.embedding.model import Vectors
from memories.models import IndexState, Memory
from memories.queries.visibility import EVERY_STATE, EVERY_TRUST, RECALLED, as_q, is_visible
from memories.recall.question import Question
from memories.search.base import search_index
from memories.search.in_memory.sync import read_all
from memories.search.in_memory.table import VectorTable
from memories.search.query_terms import Match
from memories.search.rows import RowReader
from memories.search.sqlite.engine import TableSearch
from memories.types import State, Trust, Type
from sources.artifacts.search import find_chunks
from sources.artifacts.search.base import chunk_index
from sources.models import Artifact, Chunk, ChunkState, FileKind
from tests.examples import examples
from tests.memories.builders import MODEL, NOW, add_piece, day, row, unit_vector
from tests.settings import IS_POSTGRES

pytestmark = pytest.mark.django_db

RECALL_STATES = frozenset({"live"})
HISTORY = frozenset({"live", "superseded", "retracted", "dormant", "expired"})
# Few days, so that a limit often falls on the very moment.
DAYS = st.integers(-2, 2).map(day)
MAYBE_DAY = st.none() | DAYS
SELDOM_A_DAY = st.sampled_from([None, None, None, *map(day, range(-2, 3))])
NOTHING: frozenset[str] = frozenset()
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "group": st.integers(0, 2),
            "scope": st.sampled_from(["global", "group"]),
            # Half of the rows live, so that positive cases are frequent.
            "state": st.sampled_from([*State.values, *["live"] * 6, "superseded"]),
            "trust": st.sampled_from([*Trust.values, *["active"] * 4]),
            "type": st.sampled_from(Type.values),
            "tags": st.lists(st.sampled_from(["red", "green", 'we"ird']), unique=True, max_size=3),
            "confidence": st.sampled_from([0.0, 0.3, 0.7, 1.0]),
            "valid_from": MAYBE_DAY,
            "valid_to": MAYBE_DAY,
            "valid_to_known_at": MAYBE_DAY,
            "created_at": DAYS,
            "retired_at": MAYBE_DAY | st.none(),
            "expires_at": SELDOM_A_DAY,
        }
    ).map(lambda fields: _in_order(fields)),
    min_size=1,
    max_size=14,
)
NUMBERS = st.frozensets(st.integers(0, 13), max_size=4)
QUESTIONS = st.builds(
    Visibility,
    groups=st.none() | st.frozensets(st.integers(0, 2), max_size=3),
    include_global=st.booleans() | st.just(True),
    states=st.sampled_from([RECALL_STATES, HISTORY, EVERY_STATE, frozenset({"live", "retracted"})]),
    trusts=st.sampled_from([RECALLED, EVERY_TRUST, frozenset({"candidate"})]),
    now=st.just(NOW),
    types=st.just(NOTHING) | st.frozensets(st.sampled_from(Type.values), max_size=2),
    scope=st.sampled_from(["", "", "", "", "global", "group"]),
    tags=st.just(NOTHING) | st.frozensets(st.sampled_from(["red", "green", 'we"ird']), max_size=2),
    min_confidence=st.sampled_from([0.0, 0.0, 0.0, 0.3, 0.5, 1.0]),
    as_of=MAYBE_DAY,
    known_at=MAYBE_DAY,
    after=SELDOM_A_DAY,
    before=SELDOM_A_DAY,
    shown_then=st.just(frozenset()) | NUMBERS,
    hidden_then=st.just(frozenset()) | NUMBERS,
    orphans=st.just(frozenset()) | NUMBERS,
)


def _in_order(fields: dict[str, Any]) -> dict[str, Any]:
    """An end never lies before its beginning, and is known only where there is one."""
    if fields["valid_from"] and fields["valid_to"] and fields["valid_to"] < fields["valid_from"]:
        fields["valid_from"], fields["valid_to"] = fields["valid_to"], fields["valid_from"]
    if fields["valid_to"] is None:
        fields["valid_to_known_at"] = None
    return fields


def is_allowed(m: Memory, v: Visibility) -> bool:
    """The rule in plain words: where, what, and when."""
    return _is_in_group(m, v) and _is_kind(m, v) and _is_in_time(m, v)


def _is_in_group(m: Memory, v: Visibility) -> bool:
    if v.scope and m.scope != v.scope:
        return False
    if v.groups is None:
        return True
    return m.group_id in v.groups or (v.include_global and m.scope == "global")


def _is_kind(m: Memory, v: Visibility) -> bool:
    return (
        (m.state in v.states or _outlasts(m, v) or m.key in v.shown_then)
        and m.trust in v.trusts
        and (not v.types or m.type in v.types)
        and m.confidence >= v.min_confidence
        and v.tags <= set(m.tags)
        and m.key not in v.orphans
    )


def _outlasts(m: Memory, v: Visibility) -> bool:
    """What a memory dated ahead replaces counts until that day, though it is superseded already."""
    if v.states != RECALL_STATES or v.as_of or v.known_at:
        return False
    is_replaced = m.state == "superseded" and m.retired_at is None and m.type != "episodic"
    if not is_replaced or m.valid_to is None or m.valid_to_known_at is None:
        return False
    is_dated_ahead = m.valid_to > m.valid_to_known_at  # when the end became known, it lay ahead
    return is_dated_ahead and m.valid_to > v.now and m.trust in RECALLED


def _is_in_time(m: Memory, v: Visibility) -> bool:
    happened = m.valid_from or m.created_at
    if (v.after and happened < v.after) or (v.before and happened > v.before):
        return False
    if v.as_of or v.known_at:
        return m.key not in v.hidden_then and _was_true(m, v) and _was_known(m, v)
    if v.states == RECALL_STATES:
        if m.type != "episodic" and m.valid_from is not None and m.valid_from > v.now:
            return False  # a fact dated ahead waits for its day; an event dated ahead is a plan
        ended = m.type != "episodic" and m.valid_to is not None and m.valid_to <= v.now
        return not ended and not _has_expired(m, v.now)
    return True  # lists show every state, whatever the time


def _was_true(m: Memory, v: Visibility) -> bool:
    """`as_of` reads valid time; an event only needs to have happened."""
    moment = v.as_of or v.known_at
    assert moment is not None
    if (m.valid_from and m.valid_from > moment) or _has_expired(m, moment):
        return False
    if m.type == "episodic" or m.valid_to is None:
        return True
    if v.known_at and m.valid_to_known_at and m.valid_to_known_at > v.known_at:
        return True  # that it would end was not known yet
    return m.valid_to > moment


def _was_known(m: Memory, v: Visibility) -> bool:
    """`known_at` reads record time; without it, present knowledge applies."""
    # Sleep or the end of a time to live is no correction: the text was not wrong.
    is_withdrawn = m.retired_at is not None and m.state not in ("dormant", "expired")
    if v.known_at is None:
        return not is_withdrawn
    was_withdrawn = is_withdrawn and m.retired_at <= v.known_at
    return m.created_at <= v.known_at and not was_withdrawn


def _has_expired(m: Memory, at: datetime) -> bool:
    return m.expires_at is not None and m.expires_at <= at


@dataclass(frozen=True)
class World:
    """Some memories, each with the same word and a vector, in three groups."""

    groups: list[Group]
    memories: list[Memory]

    def seen(self, v: Visibility) -> Visibility:
        """Put the keys of groups and rows in place of their numbers."""
        keys = None if v.groups is None else frozenset(self.groups[n].key for n in v.groups)
        shown, hidden = (
            frozenset(self.memories[n].key for n in numbers if n < len(self.memories) and v.known_at)
            for numbers in (v.shown_then, v.hidden_then)
        )
        orphans = frozenset(self.memories[n].key for n in v.orphans if n < len(self.memories))
        return replace(v, groups=keys, shown_then=shown, hidden_then=hidden, orphans=orphans)


def build(rows: list[dict[str, Any]]) -> World:
    Memory.objects.all().delete()
    groups = [Group.objects.get_or_create(slug=f"group{n}")[0] for n in range(3)]
    memories = []
    for number, fields in enumerate(rows):
        group = groups[fields["group"]]
        memory = row(group, f"lighthouse {number}", **{**fields, "group": group})
        # Two pieces each: a memory is one hit however many of its pieces are near.
        add_piece(memory, unit_vector(number), ordinal=0)
        add_piece(memory, unit_vector(number + 1000), ordinal=1)
        memories.append(memory)
    return World(groups, memories)


def by_query(v: Visibility) -> list[int]:
    return list(Memory.objects.filter(as_q(v)).values_list("key", flat=True))


def by_row(v: Visibility) -> list[int]:
    return [memory.key for memory in Memory.objects.all() if is_visible(memory, v)]


def by_keyword(v: Visibility) -> list[int]:
    return [hit.key for hit in search_index().keyword(Match(("lighthouse",)), v, limit=1000)]


def by_table(v: Visibility) -> list[int]:
    """The vectors in memory; their rows decide."""
    table = VectorTable()
    table.put([row for rows in read_all(MODEL) for row in rows])
    search = TableSearch(table, unit_vector(7), v, RowReader(v), limit=1000)
    return [hit.key for hit in search.best(())]


def by_vector(v: Visibility) -> list[int]:
    return [hit.key for hit in search_index().nearest(unit_vector(7), v, limit=1000)]


Search = Callable[[Visibility], list[int]]
# PostgreSQL searches itself: no process has its vectors in memory.
IN_MEMORY: tuple[Search, ...] = () if IS_POSTGRES else (by_table,)
SEARCHES: tuple[Search, ...] = (by_query, by_row, by_keyword, by_vector, *IN_MEMORY)


@settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(rows=ROWS, questions=st.lists(QUESTIONS, min_size=1, max_size=6))
def test_rows_words_and_vectors_agree_with_brute_force(
    db: None, rows: list[dict[str, Any]], questions: list[Visibility]
) -> None:
    world = build(rows)
    for question in questions:
        visibility = world.seen(question)
        allowed = sorted(m.key for m in world.memories if is_allowed(m, visibility))
        for search in SEARCHES:
            assert sorted(search(visibility)) == allowed, search.__name__


def test_every_limit_falls_on_the_right_side(db: None) -> None:
    """Each time of a row at NOW or absent, asked for the day before, at that very moment, and the day after."""
    times = ("valid_from", "valid_to", "valid_to_known_at", "retired_at", "expires_at")
    plain = {"scope": "group", "state": "live", "trust": "active", "tags": [], "confidence": 0.7, "group": 0}
    rows = [
        _in_order(
            plain
            | {"type": type_, "created_at": day(created), "state": state}
            | dict(zip(times, moments, strict=True))
        )
        for moments in product((None, NOW), repeat=len(times))
        for type_ in ("semantic", "episodic")
        for created in (-1, 0)
        # Of a retired row it matters whether it was withdrawn or only stopped counting.
        for state in (("live", "superseded", "dormant", "expired") if moments[3] else ("live",))
    ]
    world = build(rows)
    moments = (None, day(-1), NOW, day(1))
    asked = [{"as_of": as_of, "known_at": known_at} for as_of, known_at in product(moments, moments)]
    asked += [{"after": after, "before": before} for after, before in product(moments, moments)]
    for times_asked in asked:
        question = Visibility(
            groups=frozenset({0}),
            include_global=True,
            states=HISTORY if times_asked.get("as_of") or times_asked.get("known_at") else RECALL_STATES,
            trusts=RECALLED,
            now=NOW,
            **times_asked,
        )
        visibility = world.seen(question)
        allowed = sorted(m.key for m in world.memories if is_allowed(m, visibility))
        for search in SEARCHES:
            assert sorted(search(visibility)) == allowed, (search.__name__, times_asked)


def test_the_limit_is_met_by_what_may_be_seen_and_not_used_up_by_what_may_not(db: None) -> None:
    mine, other = (Group.objects.create(slug=slug) for slug in ("mine", "other"))
    for number in range(40):
        add_piece(row(other, f"lighthouse {number}"), unit_vector(7))
        add_piece(row(mine, f"lighthouse kept {number}", trust="quarantined"), unit_vector(7))
    wanted = [row(mine, f"a lighthouse far away, number {number}") for number in range(3)]
    for memory in wanted:
        add_piece(memory, unit_vector(memory.key))
    v = Visibility(
        groups=frozenset({mine.key}), include_global=True, states=RECALL_STATES, trusts=RECALLED, now=NOW
    )
    keys = {memory.key for memory in wanted}
    assert {hit.key for hit in search_index().keyword(Match(("lighthouse",)), v, limit=3)} == keys
    assert {hit.key for hit in search_index().nearest(unit_vector(7), v, limit=3)} == keys


def test_chunks_of_files_agree_with_brute_force(db: None) -> None:
    groups = [Group.objects.create(slug=f"files{n}") for n in range(3)]
    for group, state in product(groups, ChunkState.values):
        artifact = Artifact.objects.create(
            group=group, source="s", path=f"{state}.md", kind=FileKind.MARKDOWN, size=1, digest="d",
            chunk_count=1, words=2,
        )  # fmt: skip
        Chunk.objects.create(
            artifact=artifact, group=group, state=state, words=2, tokens=3, start_line=1, end_line=1,
            locator=f"{state}.md#1", text_hash=f"{group.key}{state}", content="the lighthouse",
            embedding=unit_vector(7).astype("<f4").tobytes(), model=MODEL,
        )  # fmt: skip
    IndexState.objects.update_or_create(name="model", defaults={"value": MODEL})
    for group in groups:
        v = Visibility(frozenset({group.key}), False, RECALL_STATES, RECALLED, NOW)
        allowed = {c.key for c in Chunk.objects.all() if c.group_id == group.key and c.state == "live"}
        near = Future[Vectors]()
        near.set_result(unit_vector(7))
        for vector in (None, near):
            question = Question("lighthouse", match=Match(("lighthouse",)), vector=vector)
            assert {hit.key for hit in find_chunks(question, v, mode="hybrid")} == allowed
        everything = [*Chunk.objects.values_list("key", flat=True)]
        assert {row.key for row in chunk_index().read(everything, v, unit_vector(7), MODEL)} == allowed
