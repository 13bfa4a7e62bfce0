"""A withdrawal says what else it hides, and no face says that recall returns what it leaves out."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.audit import collecting_rows
from access.errors import Conflict, NotPermitted
from access.models import CandidatePolicy, Group
from memories.admin.memory_page import recall_verdict
from memories.browse.inspection import explain_for, inspect_memory
from memories.lifecycle.target import ChangeResult
from memories.lifecycle.undo import undo_id_of, undo_write
from memories.lifecycle.verbs import approve, pin, purge, reject, retract, verify
from memories.models import Memory, Tombstone
from memories.recall import RecallRequest, recall
from memories.sessions.conversations.change import purge as purge_conversation
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


ESCAPED = "The VPN gateway lives in \\u0046rankfurt since spring."
# What an agent stores of its own: another type, scope or dress of a text that a person stands behind.
TWINS: list[tuple[str, dict[str, Any]]] = [
    (TEXT, {"type": "episodic"}),
    (TEXT, {"type": "procedural"}),
    (TEXT, {"scope": "global"}),
    (f"**{TEXT.lower()}**", {"type": "episodic"}),
    (f"**{TEXT.lower()}**", {"type": "procedural"}),
    (f"**{TEXT.lower()}**", {"type": "entity"}),
    (f"**{TEXT.lower()}**", {"scope": "global"}),
    (f"\U0001f32c {TEXT}", {}),
    (f"{TEXT} {TEXT}", {}),
]


@pytest.mark.parametrize(
    ("protecting", "policy"),
    [(verify, CandidatePolicy.NONE), (pin, CandidatePolicy.NONE), (verify, CandidatePolicy.AGENTS)],
)
@pytest.mark.parametrize(("text", "fields"), TWINS)
def test_an_agent_hides_nothing_that_a_person_stands_behind(
    alice: User,
    ledger: Group,
    text: str,
    fields: dict[str, Any],
    protecting: Callable[..., ChangeResult],
    policy: str,
) -> None:
    live = kept(person(alice), TEXT, group="ledger")
    protecting(person(alice), live.id)
    Group.objects.filter(pk=ledger.pk).update(policy=policy)
    helper = agent(alice, scopes=("read", "write", "curate"))
    twin = keep(helper, text, group="ledger", **fields).memory
    assert twin is not None
    assert twin.id != live.id
    done = retract(helper, twin.id)
    assert str(live.id) in done.queued
    with pytest.raises(NotPermitted, match=str(live.id)):
        purge(helper, twin.id)
    assert not Tombstone.objects.exists()
    preview = retract(person(alice), twin.id, dry_run=True).consequences
    assert any(str(live.id) in line for line in preview)
    assert any(str(live.id) in line for line in purge(person(alice), twin.id, dry_run=True).consequences)


def test_nor_by_a_wording_that_went_into_it(alice: User, ledger: Group) -> None:
    live = kept(person(alice), TEXT, group="ledger")
    verify(person(alice), live.id)
    helper = agent(alice)
    keep(helper, "the VPN GATEWAY lives in Frankfurt since spring", group="ledger")
    wording = Memory.objects.get(state="merged")
    assert str(live.id) in retract(helper, wording.id).queued
    preview = retract(person(alice), wording.id, dry_run=True).consequences
    assert f"recall leaves out {live.id} too: the same text in other dress" in preview
    assert not any("is not affected" in line for line in preview)
    assert found(alice) == [TEXT]


def test_nor_by_what_the_escapes_of_it_say(alice: User, ledger: Group) -> None:
    live = kept(person(alice), ESCAPED, group="ledger")
    verify(person(alice), live.id)
    twin = kept(agent(alice), TEXT, group="ledger")
    assert str(live.id) in retract(agent(alice), twin.id).queued


def test_nor_in_another_group(alice: User, ledger: Group, garden: Group) -> None:
    live = kept(person(alice), TEXT, group="ledger", scope="global")
    helper = agent(alice)
    Group.objects.filter(pk=ledger.pk).update(policy=CandidatePolicy.ALL)
    twin = kept(helper, TEXT, group="garden", scope="group", type="procedural")
    assert not retract(helper, twin.id, dry_run=True).queued  # the policy of the other group does not count
    verify(person(alice), live.id)
    assert str(live.id) in retract(helper, twin.id).queued
    lines = retract(person(alice), twin.id).consequences  # a person of the group decides for the group
    assert f"recall leaves out {live.id} too: the same text" in lines


def test_nor_by_undoing_an_undo(alice: User, ledger: Group) -> None:
    helper = agent(alice)
    live, twin = kept(person(alice), TEXT, group="ledger"), kept(helper, f"\U0001f32c {TEXT}", group="ledger")
    with collecting_rows() as rows:
        retract(helper, twin.id)
    with collecting_rows() as undone:
        undo_write(helper, undo_id_of(helper, rows))
    verify(person(alice), live.id)
    with pytest.raises(Conflict, match=str(live.id)):
        undo_write(helper, undo_id_of(helper, undone))
    assert TEXT in found(alice)


def test_rejecting_what_is_quarantined_hides_no_memory_that_counts(
    alice: User, pair: tuple[Memory, Memory]
) -> None:
    _live, waiting = pair
    Memory.objects.filter(pk=waiting.pk).update(trust="quarantined")  # as the guard does
    reject(person(alice), waiting.id)
    assert not Tombstone.objects.exists()
    assert found(alice) == [TEXT]


@pytest.mark.parametrize("text", [TEXT, f"**{TEXT.lower()}**"])
def test_nor_by_purging_a_conversation_that_says_it(alice: User, ledger: Group, text: str) -> None:
    live = kept(person(alice), TEXT, group="ledger")
    verify(person(alice), live.id)
    helper = agent(alice, scopes=("read", "write", "curate"))
    turn = kept(helper, text, group="ledger", thread="t", type="procedural")
    assert turn.thread is not None
    for dry_run in (True, False):
        with pytest.raises(NotPermitted, match=str(live.id)):
            purge_conversation(helper, turn.thread.id, dry_run=dry_run)
    lines = purge_conversation(person(alice), turn.thread.id, dry_run=True).consequences
    assert any(str(live.id) in line for line in lines)
    assert TEXT in found(alice)
