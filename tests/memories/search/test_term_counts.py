"""Leaving out a question's most common words where ranking what they match would take too long."""

from collections.abc import Sequence

import pytest

from memories.search.keyword import MAX_AGE_S, TermCounts, within_budget
from memories.search.query_terms import Match

COUNTS = {"port": 10, "ledger": 30, "deploy": 50, "group": 1000}


@pytest.mark.parametrize(
    ("budget", "kept"),
    [
        (1090, ("group", "port", "deploy", "ledger")),
        (1089, ("port", "deploy", "ledger")),
        (40, ("port", "ledger")),
        (1, ("port",)),  # the rarest alone is always looked for
    ],
)
def test_the_rarest_words_are_kept_in_their_order(budget: int, kept: tuple[str, ...]) -> None:
    match = Match(("group", "port", "deploy", "ledger"))
    assert within_budget(match, COUNTS, budget=budget) == Match(kept)


def test_a_count_is_asked_for_once_for_each_database_and_again_when_it_is_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    clock = [100.0]
    monkeypatch.setattr("memories.search.keyword.time.monotonic", lambda: clock[0])

    def count(terms: Sequence[str]) -> list[int]:
        asked.extend(terms)
        return [len(asked)] * len(terms)

    counts = TermCounts()
    assert [counts.of("a.db", ["port"], count), counts.of("a.db", ["port"], count)] == [{"port": 1}] * 2
    assert counts.of("b.db", ["port"], count) == {"port": 2}
    clock[0] += MAX_AGE_S + 1
    assert counts.of("a.db", ["port"], count) == {"port": 3}
    assert asked == ["port"] * 3


def test_what_is_known_is_not_asked_for_with_the_rest() -> None:
    asked: list[list[str]] = []

    def count(terms: Sequence[str]) -> list[int]:
        asked.append([*terms])
        return [len(term) for term in terms]

    counts = TermCounts()
    counts.of("a.db", ["port"], count)
    assert counts.of("a.db", ["deploy", "port", "hub"], count) == {"deploy": 6, "port": 4, "hub": 3}
    assert counts.of("a.db", [], count) == {}
    assert asked == [["port"], ["deploy", "hub"]]


def test_only_the_newest_counts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.search.keyword.MAX_COUNTS", 2)
    asked: list[str] = []

    def count(terms: Sequence[str]) -> list[int]:
        asked.extend(terms)
        return [1] * len(terms)

    counts = TermCounts()
    for term in ("one", "two", "three", "three", "one"):
        counts.of("a.db", [term], count)
    assert asked == ["one", "two", "three", "one"]
