"""The rows that a Visibility allows are marked once, until something changes or ends."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from access.visibility import Visibility
from memories.search.in_memory import table as kept_marks
from memories.search.in_memory.table import AllowedRows, FilterCache, VectorTable, milliseconds

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LIVE = Visibility(frozenset({1}), True, frozenset({"live"}), frozenset({"active"}), NOW)
DAY = timedelta(days=1)


class Marker:
    """Counts how often it is asked, and gives that number; all rows count for two days."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, v: Visibility) -> AllowedRows:
        self.asked += 1
        return AllowedRows(VectorTable()._part, np.full(10, self.asked), milliseconds(NOW + 2 * DAY))


class Cache(FilterCache):
    """A cache of a Marker's numbers."""

    def number(self, v: Visibility, mark: Callable[[Visibility], AllowedRows]) -> int:
        [number] = {*self.of(v, mark).rows.tolist()}
        return int(number)


def test_the_same_is_not_marked_twice() -> None:
    kept, mark = Cache(), Marker()
    assert [kept.number(LIVE, mark), kept.number(replace(LIVE, now=NOW + DAY), mark)] == [1, 1]
    assert mark.asked == 1


@pytest.mark.parametrize(
    "other",
    [
        {"groups": frozenset({2})},
        {"groups": None},
        {"include_global": False},
        {"states": frozenset({"live", "archived"})},
        {"trusts": frozenset({"verified"})},
        {"types": frozenset({"semantic"})},
        {"scope": "global"},
    ],
)
def test_what_is_asked_otherwise_is_marked_anew(other: dict[str, object]) -> None:
    kept, mark = Cache(), Marker()
    kept.number(LIVE, mark)
    assert kept.number(replace(LIVE, **other), mark) == 2  # type: ignore[arg-type]  # one field of each kind
    assert kept.number(LIVE, mark) == 1


@pytest.mark.parametrize("other", [{"after": NOW}, {"before": NOW}, {"as_of": NOW}, {"known_at": NOW}])
def test_questions_about_times_are_always_marked(other: dict[str, datetime]) -> None:
    kept, mark = Cache(), Marker()
    asked = replace(LIVE, **other)  # type: ignore[arg-type]
    assert [kept.number(asked, mark), kept.number(asked, mark)] == [1, 2]


def test_marks_end_with_the_first_row_that_ends() -> None:
    kept, mark = Cache(), Marker()
    kept.number(LIVE, mark)
    assert kept.number(replace(LIVE, now=NOW + 2 * DAY), mark) == 1
    assert kept.number(replace(LIVE, now=NOW + 2 * DAY + timedelta(milliseconds=1)), mark) == 2


def test_marks_say_nothing_of_the_time_before() -> None:
    kept, mark = Cache(), Marker()
    kept.number(LIVE, mark)
    assert kept.number(replace(LIVE, now=NOW - DAY), mark) == 2


def test_a_change_ends_all_marks_and_those_that_are_made_meanwhile() -> None:
    kept, mark = Cache(), Marker()
    kept.number(LIVE, mark)
    with kept.changing():
        assert kept.number(LIVE, mark) == 2
    assert kept.number(LIVE, mark) == 3

    def mark_slowly(v: Visibility) -> AllowedRows:
        with kept.changing():
            pass
        return mark(v)

    other = replace(LIVE, groups=frozenset({2}))
    assert kept.number(other, mark_slowly) == 4
    assert kept.number(other, mark) == 5


def test_few_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_marks, "MOST_KEPT_ROWS", 25)
    kept, mark = Cache(), Marker()
    for group in (1, 2, 3):
        kept.number(replace(LIVE, groups=frozenset({group})), mark)
    assert sum(len(each.rows) for *_, each in kept._kept.values()) <= 25
    assert kept.number(replace(LIVE, groups=frozenset({3})), mark) == 3
