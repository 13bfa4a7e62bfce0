"""A second hop by name: the best answer says who "the author of …" is, and what names that person comes too."""

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.embedding import Encoder
from memories.lifecycle.verbs import retract
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.recall.pipeline import describes_person
from tests.memories.builders import kept
from tests.people import person

QUESTION = "On which afternoon is the author of ADR-14 never there?"


@pytest.mark.parametrize(
    "question",
    [
        QUESTION,
        "What is the phone extension of the person who leads the payments squad?",
        "Until when is Rosalind's stand-in away?",
        "Where does the new developer of the mobile app live?",
        "which hours does the one who looks after search keep",
    ],
)
def test_a_question_describes_a_person(question: str) -> None:
    assert describes_person(question)


@pytest.mark.parametrize(
    "question",
    [
        "Which port does the server use?",
        "Where does Maria Keller work?",
        "What does the contract of 2024 say?",
        "",
    ],
)
def test_others_do_not(question: str) -> None:
    assert not describes_person(question)


@pytest.fixture
def memories(alice: User, ledger: Group, encoder: Encoder) -> list[Memory]:
    texts = [
        "ADR-14, written by Catalina, moves the shop to server rendering.",
        "catalina coaches a rowing crew and is gone every wednesday after lunch",
        "ADR-12 moves the warehouse to another region.",
        "The meeting room is never free on Monday afternoon.",
        "Afternoon tea is there at four.",
        "There are never deploys on Friday afternoon.",
        "The authors of the handbook meet in the afternoon.",
        "On Thursday afternoon the office is empty.",
    ]
    return [kept(person(alice), text, group="ledger") for text in texts]


@pytest.mark.model
@pytest.mark.django_db(transaction=True)
def test_what_names_the_person_is_found(memories: list[Memory], alice: User) -> None:
    request = RecallRequest(QUESTION, group="ledger", explain=True)
    found = recall(person(alice), request)
    assert found.items[0].memory == memories[0]
    assert memories[1].key in {item.memory.key for item in found.items}
    assert found.trace is not None
    assert {"catalina"} <= {name for step in found.trace.steps for name in step.detail.get("names", ())}
    retract(person(alice), memories[1].id)
    again = recall(person(alice), request)
    assert memories[1].key not in {item.memory.key for item in again.items}
