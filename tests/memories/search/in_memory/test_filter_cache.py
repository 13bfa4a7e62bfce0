"""The rows that a Visibility allows are marked once, until something changes or ends."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from access.visibility import Visibility
from memories.search.in_memory import table as kept_marks
from memories.search.in_memory.table import AllowedMask, FilterCache, milliseconds

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LIVE = Visibility(frozenset({1}), True, frozenset({"live"}), frozenset({"active"}), NOW)
DAY = timedelta(days=1)


class Marker:
    """Counts how often it is asked, and gives that number; all rows count for two days."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, v: Visibility) -> AllowedMask[int]:
        self.asked += 1
        return AllowedMask(self.asked, 10, milliseconds(NOW + 2 * DAY))


def test_the_same_is_not_marked_twice() -> None:
    kept, mark = FilterCache[int](), Marker()
    assert [kept.of(LIVE, mark), kept.of(replace(LIVE, now=NOW + DAY), mark)] == [1, 1]
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
        {"types": frozenset({"semantic"}), "retracted_types": frozenset({"entity"})},
        {"scope": "global"},
    ],
)
def test_what_is_asked_otherwise_is_marked_anew(other: dict[str, object]) -> None:
    kept, mark = FilterCache[int](), Marker()
    kept.of(LIVE, mark)
    assert kept.of(replace(LIVE, **other), mark) == 2  # type: ignore[arg-type]  # one field of each kind
    assert kept.of(LIVE, mark) == 1


@pytest.mark.parametrize("other", [{"after": NOW}, {"before": NOW}, {"as_of": NOW}, {"known_at": NOW}])
def test_questions_about_times_are_always_marked(other: dict[str, datetime]) -> None:
    kept, mark = FilterCache[int](), Marker()
    asked = replace(LIVE, **other)  # type: ignore[arg-type]
    assert [kept.of(asked, mark), kept.of(asked, mark)] == [1, 2]


def test_marks_end_with_the_first_row_that_ends() -> None:
    kept, mark = FilterCache[int](), Marker()
    kept.of(LIVE, mark)
    assert kept.of(replace(LIVE, now=NOW + 2 * DAY), mark) == 1
    assert kept.of(replace(LIVE, now=NOW + 2 * DAY + timedelta(milliseconds=1)), mark) == 2


def test_marks_say_nothing_of_the_time_before() -> None:
    kept, mark = FilterCache[int](), Marker()
    kept.of(LIVE, mark)
    assert kept.of(replace(LIVE, now=NOW - DAY), mark) == 2


def test_a_change_ends_all_marks_and_those_that_are_made_meanwhile() -> None:
    kept, mark = FilterCache[int](), Marker()
    kept.of(LIVE, mark)
    with kept.changing():
        assert kept.of(LIVE, mark) == 2
    assert kept.of(LIVE, mark) == 3

    def mark_slowly(v: Visibility) -> AllowedMask[int]:
        with kept.changing():
            pass
        return mark(v)

    other = replace(LIVE, groups=frozenset({2}))
    assert kept.of(other, mark_slowly) == 4
    assert kept.of(other, mark) == 5


def test_few_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_marks, "MOST_KEPT_ROWS", 25)
    kept, mark = FilterCache[int](), Marker()
    for group in (1, 2, 3):
        kept.of(replace(LIVE, groups=frozenset({group})), mark)
    assert sum(each.marked.rows for each in kept._kept.values()) <= 25
    assert kept.of(replace(LIVE, groups=frozenset({3})), mark) == 3
