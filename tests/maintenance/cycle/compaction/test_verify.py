"""Probes: what a source answers is asked of its summary, in the words that tell it from the others."""

from collections import Counter

import numpy as np
import pytest

from access.models import Group
from access.visibility import Visibility
from maintenance.cycle.compaction.verify import (
    SourceQuery,
    answered_by,
    answered_by_sources,
    distinctive_words,
    make_probes,
    may_answer,
)
from memories.queries.visibility import RECALLED
from memories.search.query_terms import Match
from memories.types import State
from tests.memories.builders import NOW, row

EAST, NORTH = np.array([1, 0], dtype=np.float32), np.array([0, 1], dtype=np.float32)


def probe(source: int, *terms: str) -> SourceQuery:
    return SourceQuery(source, Match(terms), EAST)


def seen_in(group: Group) -> Visibility:
    return Visibility(frozenset({group.key}), True, frozenset({State.LIVE}), RECALLED, NOW)


def test_rare_words_are_asked_for_and_stop_words_are_not() -> None:
    spread = Counter({"the": 9, "server": 9, "restart": 3, "tuesday": 1})
    assert distinctive_words("The server restart of Tuesday", spread, total=9) == (
        "tuesday",
        "restart",
        "server",
    )


def test_a_question_has_six_words_at_most() -> None:
    assert len(distinctive_words("one two three four five six seven eight", Counter(), total=9)) == 6


def test_where_there_are_only_stop_words_they_are_asked_for() -> None:
    assert distinctive_words("to be or not to be", Counter(), total=1)[:2] == ("to", "be")


@pytest.mark.django_db
def test_a_source_without_a_vector_or_words_has_no_probe(ledger: Group) -> None:
    words, silent, owed = row(ledger, "alpha beta"), row(ledger, "…!"), row(ledger, "gamma")
    vectors = {words.key: EAST, silent.key: EAST}
    probes = make_probes([words, silent, owed], vectors, around=["alpha beta", "gamma"])
    assert [(each.source, each.match.terms) for each in probes] == [(words.key, ("alpha", "beta"))]


def test_half_of_the_words_and_a_near_piece_are_needed() -> None:
    one, other = probe(1, "alpha", "beta"), probe(2, "gamma", "delta", "omega")
    near = np.stack([NORTH, EAST])
    assert may_answer([one, other], "Alpha and gamma", near, cosine=0.9) == [one]
    assert may_answer([one, other], "Alpha and gamma", NORTH[None, :], cosine=0.9) == []
    assert may_answer([one, other], "Betas, gammas and deltas", near, cosine=0.9) == [one, other]


@pytest.mark.django_db
def test_a_source_that_is_not_found_itself_proves_nothing(ledger: Group) -> None:
    found, hidden = row(ledger, "alpha beta"), row(ledger, "gamma delta", state="forgotten")
    probes = [probe(found.key, "alpha"), probe(hidden.key, "gamma")]
    assert answered_by_sources(probes, seen_in(ledger), top=10) == probes[:1]


@pytest.mark.django_db
def test_sources_are_out_of_the_way_only_if_they_go(ledger: Group) -> None:
    """With one place, the summary has it where all go; a source that stays keeps it, and what relied on that falls."""
    sources = [row(ledger, "alpha beta"), row(ledger, "alpha gamma")]
    summary = row(ledger, "two events of last week: alpha beta, then alpha with gamma")
    keys = {source.key for source in sources}
    asked = [probe(source.key, "alpha") for source in sources]
    assert answered_by(summary.key, asked, seen_in(ledger), sources=keys, top=1) == keys
    assert answered_by(summary.key, asked[:1], seen_in(ledger), sources=keys, top=1) == set()
    assert answered_by(summary.key, asked[:1], seen_in(ledger), sources=keys, top=2) == {sources[0].key}
