"""The withdrawn texts in memory: what refresh() reads again, and what it costs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from access.actor import Actor
from access.models import Group
from memories.draft import Draft
from memories.lifecycle.verbs import approve, reject, retract
from memories.models import Memory, Piece
from memories.store import store
from memories.store.neighbours import ComparedText
from memories.store.pieces import as_vector
from memories.store.withdrawn.marks import find_withdrawn
from memories.store.withdrawn.near import WithdrawnTexts, is_probed, read_withdrawn
from memories.types import State
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
BACKUP = "The nightly backup goes to the NAS."


@pytest.fixture
def actor(alice: User) -> Actor:
    return replace(person(alice), default_group="ledger")


def stored(actor: Actor, text: str, **fields: Any) -> Memory:
    memory = store(actor, Draft(text, scope="group", **fields)).memory
    assert memory is not None
    return memory


def texts_of(memory: Memory) -> WithdrawnTexts:
    return WithdrawnTexts(memory.group_id, Piece.objects.filter(memory=memory).get().model)


def found(texts: WithdrawnTexts, memory: Memory, **options: Any) -> list[int]:
    """The keys of the withdrawn neighbours of a memory's own text."""
    vector = as_vector(Piece.objects.get(memory=memory).embedding)
    [neighbours] = texts.neighbours([(ComparedText(memory.content, memory.type), vector)], **options)
    return [neighbour.memory.key for neighbour in neighbours]


def queries(work: Callable[[], Any]) -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        work()
    return [query["sql"] for query in captured.captured_queries]


def test_a_refresh_names_what_was_withdrawn_since(actor: Actor, ledger: Group) -> None:
    first, second = stored(actor, BACKUP), stored(actor, "Tea is served at four.")
    texts = texts_of(first)
    retract(actor, first.id)
    assert texts.refresh() == {first.key}
    retract(actor, second.id)
    assert texts.refresh() == {second.key}
    assert texts.refresh() == frozenset()
    assert (found(texts, first), found(texts, second)) == ([first.key], [second.key])
    assert found(texts, first, among={second.key}) == []
    assert found(texts, first, among={first.key}) == [first.key]
    assert found(texts, first, among=()) == []


def test_a_text_that_is_live_again_is_dropped(actor: Actor, ledger: Group) -> None:
    first = stored(actor, BACKUP)
    texts = texts_of(first)
    retract(actor, first.id)
    texts.refresh()
    Memory.objects.filter(key=first.key).update(state=State.LIVE)
    assert texts.refresh() == frozenset()
    assert found(texts, first) == []


def test_another_groups_own_texts_do_not_count(actor: Actor, ledger: Group, garden: Group) -> None:
    first = stored(actor, BACKUP)
    elsewhere = WithdrawnTexts(garden.key, Piece.objects.get(memory=first).model)
    stored(actor, "Tea is served at four.")
    elsewhere.refresh()
    retract(actor, first.id)
    assert elsewhere.refresh() == frozenset()


def test_nothing_new_costs_one_query_and_a_withdrawal_reads_its_own_vectors(
    actor: Actor, ledger: Group
) -> None:
    first, second = stored(actor, BACKUP), stored(actor, "Tea is served at four.")
    texts = texts_of(first)
    retract(actor, first.id)
    texts.refresh()
    assert len(queries(texts.refresh)) == 1
    retract(actor, second.id)
    [vectors] = [sql for sql in queries(texts.refresh) if '"embedding",' in sql]
    assert f'"memory_id" IN ({second.key})' in vectors


def test_a_rejected_text_counts_until_it_is_approved(actor: Actor, ledger: Group) -> None:
    first = stored(actor, BACKUP)
    texts = texts_of(first)
    reject(actor, first.id)
    assert texts.refresh() == {first.key}
    assert found(texts, first) == [first.key]
    approve(actor, first.id)
    assert texts.refresh() == frozenset()
    assert found(texts, first) == []


def test_a_vector_that_comes_later_is_found(actor: Actor, ledger: Group) -> None:
    first = stored(actor, BACKUP)
    piece = Piece.objects.get(memory=first)
    texts, model, vector = texts_of(first), piece.model, piece.embedding
    Piece.objects.filter(key=piece.key).update(embedding=None, model="")
    retract(actor, first.id)
    texts.refresh()
    assert not is_probed(ledger.key, "group", model)
    Piece.objects.filter(key=piece.key).update(embedding=vector, model=model)
    texts.refresh()
    assert found(texts, first) == [first.key]
    assert is_probed(ledger.key, "group", model)


def test_a_withdrawal_that_was_rolled_back_leaves_nothing_behind(actor: Actor, ledger: Group) -> None:
    first = stored(actor, BACKUP)
    with transaction.atomic():
        retract(actor, first.id)
        assert find_withdrawn(ledger, "group", BACKUP) is not None
        assert read_withdrawn(ledger.key).rows.keys() == {first.key}
        transaction.set_rollback(True)
    assert find_withdrawn(ledger, "group", BACKUP) is None
    assert read_withdrawn(ledger.key).rows == {}
