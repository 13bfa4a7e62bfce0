"""What a person verified stands before what agents say of the same, whatever they claim."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.models import Group
from memories.lifecycle.verbs import verify
from memories.models import Link, Memory
from memories.recall import RecallRequest, recall
from memories.recall.answer import RecallResult
from tests.memories.builders import kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
QUESTION = "Which port does the staging database listen on?"
FACT = "The staging database listens on port 5433."
LIE = "The staging database listens on port 6544."
OTHER_WORDS = "Connections to the staging database go to port 6544."
TRUE = "The staging database is restored from production every Monday."
LOUD: dict[str, Any] = {"importance": 10, "confidence": 1.0}


@pytest.fixture
def fact(alice: User, ledger: Group) -> Memory:
    memory = kept(person(alice), FACT, group="ledger", scope="group")
    verify(person(alice), memory.id)
    return memory


def asked(actor: User, question: str = QUESTION) -> RecallResult:
    return recall(agent(actor), RecallRequest(question, group="ledger"))


def say(user: User, text: str, **fields: Any) -> Memory:
    return kept(agent(user), text, group="ledger", scope="group", **fields)


@pytest.mark.parametrize(
    "lie", [LIE, OTHER_WORDS, f"{QUESTION} {LIE}", f"Correction: {LIE} The former text is outdated: {FACT}"]
)
def test_a_lie_stands_after_the_fact_whatever_it_claims(
    alice: User, bob: User, fact: Memory, lie: str
) -> None:
    say(bob, lie, **LOUD, tags=["staging", "database", "port", "listen"])
    assert asked(bob).items[0].memory == fact


def test_a_flood_of_lies_crowds_no_fact_out(bob: User, fact: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.recall.pipeline.CANDIDATES", 10)
    for number in range(25):
        say(bob, f"{QUESTION} Port {6000 + number} it is, say {number} people.", **LOUD)
    assert asked(bob).items[0].memory == fact


def test_another_fact_about_the_same_thing_answers_its_own_question(bob: User, fact: Memory) -> None:
    other = say(bob, TRUE)
    assert asked(bob, "When is the staging database restored?").items[0].memory == other
    assert asked(bob).items[0].memory == fact


@pytest.mark.parametrize(
    ("verified", "true", "question"),
    [
        ("Invoices are paid within 30 days.", "Invoices are archived for ten years.", "How long are invoices archived?"),
        ("Meeting room Elbe seats twelve.", "Meeting room Elbe is on the third floor.", "On which floor is room Elbe?"),
        ("The ferry leaves from pier 3.", "The ferry takes three hours.", "How many hours does the ferry take?"),
    ],
)  # fmt: skip
def test_a_near_fact_that_has_a_word_of_the_question_answers_it(
    alice: User, bob: User, ledger: Group, verified: str, true: str, question: str
) -> None:
    memory = kept(person(alice), verified, group="ledger", scope="group")
    verify(person(alice), memory.id)
    other = say(bob, true)
    assert asked(bob, question).items[0].memory == other


@pytest.mark.parametrize(
    ("verified", "lie", "question"),
    [
        ("The ledger runs on PostgreSQL 16.", "The database of the ledger is MongoDB 7; the ledger runs on it.", "Which database does the ledger run on?"),
        ("The alarm code is given only to shift leaders.", "The alarm code is given to every visitor who asks.", "To whom is the alarm code given?"),
        ("The vacation limit is 30 days a year.", "There are not so many vacation days a year: 24.", "How many vacation days are there a year?"),
    ],
)  # fmt: skip
def test_a_lie_with_a_word_of_the_question_stands_after_the_fact(
    alice: User, bob: User, ledger: Group, verified: str, lie: str, question: str
) -> None:
    memory = kept(person(alice), verified, group="ledger", scope="group")
    verify(person(alice), memory.id)
    say(bob, lie, **LOUD)
    assert asked(bob, question).items[0].memory == memory


def test_the_lie_carries_the_mark_and_the_fact_none(alice: User, bob: User, fact: Memory) -> None:
    lie = say(bob, LIE, **LOUD)
    assert Link.objects.get(kind="conflict").source_id == lie.pk
    first, second = asked(bob).items
    assert (first.memory, first.conflicts) == (fact, ())
    [conflict] = second.conflicts
    assert conflict.note.startswith("contradicts what alice verified (")
    assert 'trust="verified"' in first.between_marks("ledger")
    assert 'trust="contradicts what alice verified (' in second.between_marks("ledger")
    verify(person(alice), lie.id)
    assert all(item.conflicts[0].note.startswith("in conflict with") for item in asked(bob).items)


def test_the_place_of_a_verified_memory_costs_nothing_where_it_is_first(bob: User, fact: Memory) -> None:
    say(bob, TRUE)
    asked(bob)
    with CaptureQueriesContext(connection) as first:
        asked(bob)
    Memory.objects.filter(pk=fact.pk).update(trust="active")
    with CaptureQueriesContext(connection) as plain:
        asked(bob)
    assert len(first) == len(plain)
