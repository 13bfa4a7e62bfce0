"""Withdrawn texts beside plans, proposals and edits: what waits stays waiting, what is barred stays barred."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User

from access.models import CandidatePolicy, Group
from access.tokens import operator
from maintenance.embeddings.backfill import embed_owed
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.restore import carry_out
from memories.lifecycle.verbs import approve, pin, reject, retract, verify
from memories.models import Memory, Tombstone, Unprobed
from memories.recall import RecallRequest, recall
from memories.sessions.context_pack import get_context
from memories.types import State, Trust
from tests.memories.builders import fresh, keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "Kestrel is the third boat of the harbour fleet."
NOW_TRUE, PLANNED = "Kestrel sails on Mondays from quay 4.", "Kestrel sails on Fridays from quay 9."


def test_a_coming_successor_is_not_told_where_its_text_was_withdrawn(
    alice: User, ledger: Group, garden: Group
) -> None:
    later = datetime.now(UTC) + timedelta(days=30)
    old = kept(person(alice), NOW_TRUE, group="garden", scope="global")
    coming = kept(person(alice), PLANNED, group="garden", scope="global", supersedes=old.id, valid_from=later)
    pin(person(alice), coming.id)
    Memory.objects.filter(key=old.key).update(pinned=True)
    retract(person(alice), kept(person(alice), PLANNED, group="ledger", scope="group").id)
    for group, is_told in (("garden", True), ("ledger", False)):
        [item] = recall(person(alice), RecallRequest("When does Kestrel sail?", group=group)).items
        assert item.memory == fresh(old)
        assert (item.coming == coming) is is_told
        [item] = recall(person(alice), RecallRequest("", ids=(str(old.id),), group=group)).items
        assert (item.coming == coming) is is_told
        assert (PLANNED in get_context(person(alice), group=group).text) is is_told


def test_what_counts_until_a_plan_is_left_out_where_it_was_withdrawn(
    alice: User, ledger: Group, garden: Group
) -> None:
    later = datetime.now(UTC) + timedelta(days=30)
    old = kept(person(alice), NOW_TRUE, group="garden", scope="global")
    plan = keep(person(alice), PLANNED, group="garden", scope="global", supersedes=old.id, valid_from=later)
    retract(person(alice), kept(person(alice), f"{NOW_TRUE[:-1]}!", group="ledger", scope="group").id)
    found = {
        group: [
            i.memory.id
            for i in recall(person(alice), RecallRequest("When does Kestrel sail?", group=group)).items
        ]
        for group in ("garden", "ledger")
    }
    assert plan.memory is not None
    assert found == {"garden": [old.id], "ledger": [plan.memory.id]}  # the plan was not withdrawn


def test_a_rejected_memory_stays_barred_when_its_retraction_is_taken_back(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), TEXT, group="ledger")
    reject(person(alice), memory.id, reason="rented")
    retract(person(alice), memory.id)
    carry_out(person(alice), fresh(memory), reason="", dry_run=False)
    assert fresh(memory).trust == Trust.REJECTED
    assert Tombstone.objects.get(lifted_at=None).kind == "rejected"
    assert keep(agent(alice), TEXT, group="ledger").outcome == "refused"


def test_approving_another_text_of_a_chain_leaves_the_rejected_one_barred(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), TEXT, group="ledger")
    reject(person(alice), memory.id)
    corrected = edit(person(alice), memory.id, EditDraft(content="Osprey moors at quay 12 in winter.")).memory
    approve(person(alice), corrected.id)
    assert fresh(corrected).trust == Trust.ACTIVE
    assert keep(agent(alice), TEXT, group="ledger").outcome == "refused"


def test_a_candidate_does_not_count_by_an_edit_without_a_vector(
    alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    retract(person(alice), kept(person(alice), TEXT, group="ledger").id)
    Group.objects.filter(key=ledger.key).update(policy=CandidatePolicy.AGENTS)
    candidate = keep(agent(alice), "Tea is served at four.", group="ledger").memory
    assert candidate is not None
    assert candidate.trust == Trust.CANDIDATE
    with monkeypatch.context() as patch:
        patch.setattr("memories.lifecycle.edit.available_encoder", lambda: None)
        new = edit(agent(alice), candidate.id, EditDraft(content="Tea is served at five.")).memory
    embed_owed(operator())
    assert fresh(new).trust == Trust.CANDIDATE
    assert not Unprobed.objects.exists()


def test_an_edit_without_a_vector_waits_and_counts_after_the_comparison(
    alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    retract(person(alice), kept(person(alice), TEXT, group="ledger").id)
    memory = kept(person(alice), "Tea is served at four.", group="ledger")
    with monkeypatch.context() as patch:
        patch.setattr("memories.lifecycle.edit.available_encoder", lambda: None)
        edited = edit(agent(alice), memory.id, EditDraft(content="Coffee is served at five."))
    assert (edited.outcome, fresh(memory).state) == ("queued", State.LIVE)
    embed_owed(operator())
    assert fresh(edited.memory).trust == Trust.ACTIVE
    assert fresh(memory).state == State.SUPERSEDED


def test_a_superseded_text_does_not_count_again_if_it_was_withdrawn_in_other_dress(
    alice: User, ledger: Group
) -> None:
    old = kept(person(alice), TEXT, group="ledger")
    head = kept(person(alice), "Kestrel was sold last year.", group="ledger", supersedes=old.id)
    waiting = keep(agent(alice), TEXT, group="ledger")
    assert waiting.outcome == "queued"
    retract(person(alice), kept(person(alice), f"* {TEXT[:-1]}", group="ledger", type="procedural").id)
    retract(person(alice), head.id)
    again = keep(agent(alice), TEXT, group="ledger")
    assert again.memory is not None
    assert fresh(again.memory).trust == Trust.CANDIDATE


def test_what_a_person_verified_meanwhile_is_not_replaced_by_the_worker(
    alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    retract(person(alice), kept(person(alice), TEXT, group="ledger").id)
    old = kept(person(alice), "Tea is served at four.", group="ledger")
    with monkeypatch.context() as patch:
        patch.setattr("memories.store.prepare.available_encoder", lambda: None)
        new = keep(agent(alice), "Coffee is served at five.", group="ledger", supersedes=old.id).memory
    assert new is not None
    verify(person(alice), old.id)
    embed_owed(operator())
    assert (fresh(new).trust, fresh(old).state) == (Trust.CANDIDATE, State.LIVE)
