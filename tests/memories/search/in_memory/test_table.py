"""Vectors in memory: nothing that a Visibility allows is passed over, whatever the filter, the size and the order of writes."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from access.visibility import Visibility
from memories.search.in_memory import table as bits
from memories.search.in_memory.table import Keys, PieceRow, VectorTable, signs_of
from memories.types import State, Trust, Type

NOW = datetime(2026, 5, 1, tzinfo=UTC)
NOW_MS = 1_777_593_600_000
FOREVER = 2**53
LIVE = Visibility(frozenset({1}), True, frozenset({"live"}), frozenset({"active", "verified"}), NOW)
Vectors = NDArray[np.float32]


def vectors(count: int, *, seed: int = 1) -> Vectors:
    """Unit vectors in clusters, like real ones."""
    dice = np.random.default_rng(seed)
    middles = dice.standard_normal((max(count // 25, 1), 384))
    made = middles[dice.integers(len(middles), size=count)] + 0.8 * dice.standard_normal((count, 384))
    unit: Vectors = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
    return unit


def piece(key: int, vector: Vectors, **fields: object) -> PieceRow:
    given_ = {
        "memory": key,
        "group": 1,
        "scope": "group",
        "state": "live",
        "trust": "active",
        "type": "semantic",
    }
    times = {"until": FOREVER, "at": NOW_MS}
    return PieceRow(**{"piece": key, **given_, **times, "embedding": vector.astype("<f4").tobytes()} | fields)


def table_of(rows: list[PieceRow], *, exact_mb: int = 64) -> VectorTable:
    table = VectorTable(exact_mb=exact_mb)
    table.put(rows)
    return table


def found(table: VectorTable, vector: Vectors, v: Visibility, *, wanted: int, held: Vectors) -> list[int]:
    """The nearest pieces; vectors not in memory are read from `held`, where piece 1 is row 0."""

    def read(pieces: Keys) -> Vectors:
        return held[pieces - 1]

    return table.nearest(vector, table.allowed(v), wanted=wanted, read=read).pieces.tolist()


def test_signs_are_counted_where_they_differ() -> None:
    plus = np.ones((1, 384), dtype=np.float32)
    other = plus.copy()
    other[0, :5] = -1
    differing = np.bitwise_count(signs_of(plus) ^ signs_of(other)).sum()
    assert signs_of(plus).shape == (6, 1)
    assert differing == 5


def test_the_nearest_come_first_with_their_cosines() -> None:
    axes = np.eye(384, dtype=np.float32)
    mixed = (0.6 * axes[0] + 0.8 * axes[1]).astype(np.float32)
    table = table_of([piece(1, axes[0]), piece(2, axes[1]), piece(3, axes[2])])
    nearest = table.nearest(mixed, table.allowed(LIVE), wanted=2, read=lambda pieces: axes[pieces - 1])
    assert nearest.pieces.tolist() == [2, 1]
    assert nearest.cosines.tolist() == pytest.approx([0.8, 0.6])
    assert nearest.is_all is False
    assert (
        table.nearest(mixed, table.allowed(LIVE), wanted=9, read=lambda pieces: axes[pieces - 1]).is_all
        is True
    )


ROWS = st.fixed_dictionaries(
    {
        "group": st.integers(1, 3),
        "scope": st.sampled_from(["group", "group", "global"]),
        "state": st.sampled_from([*State.values, *["live"] * 6]),
        "trust": st.sampled_from([*Trust.values, *["active"] * 4]),
        "type": st.sampled_from(Type.values),
        "until": st.sampled_from([FOREVER, FOREVER, NOW_MS - 1000, NOW_MS + 1000]),
        "at": st.sampled_from([NOW_MS - 86_400_000, NOW_MS, NOW_MS + 86_400_000]),
    }
)
QUESTIONS = st.builds(
    Visibility,
    groups=st.none() | st.frozensets(st.integers(1, 3), max_size=3),
    include_global=st.booleans(),
    states=st.sampled_from([frozenset({"live"}), frozenset({"live", "retracted"}), frozenset(State.values)]),
    trusts=st.sampled_from([frozenset({"active", "verified"}), frozenset(Trust.values)]),
    now=st.just(NOW),
    types=st.just(frozenset()) | st.frozensets(st.sampled_from(Type.values), min_size=1, max_size=2),
    scope=st.sampled_from(["", "", "global", "group"]),
    after=st.none() | st.just(NOW),
    before=st.none() | st.just(NOW),
)


def is_marked(row: PieceRow, v: Visibility) -> bool:
    """The rule in plain words, as far as the table knows it."""
    in_group = v.groups is None or row.group in v.groups or (v.include_global and row.scope == "global")
    is_type = not v.types or row.type in v.types
    kind = row.state in v.states and row.trust in v.trusts and is_type
    counts = v.states != {"live"} or row.until > NOW_MS
    in_time = (v.after is None or row.at >= NOW_MS) and (v.before is None or row.at <= NOW_MS)
    return in_group and kind and counts and in_time and v.scope in ("", row.scope)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=40), QUESTIONS)
def test_exactly_the_rows_are_marked_that_the_filters_allow(
    rows: list[dict[str, object]], v: Visibility
) -> None:
    held = vectors(len(rows))
    pieces = [piece(n, held[n - 1], **fields) for n, fields in enumerate(rows, start=1)]
    marked = table_of(pieces).allowed(v).rows
    assert [pieces[n].piece for n in marked] == [row.piece for row in pieces if is_marked(row, v)]


@pytest.mark.parametrize("exact_mb", [64, 0])
@pytest.mark.parametrize("group", [1, 2, 3])
def test_at_least_99_of_100_of_the_true_ten_best_are_found_in_any_group(exact_mb: int, group: int) -> None:
    count = 8000
    held = vectors(count)
    # Groups of 86, 10 and 4 in a hundred.
    groups = np.random.default_rng(2).choice([1, 2, 3], size=count, p=[0.86, 0.1, 0.04])
    rows = [piece(n, held[n - 1], group=int(groups[n - 1])) for n in range(1, count + 1)]
    table = table_of(rows, exact_mb=exact_mb)
    assert table.has_exact is (exact_mb > 0)
    v = replace(LIVE, groups=frozenset({group}))
    own = np.flatnonzero(groups == group)
    hits = 0
    for question in vectors(40, seed=3) * 0.5 + held[:40] * 0.5:
        true = own[np.argsort(-(held[own] @ question))[:10]] + 1
        hits += len({*true.tolist()} & {*found(table, question, v, wanted=125, held=held)[:10]})
    assert hits >= 0.99 * 400


def test_rows_that_come_out_of_order_are_found_as_well() -> None:
    held = vectors(6)
    table = table_of([piece(2, held[1]), piece(5, held[4])])
    table.put([piece(4, held[3]), piece(1, held[0])])
    table.put([piece(6, held[5]), piece(3, held[2])])
    for key in range(1, 7):
        assert found(table, held[key - 1], LIVE, wanted=1, held=held) == [key]


def test_a_changed_row_is_found_by_what_it_is_now_alone() -> None:
    held = vectors(3)
    table = table_of([piece(n, held[n - 1]) for n in (1, 2, 3)])
    table.put([piece(2, held[0], group=2)])
    assert sorted(found(table, held[0], LIVE, wanted=9, held=held)) == [1, 3]
    elsewhere = replace(LIVE, groups=frozenset({2}))
    assert found(table, held[0], elsewhere, wanted=9, held=held) == [2]
    assert table.nearest(held[0], table.allowed(elsewhere), wanted=1, read=lambda _: held).cosines[
        0
    ] == pytest.approx(1.0, abs=1e-4)


def test_a_removed_row_is_gone_until_it_is_put_again() -> None:
    held = vectors(2)
    table = table_of([piece(1, held[0]), piece(2, held[1])])
    table.remove([1, 77])
    assert found(table, held[0], LIVE, wanted=9, held=held) == [2]
    assert table.deleted == 1
    table.put([piece(1, held[0])])
    assert found(table, held[0], LIVE, wanted=1, held=held) == [1]
    assert table.deleted == 0


def test_the_vectors_leave_memory_when_they_do_not_fit_and_the_signs_still_find() -> None:
    count = 1024 * 1024 // (384 * 2)  # what fits into 1 MiB: 1,365
    held = vectors(count + 40)
    table = table_of([piece(n, held[n - 1]) for n in range(1, count + 1)], exact_mb=1)
    assert table.has_exact
    table.put([piece(n, held[n - 1]) for n in range(count + 1, count + 41)])
    assert not table.has_exact
    assert table.best_cosines([1], held[0]) is None
    assert found(table, held[count + 39], LIVE, wanted=1, held=held) == [count + 40]


@pytest.mark.parametrize("memories", [(10, 20, 20, 30), (20, 30, 20, 10)])
def test_a_memory_has_the_cosine_of_its_best_piece(memories: tuple[int, ...]) -> None:
    """The pieces stand in the order of their memories, as they mostly do, or in another."""
    axes = np.eye(384, dtype=np.float32)
    half = (axes[0] + axes[1]) / np.float32(np.sqrt(2))
    by_memory = {10: [axes[2]], 20: [axes[0], half], 30: [axes[1]]}
    table = VectorTable()
    for key, memory in enumerate(memories, start=1):  # each is added behind those that were looked at
        table.put([piece(key, by_memory[memory].pop(), memory=memory)])
        table.best_cosines([10, 20], axes[1])
    told = table.best_cosines([30, 20, 10, 99], axes[1])
    assert told == pytest.approx({10: 0.0, 20: np.sqrt(0.5), 30: 1.0}, abs=1e-3)
    table.remove([memories.index(30) + 1])
    assert table.best_cosines([30, 10], axes[1]) == {10: 0.0}
    assert table.best_cosines([], axes[1]) == {}


def test_half_precision_moves_a_cosine_by_less_than_a_ten_thousandth() -> None:
    held = vectors(2000)
    table = table_of([piece(n, held[n - 1]) for n in range(1, 2001)])
    told = table.best_cosines(range(1, 2001), held[7])
    assert told is not None
    assert max(abs(told[n] - float(held[n - 1] @ held[7])) for n in told) < 1e-4
    assert len(told) == 2000


def test_many_rows_are_chosen_by_their_signs_before_they_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = vectors(3000)
    table = table_of([piece(n, held[n - 1]) for n in range(1, 3001)], exact_mb=0)
    compared: list[int] = []

    def read(pieces: Keys) -> Vectors:
        compared.append(len(pieces))
        return held[pieces - 1]

    found = table.nearest(held[0], table.allowed(LIVE), wanted=50, read=read)
    assert compared == [bits.MIN_COMPARED]
    assert found.pieces[0] == 1
    table.nearest(held[0], table.allowed(LIVE), wanted=500, read=read)
    assert compared[1:] == [int(500 * bits.COMPARED_PER_WANTED)]


def test_the_rows_that_share_the_most_signs_are_chosen() -> None:
    question = np.ones(384, dtype=np.float32) / np.float32(np.sqrt(384))
    held = np.repeat(question[None, :], 4000, axis=0)
    turned = np.arange(4000) % 200  # signs that differ, of each row
    for number, count in enumerate(turned):
        held[number, :count] *= -1
    table = table_of([piece(n + 1, held[n]) for n in range(4000)], exact_mb=0)
    allowed = table.allowed(LIVE)
    columns, count = allowed.part.columns, allowed.part.count
    # Of 4,000 rows 20 have each number: 1,000 differ in less than 50 signs.
    alike = bits.most_similar(columns, count, allowed.rows, question, least=1000)
    assert alike.tolist() == np.flatnonzero(turned < 50).tolist()
    # Of every other row, half of the table and less, 20 have each even number: 100 differ in less than 10.
    some = bits.most_similar(columns, count, allowed.rows[::2][:1999], question, least=100)
    assert some.tolist() == np.flatnonzero(turned < 10)[::2].tolist()


def test_of_like_rows_those_are_compared_whose_signs_have_the_greatest_products() -> None:
    question = np.zeros(384, dtype=np.float32)
    question[:3] = (4.0, 2.0, 1.0)
    signs = [(1, 1, 1), (1, -1, -1), (-1, 1, 1), (1, 1, -1)]  # products 7, 1, -1 and 5
    held = -np.ones((4, 384), dtype=np.float32)
    held[:, :3] = signs
    table = table_of([piece(n, held[n - 1]) for n in (1, 2, 3, 4)])
    columns, rows = table.allowed(LIVE).part.columns, np.arange(4)
    assert bits.rank_by_signs(columns, rows, question, most=2).tolist() == [0, 3]
    assert bits.rank_by_signs(columns, rows[1:], question, most=1).tolist() == [3]
    assert bits.rank_by_signs(columns, rows, question, most=4).tolist() == [0, 1, 2, 3]
