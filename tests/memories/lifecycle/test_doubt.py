"""Doubt is a fact next to trust: who disputes a memory, why, and who settled it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.actor import Actor
from access.audit import collecting_rows
from access.errors import Conflict
from access.models import AuditEntry, Group
from memories.browse.listing import ListFilter, list_memories
from memories.draft import Draft, EditDraft
from memories.lifecycle import verbs
from memories.lifecycle.edit import edit
from memories.lifecycle.undo import undo_id_of, undo_write
from memories.models import Doubt, Memory, Proposal
from memories.queries.labels import label_of
from memories.recall import RecallRequest, recall
from memories.review.card import memory_card
from memories.review.decide import ReviewDecision, decide, take_back
from memories.review.queue import CardKind, review_deck
from memories.store import for_review, store
from tests.memories.builders import doubt, doubters, fresh, kept, row
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The deploy port is 8081."


@pytest.fixture
def memory(alice: User, ledger: Group) -> Memory:
    return kept(person(alice), TEXT, group="ledger", scope="group")


def score(actor: Any, memory: Memory) -> float:
    items = recall(actor, RecallRequest("Which is the deploy port?", group="ledger")).items
    return next(item.score for item in items if item.memory == memory)


@pytest.mark.parametrize("trust", ["active", "verified"])
def test_a_dispute_labels_and_leaves_trust_rank_and_protection_alone(
    alice: User, bob: User, memory: Memory, trust: str
) -> None:
    if trust == "verified":
        verbs.verify(person(alice), memory.id)
    before = score(agent(bob), memory)
    done = verbs.dispute(agent(bob), memory.id, reason="it is closed")
    assert (done.changed, done.trust, fresh(memory).trust) == (1, trust, trust)
    assert score(agent(bob), memory) == before
    label = f"disputed by {agent(bob).name}: it is closed"
    assert label_of(fresh(memory)) == (f"verified, {label}" if trust == "verified" else label)
    assert [(card.kind, card.id) for card in review_deck(person(alice)).cards] == [
        (CardKind.DISPUTED, memory.id)
    ]
    assert memory_card(person(alice), memory.id).reason == f"{agent(bob).name}: it is closed"
    assert (verbs.retract(agent(bob), memory.id).queued != "") == (trust == "verified")


def test_a_verified_memory_shows_that_it_is_and_who_disputes_it(
    alice: User, bob: User, memory: Memory
) -> None:
    verbs.verify(person(alice), memory.id)
    verbs.dispute(agent(bob), memory.id, reason='it is "closed" <now>')
    text = recall(agent(bob), RecallRequest("deploy port", group="ledger")).show()
    name = agent(bob).name
    assert f'trust="verified, disputed by {name}: it is &quot;closed&quot; &lt;now&gt;"' in text


def test_one_person_disputes_a_memory_once_whatever_the_token(alice: User, bob: User, memory: Memory) -> None:
    verbs.dispute(agent(bob, name="one"), memory.id)
    for actor in (agent(bob, name="one"), agent(bob, name="two"), person(bob)):
        with pytest.raises(Conflict, match=r"You have disputed .* already"):
            verbs.dispute(actor, memory.id)
    assert AuditEntry.objects.filter(operation="dispute").count() == 1
    verbs.dispute(agent(alice), memory.id)
    assert len(doubters(memory)) == 2
    assert label_of(fresh(memory)).endswith("and by 1 more")


@pytest.mark.parametrize(
    ("verb", "trust", "how"),
    [("verify", "verified", "verify"), ("approve", "active", "trust"), ("reject", "rejected", "trust"),
     ("quarantine", "quarantined", "trust"), ("retract", "active", "retract")],
)  # fmt: skip
def test_a_decision_settles_every_doubt(
    alice: User, bob: User, memory: Memory, verb: str, trust: str, how: str
) -> None:
    verbs.dispute(agent(bob), memory.id)
    verbs.dispute(person(alice), memory.id)
    verbs.VERBS[verb].apply(person(alice), memory.id, reason="looked")
    assert (fresh(memory).trust, doubters(memory)) == (trust, [])
    assert set(Doubt.objects.values_list("status", "settled_by", "how")) == {("settled", "alice", how)}


def test_a_verified_memory_stays_verified_when_it_is_right(alice: User, bob: User, memory: Memory) -> None:
    verbs.verify(person(alice), memory.id)
    verbs.dispute(agent(bob), memory.id)
    assert verbs.approve(person(alice), memory.id).consequences == (
        "it stays verified, and the dispute is settled",
    )
    assert (fresh(memory).trust, doubters(memory)) == ("verified", [])
    verbs.dispute(agent(bob), memory.id)
    verbs.verify(person(alice), memory.id)
    assert doubters(memory) == []


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_the_review_settles_a_doubt_and_opens_it_again(
    alice: User, bob: User, memory: Memory, verb: str
) -> None:
    verbs.verify(person(alice), memory.id)
    verbs.dispute(agent(bob), memory.id)
    done = decide(person(alice), ReviewDecision(verb, memory.id))
    assert doubters(memory) == []
    take_back(person(alice), done.entries)
    assert (fresh(memory).trust, doubters(memory)) == ("verified", [agent(bob).name])


def test_a_dispute_is_taken_back_by_its_author_though_others_dispute_it_too(
    alice: User, bob: User, memory: Memory
) -> None:
    actor = agent(bob)
    with collecting_rows() as rows:
        verbs.dispute(actor, memory.id)
        id_ = undo_id_of(actor, rows)
    verbs.dispute(person(alice), memory.id)
    assert undo_write(actor, id_).consequences == ("the dispute is taken back",)
    assert doubters(memory) == ["alice"]
    with pytest.raises(Conflict):
        undo_write(actor, id_)


def test_another_text_settles_the_doubt_about_the_old_one_unless_an_agent_edits(
    alice: User, bob: User, memory: Memory
) -> None:
    doubt(memory)
    edited = edit(agent(bob), memory.id, EditDraft(content="The deploy port is 8082.")).memory
    assert doubters(edited) == ["bob/claude"]
    edit(person(alice), memory.id, EditDraft(content="The deploy port is 8083."))
    assert doubters(memory) == []
    doubt(memory)
    store(agent(bob), Draft("The deploy port is 8084.", group="ledger", supersedes=str(memory.id)))
    assert doubters(memory) == []


def test_replacing_by_a_stored_memory_settles_the_doubt_too(
    alice: User, ledger: Group, memory: Memory
) -> None:
    other = row(ledger, "The deploy port is 8085.")
    verbs.supersede(person(alice), doubt(memory).id, other.id)
    assert doubters(memory) == []
    verbs.restore(person(alice), memory.id)
    assert (fresh(memory).state, doubters(memory)) == ("live", [])


def test_a_person_has_so_many_open_disputes_in_a_group_over_all_tokens(
    monkeypatch: pytest.MonkeyPatch, alice: User, bob: User, ledger: Group, memory: Memory
) -> None:
    monkeypatch.setattr(for_review, "MAX_OPEN", 2)
    others = [row(ledger, f"The port of lane {number} is {number}.") for number in range(3)]
    verbs.dispute(agent(bob, name="one"), others[0].id)
    verbs.dispute(agent(bob, name="two"), others[1].id)
    with pytest.raises(Conflict, match="2 disputes of yours are open in 'ledger'") as refused:
        verbs.dispute(agent(bob, name="three"), memory.id)
    assert "Ask a curator" in refused.value.hint
    verbs.dispute(agent(alice), memory.id)
    verbs.reject(person(alice), others[0].id)
    verbs.dispute(agent(bob, name="three"), memory.id)
    verbs.forget(person(alice), memory.id)
    verbs.dispute(agent(bob, name="three"), others[2].id)


def test_a_person_has_so_many_waiting_proposals_in_a_group_over_all_tokens(
    monkeypatch: pytest.MonkeyPatch, alice: User, bob: User, ledger: Group, memory: Memory
) -> None:
    monkeypatch.setattr(for_review, "MAX_OPEN", 2)
    verbs.verify(person(alice), memory.id)
    one = agent(bob, name="one")
    assert verbs.forget(one, memory.id).queued
    assert verbs.retract(agent(bob, name="two"), memory.id).queued
    assert verbs.forget(one, memory.id).queued, "the same one again is the one that waits"
    with pytest.raises(Conflict, match="2 proposals of yours wait in 'ledger'"):
        verbs.forget(agent(bob, name="three"), memory.id)
    assert Proposal.objects.count() == 2


def test_lists_find_what_is_disputed(alice: User, ledger: Group) -> None:
    doubted, verified = doubt(row(ledger, "one")), doubt(row(ledger, "two", trust="verified"))
    row(ledger, "three")

    def listed(*trusts: str) -> set[Memory]:
        return {*list_memories(person(alice), ListFilter(group="ledger", trusts=trusts)).rows}

    assert listed("disputed") == {doubted, verified}
    assert listed("disputed", "verified") == {verified}


def test_a_person_has_so_many_waiting_replacements_in_a_group_over_all_tokens(
    monkeypatch: pytest.MonkeyPatch, alice: User, bob: User, ledger: Group
) -> None:
    monkeypatch.setattr(for_review, "MAX_OPEN", 2)
    facts = [row(ledger, f"Lane {number} is served by gate {number}.") for number in range(3)]
    for fact in facts:
        verbs.verify(person(alice), fact.id)

    def replace(number: int) -> Memory:
        text = f"Lane {number} closes at {number + 18}:00."
        draft = Draft(text, group="ledger", supersedes=str(facts[number].id))
        return store(agent(bob, name=f"token {number}"), draft).memory

    waiting = [replace(0), replace(1)]
    with pytest.raises(Conflict, match="2 replacements of yours wait in 'ledger'"):
        replace(2)
    verbs.retract(agent(bob), waiting[0].id)
    assert replace(2).trust == "candidate"


def written(actor: Actor, call: Callable[[], object]) -> str:
    """The undo id of what a call writes."""
    with collecting_rows() as rows:
        call()
        return undo_id_of(actor, rows)


@pytest.mark.parametrize(
    ("kind", "write"),
    [
        ("disputes", lambda actor, fact: verbs.dispute(actor, fact.id)),
        ("proposals", lambda actor, fact: verbs.forget(actor, fact.id)),
        (
            "replacements",
            lambda actor, fact: store(
                actor, Draft(f"Not so: {fact.content}", group="ledger", supersedes=str(fact.id))
            ),
        ),
    ],
)
def test_what_an_undo_opens_again_counts_too(
    monkeypatch: pytest.MonkeyPatch,
    alice: User,
    bob: User,
    ledger: Group,
    kind: str,
    write: Callable[[Actor, Memory], object],
) -> None:
    monkeypatch.setattr(for_review, "MAX_OPEN", 2)
    facts = [row(ledger, f"Gate {number} opens at {number + 5}:00.", trust="verified") for number in range(4)]
    actor = agent(bob)

    def undo(id_: str) -> str:
        return written(actor, lambda: undo_write(actor, id_))

    taken_back = [undo(written(actor, lambda fact=fact: write(actor, fact))) for fact in facts[:2]]
    waiting = [written(actor, lambda fact=fact: write(actor, fact)) for fact in facts[2:]]
    with pytest.raises(Conflict, match=f"2 {kind} of yours .* in 'ledger'"):
        undo(taken_back[0])
    undo(waiting[0])
    undo(taken_back[0])
    with pytest.raises(Conflict, match=f"2 {kind} of yours .* in 'ledger'"):
        undo(taken_back[1])
    monkeypatch.setattr(for_review, "MAX_OPEN", 1)  # more are open than may be, as after an import
    undo(waiting[1])


def test_a_dispute_that_returns_with_its_memory_counts_too(
    monkeypatch: pytest.MonkeyPatch, alice: User, bob: User, ledger: Group, memory: Memory
) -> None:
    monkeypatch.setattr(for_review, "MAX_OPEN", 1)
    verbs.dispute(agent(bob), memory.id)
    verbs.forget(agent(bob), memory.id)
    other = row(ledger, "The port of lane 7 is 7.")
    verbs.dispute(agent(bob), other.id)
    with pytest.raises(Conflict, match="1 disputes of yours are open in 'ledger'"):
        verbs.restore(agent(bob), memory.id)
    verbs.restore(person(alice), memory.id)
