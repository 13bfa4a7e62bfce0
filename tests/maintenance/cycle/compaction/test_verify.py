"""Probes: queries of a source's distinctive words, which its summary must answer."""

from collections import Counter

import numpy as np
import pytest

from access.models import Group
from access.visibility import Visibility
from maintenance.cycle.compaction.verify import (
    SourceQuery,
    distinctive_words,
    find_replaceable_sources,
    make_probes,
    select_answerable_probes,
    select_promising_probes,
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


def test_probes_use_rare_words_and_no_stop_words() -> None:
    spread = Counter({"the": 9, "server": 9, "restart": 3, "tuesday": 1})
    assert distinctive_words("The server restart of Tuesday", spread, total=9) == (
        "tuesday",
        "restart",
        "server",
    )


def test_a_probe_has_six_words_at_most() -> None:
    assert len(distinctive_words("one two three four five six seven eight", Counter(), total=9)) == 6


def test_a_text_of_stop_words_is_probed_with_them() -> None:
    assert distinctive_words("to be or not to be", Counter(), total=1)[:2] == ("to", "be")


@pytest.mark.django_db
def test_a_source_without_a_vector_or_words_has_no_probe(ledger: Group) -> None:
    words, silent, owed = row(ledger, "alpha beta"), row(ledger, "…!"), row(ledger, "gamma")
    vectors = {words.key: EAST, silent.key: EAST}
    probes = make_probes([words, silent, owed], vectors, around=["alpha beta", "gamma"])
    assert [(each.source, each.match.terms) for each in probes] == [(words.key, ("alpha", "beta"))]


def test_half_of_the_words_and_a_close_piece_are_needed() -> None:
    one, other = probe(1, "alpha", "beta"), probe(2, "gamma", "delta", "omega")
    near = np.stack([NORTH, EAST])
    assert select_promising_probes([one, other], "Alpha and gamma", near, cosine=0.9) == [one]
    assert select_promising_probes([one, other], "Alpha and gamma", NORTH[None, :], cosine=0.9) == []
    assert select_promising_probes([one, other], "Betas, gammas and deltas", near, cosine=0.9) == [one, other]


@pytest.mark.django_db
def test_a_source_that_is_not_found_itself_proves_nothing(ledger: Group) -> None:
    found, hidden = row(ledger, "alpha beta"), row(ledger, "gamma delta", state="forgotten")
    probes = [probe(found.key, "alpha"), probe(hidden.key, "gamma")]
    assert select_answerable_probes(probes, seen_in(ledger), top=10) == probes[:1]


@pytest.mark.django_db
def test_only_replaced_sources_leave_the_ranking(ledger: Group) -> None:
    """With `top=1`, the summary ranks first only if all sources go; one that stays ranks above it."""
    sources = [row(ledger, "alpha beta"), row(ledger, "alpha gamma")]
    summary = row(ledger, "two events of last week: alpha beta, then alpha with gamma")
    keys = {source.key for source in sources}
    asked = [probe(source.key, "alpha") for source in sources]
    assert find_replaceable_sources(summary.key, asked, seen_in(ledger), sources=keys, top=1) == keys
    assert find_replaceable_sources(summary.key, asked[:1], seen_in(ledger), sources=keys, top=1) == set()
    assert find_replaceable_sources(summary.key, asked[:1], seen_in(ledger), sources=keys, top=2) == {
        sources[0].key
    }
