"""An answer has no padding: what is far below the best is left out, unless the caller names how many it wants."""

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.embedding import Encoder
from memories.recall import RecallRequest, RecallResult, recall
from tests.memories.builders import NOTES_BESIDE, PORT_NOTE, PORT_QUESTION, kept
from tests.people import person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]

FAR = "it is far below the best (a request that names max_results gets it)"


@pytest.fixture
def asked(alice: User, ledger: Group, encoder: Encoder) -> None:
    for text in (*NOTES_BESIDE, PORT_NOTE):
        kept(person(alice), text, group="ledger")


def answer(alice: User, max_results: int | None = None) -> RecallResult:
    request = RecallRequest(
        PORT_QUESTION,
        group="ledger",
        max_results=max_results,
        explain=True,
    )
    return recall(person(alice), request)


@pytest.mark.usefixtures("asked")
def test_what_is_far_below_the_best_is_left_out_with_its_reason(alice: User) -> None:
    found = answer(alice)
    assert "8081" in found.items[0].text
    assert len(found.items) == 3, [item.text for item in found.items]
    assert found.trace
    assert FAR in found.trace.dropped.values()


@pytest.mark.usefixtures("asked")
def test_a_caller_who_names_a_number_gets_it(alice: User) -> None:
    found = answer(alice, max_results=5)
    assert len(found.items) == 5
    assert found.trace
    assert FAR not in found.trace.dropped.values()


@pytest.mark.usefixtures("asked")
def test_a_question_that_collects_gets_what_is_far(alice: User) -> None:
    request = RecallRequest("What do we know about the deploy port?", group="ledger", explain=True)
    found = recall(person(alice), request)
    assert found.collects
    assert found.trace
    assert FAR not in found.trace.dropped.values()
    assert len(found.items) > 3
