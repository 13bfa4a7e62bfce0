"""The withdrawn texts in memory: what refresh() reads again, and what it costs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.actor import Actor
from access.models import Group
from memories.draft import Draft
from memories.lifecycle.verbs import retract
from memories.models import IndexChange, Memory, Piece
from memories.store import store
from memories.store.neighbours import ComparedText, WithdrawnTexts
from memories.store.pieces import as_vector
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


def test_a_list_of_changes_cut_meanwhile_reads_everything_again(actor: Actor, ledger: Group) -> None:
    first, second = stored(actor, BACKUP), stored(actor, "Tea is served at four.")
    texts = texts_of(first)
    retract(actor, first.id)
    texts.refresh()
    retract(actor, second.id)
    newest = IndexChange.objects.latest("seq").seq
    stored(actor, "The office closes at six.")
    IndexChange.objects.filter(seq__lte=newest).delete()
    assert texts.refresh() == {first.key, second.key}
    assert found(texts, second) == [second.key]
