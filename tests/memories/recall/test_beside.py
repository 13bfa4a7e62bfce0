"""Memories requested by key join the search hits: visible ones only, with their true scores."""

from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
import pytest
from django.db import transaction

from access.models import Group
from access.visibility import Visibility
from memories.models import Memory
from memories.queries.visibility import RECALLED
from memories.search.base import search_index
from memories.search.in_memory import sync as following
from memories.search.in_memory.sync import read_progress
from memories.search.query_terms import Match
from memories.search.rows import HybridHits
from tests.memories.builders import NOW, add_piece, row, unit_vector

pytestmark = pytest.mark.django_db(transaction=True)
MATCH = Match(("lighthouse",))
LIMIT = 3
IN_MEMORY = pytest.param(True, marks=pytest.mark.sqlite(reason="vectors in the memory of each process"))


@pytest.fixture(autouse=True)
def in_memory() -> Iterator[None]:
    """Each test begins with nothing in memory and the table in use."""
    following._followers.clear()
    following.load_table()
    yield
    following._followers.clear()


@pytest.fixture
def group() -> Group:
    return Group.objects.create(slug="ledger")


@pytest.fixture
def near(group: Group) -> list[Memory]:
    """Ten that both searches put first."""
    rows = [row(group, f"lighthouse {number}") for number in range(10)]
    for memory in rows:
        add_piece(memory, unit_vector(1))
    return rows


def find(group: Group, also: list[Memory], *, from_memory: bool) -> HybridHits:
    """Search by the vectors in memory, or by SQL as within a transaction."""
    seen = Visibility(frozenset({group.key}), True, frozenset({"live"}), RECALLED, NOW)
    with nullcontext() if from_memory else transaction.atomic():
        assert (following.current_table(read_progress()) is not None) is from_memory
        return search_index().find(
            MATCH, unit_vector(1), seen, limit=LIMIT, also=[memory.key for memory in also]
        )


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize("from_memory", [IN_MEMORY, False])
def test_what_is_far_comes_with_its_scores_in_both(group: Group, *, from_memory: bool) -> None:
    long = row(
        group, "Far off stands a lighthouse with very many more words beside it than any other one has."
    )
    add_piece(long, unit_vector(2))
    silent = row(group, "Nothing of the kind.")
    add_piece(silent, unit_vector(3))
    owed = row(group, "Without a vector.")
    found = find(group, [long, silent, owed], from_memory=from_memory)
    assert found.extra == (long.key, silent.key, owed.key)
    best = min(hit.score for hit in found.words)
    assert 0 < found.keyword[long.key] < best
    assert not {silent.key, owed.key} & found.keyword.keys()
    for memory, seed in ((long, 2), (silent, 3)):
        cosine = float(np.dot(unit_vector(1), unit_vector(seed)))
        assert found.vector[memory.key] == pytest.approx(cosine, abs=1e-4)
    assert owed.key not in found.vector


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize("from_memory", [IN_MEMORY, False])
def test_what_is_not_visible_does_not_come(group: Group, *, from_memory: bool) -> None:
    other = Group.objects.create(slug="garden")
    hidden = [
        row(other, "Another group's."),
        row(group, "Withdrawn.", state="retracted", retired_at=NOW),
        row(group, "Held back.", trust="quarantined"),
        row(group, "Over.", expires_at=NOW),
    ]
    shown = row(other, "Everybody's.", scope="global")
    for memory in (*hidden, shown):
        add_piece(memory, unit_vector(2))
    found = find(group, [*hidden, shown], from_memory=from_memory)
    assert found.extra == (shown.key,)
    assert found.keyword.keys() | found.vector.keys() == {shown.key, *_named(found)} - _named_by_both(found)


@pytest.mark.parametrize("from_memory", [IN_MEMORY, False])
def test_what_a_search_found_does_not_come_twice_and_the_rest_is_as_without(
    group: Group, near: list[Memory], *, from_memory: bool
) -> None:
    plain = find(group, [], from_memory=from_memory)
    first = plain.words[0].key
    found = find(group, [memory for memory in near if memory.key == first], from_memory=from_memory)
    assert (found.words, found.nearest, found.extra) == (plain.words, plain.nearest, ())


def _named(found: HybridHits) -> set[int]:
    return {hit.key for hit in (*found.words, *found.nearest)}


def _named_by_both(found: HybridHits) -> set[int]:
    return {hit.key for hit in found.words} & {hit.key for hit in found.nearest}
