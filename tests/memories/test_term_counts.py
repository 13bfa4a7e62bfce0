"""Leaving out a question's most common words where ranking what they match would take too long."""

import pytest

from memories.index.term_counts import KEPT_S, TermCounts, within_budget
from memories.index.terms import Match

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
    assert within_budget(match, COUNTS.__getitem__, budget=budget) == Match(kept)


def test_a_count_is_asked_for_once_for_each_database_and_again_when_it_is_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    clock = [100.0]
    monkeypatch.setattr("memories.index.term_counts.time.monotonic", lambda: clock[0])

    def count(term: str) -> int:
        asked.append(term)
        return len(asked)

    counts = TermCounts()
    assert [counts.of("a.db", "port", count), counts.of("a.db", "port", count)] == [1, 1]
    assert counts.of("b.db", "port", count) == 2
    clock[0] += KEPT_S + 1
    assert counts.of("a.db", "port", count) == 3
    assert asked == ["port"] * 3


def test_only_the_newest_counts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.index.term_counts.MOST_KEPT", 2)
    asked: list[str] = []

    def count(term: str) -> int:
        asked.append(term)
        return 1

    counts = TermCounts()
    for term in ("one", "two", "three", "three", "one"):
        counts.of("a.db", term, count)
    assert asked == ["one", "two", "three", "one"]
