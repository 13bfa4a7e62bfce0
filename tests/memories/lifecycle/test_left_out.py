"""A withdrawal says what else it hides, and no face says that recall returns what it leaves out."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from access.errors import Conflict
from access.models import CandidatePolicy, Group
from memories.admin.memory_page import recall_verdict
from memories.browse.inspection import explain_for, inspect_memory
from memories.lifecycle.target import ChangeResult
from memories.lifecycle.verbs import approve, reject, retract, verify
from memories.models import Memory, Tombstone
from memories.recall import RecallRequest, recall
from tests.memories.builders import fresh, keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The VPN gateway lives in Frankfurt since spring."
QUESTION = "Where does the VPN gateway live?"


@pytest.fixture
def pair(alice: User, ledger: Group) -> tuple[Memory, Memory]:
    """A live memory, and a candidate with its text in other dress."""
    live = kept(person(alice), TEXT, group="ledger")
    Group.objects.filter(pk=ledger.pk).update(policy=CandidatePolicy.AGENTS)
    waiting = keep(agent(alice), f"\U0001f44d {TEXT}", group="ledger").memory
    assert waiting is not None
    return live, waiting


def found(alice: User) -> list[str]:
    """What recall returns in the ledger."""
    answer = recall(person(alice), RecallRequest(QUESTION, group="ledger"))
    return [item.memory.content for item in answer.items]


def test_withdrawing_a_text_tells_what_else_recall_leaves_out(
    alice: User, pair: tuple[Memory, Memory]
) -> None:
    live, waiting = pair
    assert found(alice) == [TEXT]
    preview = retract(person(alice), waiting.id, dry_run=True).consequences
    assert f"recall leaves out {live.id} too: the same text in other dress" in preview
    assert retract(person(alice), waiting.id).consequences == preview
    assert found(alice) == []


def test_the_reason_of_what_is_left_out_is_given(alice: User, pair: tuple[Memory, Memory]) -> None:
    live, waiting = pair
    assert "ranks 1" in explain_for(person(alice), live, QUESTION).reason
    retract(person(alice), waiting.id)
    why = explain_for(person(alice), fresh(live), QUESTION)
    assert (why.rank, why.reason) == (None, "recall leaves it out: its text was withdrawn in this group")
    assert inspect_memory(person(alice), live.id).recall_treatment == "hide"
    verdict = recall_verdict(person(alice), fresh(live))
    assert (verdict.action, verdict.because) == ("hide", "its text was withdrawn in this group")


@pytest.mark.parametrize("verb", [approve, verify])
def test_nothing_is_let_in_that_recall_would_leave_out(
    alice: User, ledger: Group, verb: Callable[..., ChangeResult]
) -> None:
    Group.objects.filter(pk=ledger.pk).update(policy=CandidatePolicy.AGENTS)
    first, second = (keep(agent(alice), text, group="ledger").memory for text in (TEXT, f"\U0001f44d {TEXT}"))
    assert first is not None
    assert second is not None
    reject(person(alice), first.id)
    mark = Tombstone.objects.get()
    with pytest.raises(Conflict) as error:
        verb(person(alice), second.id)
    assert str(mark.id) in error.value.hint
    assert fresh(second).trust == "candidate"
    approve(person(alice), first.id)  # takes its own rejection back
    verb(person(alice), second.id)
    assert found(alice)
