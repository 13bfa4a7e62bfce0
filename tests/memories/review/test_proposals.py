"""Proposals: what agents may only propose, what approving does, and how both are undone."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.actor import Actor
from access.audit.verify import is_log_whole
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.models import AuditEntry, Group
from access.tokens import operator
from maintenance.retention import enforce_retention
from memories.lifecycle import verbs
from memories.lifecycle.edit import EditDraft, edit
from memories.models import Memory, Proposal, Tombstone
from memories.recall import RecallRequest, recall
from memories.review.card import proposal_card
from memories.review.decide import ReviewDecision, decide, take_back
from memories.review.preview import preview_effect
from memories.review.proposals import ProposalOut, list_proposals
from memories.review.queue import review_deck
from memories.store.policy import RULES, ActorKind, Change, Treatment, judge_change
from tests.memories.builders import fresh, keep, kept, pin_as_before, row
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT, OTHER = "The deploy port of the ledger is 8082.", "The ledger team meets on Monday at nine."
PAST = datetime(2020, 1, 1, tzinfo=UTC)
SOON = datetime(2030, 1, 1, tzinfo=UTC)

Act = Callable[[Actor, Memory, Memory], Any]
ACTS: dict[str, Act] = {
    "forget": lambda actor, memory, _: verbs.forget(actor, memory.id),
    "retract": lambda actor, memory, _: verbs.retract(actor, memory.id),
    "retract with a text": lambda actor, memory, _: verbs.retract(
        actor, memory.id, successor="The deploy port of the ledger is 8443."
    ),
    "supersede": lambda actor, memory, other: verbs.supersede(actor, memory.id, other.id),
    "merge": lambda actor, memory, other: verbs.merge(actor, memory.id, other.id),
    "expire": lambda actor, memory, _: edit(actor, memory.id, EditDraft(expires_at=SOON)),
    "label": lambda actor, memory, _: edit(actor, memory.id, EditDraft(tags=("x",))),
    "date": lambda actor, memory, _: edit(actor, memory.id, EditDraft(valid_from=PAST)),
    "edit": lambda actor, memory, _: edit(actor, memory.id, EditDraft(content=f"{TEXT} Always.")),
    "retype": lambda actor, memory, _: edit(actor, memory.id, EditDraft(type="procedural")),
    "store": lambda actor, memory, _: keep(
        actor, "The deploy port of the ledger is 9000.", supersedes=memory.id
    ),
}
NEW_TEXTS = ("edit", "retype", "store")  # these wait as candidates
UNDOABLE = [name for name in ACTS if name not in NEW_TEXTS]


def fields(memory: Memory) -> dict[str, Any]:
    now = fresh(memory)
    names = (
        "content", "type", "state", "trust", "tags", "expires_at", "pinned", "superseded_by_id", "valid_from",
    )  # fmt: skip
    return {name: getattr(now, name) for name in names}


@pytest.fixture
def memory(alice: User, ledger: Group) -> Memory:
    return kept(person(alice), TEXT, group="ledger", scope="group")


@pytest.fixture
def other(alice: User, ledger: Group) -> Memory:
    return kept(person(alice), OTHER, group="ledger", scope="group")


@pytest.mark.parametrize("stand", ["verified", "pinned", "verified and disputed"])
@pytest.mark.parametrize("act", ACTS)
def test_an_agent_only_proposes_to_change_what_a_person_stands_behind(
    alice: User, bob: User, memory: Memory, other: Memory, act: str, stand: str
) -> None:
    (verbs.pin if stand == "pinned" else verbs.verify)(person(alice), memory.id)
    bobs = agent(bob)
    if "disputed" in stand:
        verbs.dispute(bobs, memory.id)
    before = fields(memory)
    done = ACTS[act](bobs, memory, other)
    assert fields(memory) == before
    assert not Tombstone.objects.exists()
    if act in NEW_TEXTS:
        assert (done.outcome, done.memory.trust) == ("queued", "candidate")
        return
    proposal = Proposal.objects.get()
    assert (proposal.actor, proposal.via, proposal.memory) == (bobs.name, bobs.via, fresh(memory))
    assert done.proposal == proposal.id
    logged = AuditEntry.objects.get(operation="propose")
    assert (logged.subject, logged.actor) == (f"proposal:{proposal.id}", bobs.name)


@pytest.mark.parametrize("policy", ["agents", "all"])
@pytest.mark.parametrize("act", ["forget", "retract", "supersede", "expire", "edit", "store"])
def test_under_a_policy_an_agents_change_waits_and_a_curators_is_done(
    alice: User, bob: User, ledger: Group, memory: Memory, other: Memory, act: str, policy: str
) -> None:
    Group.objects.filter(pk=ledger.pk).update(policy=policy)
    before = fields(memory)
    ACTS[act](agent(bob), memory, other)
    assert fields(memory) == before
    if act not in NEW_TEXTS:
        assert len(list_proposals(person(alice)).rows) == 1
        ACTS[act](person(alice), memory, other)
        assert fields(memory) != before


def test_without_a_policy_an_agent_changes_what_nobody_stands_behind(
    bob: User, memory: Memory, other: Memory
) -> None:
    bobs = agent(bob)
    ACTS["expire"](bobs, memory, other)
    assert fresh(memory).expires_at == SOON
    assert ACTS["retract"](bobs, memory, other).queued == ""
    assert fresh(memory).state == "retracted"
    assert not Proposal.objects.exists()


def test_a_copy_that_a_person_verified_keeps_an_agents_retraction_waiting(
    alice: User, bob: User, ledger: Group, memory: Memory
) -> None:
    twin = row(ledger, TEXT, type="procedural", trust="verified")
    done = verbs.retract(agent(bob), memory.id)
    assert f"{twin.id} goes with it: a person verified it" in done.queued
    assert fresh(twin).state == "live"


def test_an_agent_neither_purges_nor_unpins_what_a_person_pinned(alice: User, memory: Memory) -> None:
    verbs.pin(person(alice), memory.id)
    curating = agent(alice, scopes=["read", "write", "curate"])
    with pytest.raises(NotPermitted, match="Only a person can purge this memory: a person pinned it"):
        verbs.purge(curating, memory.id)
    assert verbs.unpin(curating, memory.id).queued
    assert fresh(memory).pinned
    verbs.unpin(person(alice), memory.id)
    assert verbs.pin(curating, memory.id).queued  # it only asks for one
    pin_as_before(curating, fresh(memory))  # its own pin, which it takes off again
    assert verbs.unpin(curating, memory.id).queued == ""


@pytest.mark.parametrize(("protect", "by"), [(verbs.verify, "verified"), (verbs.pin, "pinned")])
@pytest.mark.parametrize("named", ["itself", "the other"])
@pytest.mark.parametrize("way", ["merged", "superseded", "edited"])
def test_an_agent_does_not_purge_what_a_person_stands_behind_in_any_version(
    alice: User, ledger: Group, memory: Memory, way: str, named: str, protect: Callable[..., Any], by: str
) -> None:
    protect(person(alice), memory.id)
    other = row(ledger, "The mill has two doors.")
    if way == "merged":
        verbs.merge(person(alice), memory.id, other.id)
    elif way == "superseded":
        verbs.supersede(person(alice), memory.id, other.id)
    else:
        other = edit(person(alice), memory.id, EditDraft(content="The deploy port is 8099.")).memory
        Memory.objects.filter(pk=other.pk).update(trust="active", pinned=by == "pinned")
    target = other if named == "the other" or way != "merged" else memory
    curating = agent(alice, scopes=["read", "write", "curate"])
    for dry_run in (True, False):
        with pytest.raises(NotPermitted, match=f"a person {by} it"):
            verbs.purge(curating, target.id, dry_run=dry_run)
    assert fresh(memory).content == TEXT
    verbs.purge(person(alice), target.id)
    assert not Memory.objects.filter(pk=memory.pk).exists()


def test_a_pin_that_a_person_took_off_a_later_version_protects_no_former_one(
    alice: User, memory: Memory
) -> None:
    verbs.pin(person(alice), memory.id)
    later = edit(person(alice), memory.id, EditDraft(content="The deploy port is 8099.")).memory
    verbs.unpin(person(alice), later.id)
    verbs.purge(agent(alice, scopes=["read", "write", "curate"]), later.id)
    assert not Memory.objects.filter(pk=memory.pk).exists()


@pytest.mark.parametrize("act", UNDOABLE)
def test_approving_carries_it_out_and_undoing_lets_it_wait_again(
    alice: User, bob: User, memory: Memory, other: Memory, act: str
) -> None:
    verbs.verify(person(alice), memory.id)
    before, others = fields(memory), fields(other)
    proposed = ACTS[act](agent(bob), memory, other)
    decision = ReviewDecision("approve", proposal=proposed.proposal, reason="seen")
    would = decide(person(alice), decision, dry_run=True)
    assert fields(memory) == before
    done = decide(person(alice), decision)
    assert done.consequences == would.consequences or "successor" in str(done.consequences)
    assert fields(memory) != before
    assert Proposal.objects.get().status == "approved"
    with pytest.raises(Conflict, match="is approved already"):
        decide(person(alice), decision)
    take_back(person(alice), done.entries)
    head = Memory.objects.get(content=TEXT, state="live")
    kept_fields = ("content", "type", "state", "tags", "expires_at", "pinned")
    assert {name: fields(head)[name] for name in kept_fields} == {name: before[name] for name in kept_fields}
    assert {name: fields(other)[name] for name in kept_fields} == {name: others[name] for name in kept_fields}
    assert not Tombstone.objects.filter(lifted_at=None).exists()
    assert [card.id for card in review_deck(person(alice)).cards if card.kind == "proposal"] == [
        proposed.proposal
    ]
    decide(person(alice), decision)  # and it can be approved once more
    assert is_log_whole()


def test_rejecting_changes_nothing_and_is_undone(alice: User, bob: User, memory: Memory) -> None:
    verbs.verify(person(alice), memory.id)
    before = fields(memory)
    proposed = verbs.forget(agent(bob), memory.id, reason="old")
    done = decide(person(alice), ReviewDecision("reject", proposal=proposed.proposal, reason="it is right"))
    assert (done.consequences, fields(memory)) == (("nothing changes",), before)
    assert not review_deck(person(alice)).cards
    logged = AuditEntry.objects.filter(operation="propose").order_by("-key")[0]
    assert (logged.actor, logged.payload_row.payload["action"]) == ("alice", "rejected")
    take_back(person(alice), done.entries)
    assert len(review_deck(person(alice)).cards) == 1


def test_only_a_person_who_curates_decides(alice: User, bob: User, charlie: User, memory: Memory) -> None:
    verbs.verify(person(alice), memory.id)
    proposed = verbs.forget(agent(bob), memory.id)
    decision = ReviewDecision("approve", proposal=proposed.proposal)
    for actor in (agent(alice, name="hers", scopes=["read", "write", "curate", "admin"]), person(bob)):
        with pytest.raises(NotPermitted):
            decide(actor, decision)
    with pytest.raises(NotFound):
        decide(person(charlie), decision)
    with pytest.raises(InvalidInput):
        decide(person(alice), ReviewDecision("merge", proposal=proposed.proposal))
    assert list_proposals(person(charlie)).rows == ()
    assert len(list_proposals(person(bob)).rows) == 1


def test_a_changed_target_makes_it_stale_and_a_dispute_does_not(
    alice: User, bob: User, memory: Memory
) -> None:
    verbs.verify(person(alice), memory.id)
    bobs = agent(bob)
    proposed = verbs.forget(bobs, memory.id)
    verbs.dispute(bobs, memory.id)
    assert len(list_proposals(person(alice)).rows) == 1
    edit(person(alice), memory.id, EditDraft(content=f"{TEXT} Always."))
    assert list_proposals(person(alice)).rows == ()
    assert not [card for card in review_deck(person(alice)).cards if card.kind == "proposal"]
    assert ProposalOut.json(Proposal.objects.get())["status"] == "stale"
    with pytest.raises(Conflict, match="is stale"):
        decide(person(alice), ReviewDecision("approve", proposal=proposed.proposal))
    assert enforce_retention(operator()).closed_proposals == 1
    assert Proposal.objects.get().status == "stale"


@pytest.mark.django_db(transaction=True)
def test_retention_closes_what_nobody_decided_in_time(alice: User, bob: User, memory: Memory) -> None:
    verbs.verify(person(alice), memory.id)
    verbs.forget(agent(bob), memory.id)
    later = timezone.now() + timedelta(days=91)
    assert enforce_retention(operator(), now=timezone.now()).closed_proposals == 0
    assert enforce_retention(operator(), now=later, dry_run=True).closed_proposals == 1
    assert Proposal.objects.get().status == "waiting"
    assert "closed 1 proposal" in str(enforce_retention(operator(), now=later))
    assert Proposal.objects.get().status == "expired"
    assert AuditEntry.objects.filter(operation="propose").count() == 2


def test_the_same_proposal_again_is_the_same_one_and_a_dry_run_makes_none(
    alice: User, bob: User, memory: Memory
) -> None:
    verbs.verify(person(alice), memory.id)
    bobs = agent(bob)
    would = verbs.retract(bobs, memory.id, dry_run=True)
    assert (would.proposal, bool(would.queued), Proposal.objects.count()) == (None, True, 0)
    first, second = verbs.retract(bobs, memory.id), verbs.retract(bobs, memory.id)
    assert (first.proposal, Proposal.objects.count()) == (second.proposal, 1)


def test_a_purge_destroys_the_proposals_that_quote_the_text(
    alice: User, bob: User, memory: Memory, other: Memory
) -> None:
    verbs.verify(person(alice), memory.id)
    verbs.verify(person(alice), other.id)
    bobs = agent(bob)
    verbs.retract(bobs, memory.id)
    verbs.retract(bobs, other.id, reason=f"it contradicts: {TEXT}")
    done = verbs.purge(person(alice), memory.id)
    assert done.certificate is not None
    assert done.certificate.cleared["proposals"] == 1
    assert not Proposal.objects.exists()


def test_the_card_shows_the_change_its_effects_and_who_proposed_it(
    alice: User, bob: User, memory: Memory
) -> None:
    verbs.verify(person(alice), memory.id)
    bobs = agent(bob)
    proposed = verbs.retract(
        bobs, memory.id, successor="The deploy port of the ledger is 8443.", reason="typo"
    )
    card = proposal_card(person(alice), proposed.proposal)
    assert card.proposed is not None
    assert (card.proposed.label, card.proposed.text, card.reason) == (
        "Retract it", "The deploy port of the ledger is 8443.", "typo",
    )  # fmt: skip
    assert "recall no longer returns it" in card.proposed.effects
    assert [choice.verb for choice in card.choices] == ["approve", "reject"]
    assert card.origin.actor == bobs.name
    assert fresh(memory).state == "live"
    effect = preview_effect(person(alice), ReviewDecision("approve", memory.id, proposal=proposed.proposal))
    assert {line.change for line in effect.lines} == {"gone", "new"}


def test_every_cell_of_the_table(alice: User, bob: User, ledger: Group) -> None:
    actors = {ActorKind.AGENT: agent(bob), ActorKind.PERSON: person(bob), ActorKind.CURATOR: person(alice)}
    policies = ("none", "below", "agents", "all")
    for (change, rules), (kind, actor), policy, is_pinned in product(
        RULES.items(), actors.items(), policies, (False, True)
    ):
        ledger.policy, ledger.policy_confidence = policy, 0.9
        rule = rules[kind]
        holds = policy in ("all", "below") or (policy == "agents" and kind is ActorKind.AGENT)
        expected = rule.held if holds else rule.plain
        if is_pinned and rule.protected is not None:
            expected = rule.protected
        memory = Memory(group=ledger, pinned=is_pinned, trust="active", confidence=0.7)
        verdict = judge_change(actor, change, memory)
        assert verdict.treatment is expected, (change, kind, policy, is_pinned)
        assert bool(verdict.why) is (expected is not Treatment.NOW)
    protected = {
        change for change, rules in RULES.items() if rules[ActorKind.AGENT].protected is Treatment.QUEUED
    }
    assert protected >= {
        Change.RETRACT, Change.FORGET, Change.SUPERSEDE, Change.EXPIRE, Change.EDIT, Change.RESTORE_VERSION,
    }  # fmt: skip


# Undoing a supersede or a retraction by mistake


def found(text: str) -> bool:
    return text in [
        item.memory.content for item in recall(operator(), RecallRequest(text, group="ledger")).items
    ]


def test_an_agent_that_superseded_by_mistake_gets_the_true_fact_back(bob: User, ledger: Group) -> None:
    bobs = agent(bob)
    age = kept(bobs, "Backups are encrypted with age.", group="ledger")
    gpg = kept(bobs, "Backups are encrypted with gpg.", supersedes=age.id)
    assert keep(bobs, age.content, group="ledger").outcome == "queued"
    again = keep(bobs, age.content, supersedes=gpg.id)
    assert (again.outcome, again.superseded) == ("reinforced", gpg.id)
    assert found(age.content)
    assert not found(gpg.content)


def test_storing_it_again_is_enough_once_the_wrong_one_is_forgotten(bob: User, ledger: Group) -> None:
    bobs = agent(bob)
    age = kept(bobs, "Backups are encrypted with age.", group="ledger")
    gpg = kept(bobs, "Backups are encrypted with gpg.", supersedes=age.id)
    keep(bobs, age.content, group="ledger")  # waits
    verbs.forget(bobs, gpg.id)
    with pytest.raises(Conflict, match="only a live memory can be superseded"):
        keep(bobs, age.content, supersedes=gpg.id)
    keep(bobs, age.content, group="ledger")  # what that error says to do
    assert found(age.content)


@pytest.mark.parametrize("by", ["restore", "store"])
def test_an_agent_that_retracted_the_successor_gets_the_former_text_back(
    bob: User, ledger: Group, by: str
) -> None:
    bobs = agent(bob)
    old = kept(bobs, "Invoices are kept for 60 days.", group="ledger")
    new = kept(bobs, "Invoices are kept for 90 days.", supersedes=old.id)
    verbs.retract(bobs, new.id)
    if by == "restore":
        verbs.restore(bobs, old.id)
    else:
        assert keep(bobs, old.content, group="ledger").outcome == "created"
    assert found(old.content)


@pytest.mark.parametrize("successor", ["", "Invoices are kept for 90 days."])
def test_an_agent_takes_its_own_retraction_back_and_nobody_elses(
    alice: User, bob: User, ledger: Group, successor: str
) -> None:
    bobs = agent(bob)
    true = kept(bobs, "Invoices are kept for 60 days.", group="ledger")
    verbs.retract(bobs, true.id, successor=successor)
    for other in (agent(alice, name="hers"), agent(bob)):  # another person, another token of the same name
        with pytest.raises(Conflict):
            verbs.restore(other, true.id)
    assert verbs.restore(bobs, true.id, dry_run=True).dry_run
    assert not found(true.content)
    assert verbs.restore(bobs, true.id).changed
    assert found(true.content)
    assert not Tombstone.objects.filter(lifted_at=None).exists()
    verbs.retract(person(alice), Memory.objects.get(content=true.content, state="live").id)
    with pytest.raises(Conflict):
        verbs.restore(bobs, true.id)


def test_after_a_day_a_curator_decides_about_a_retraction(bob: User, ledger: Group) -> None:
    bobs = agent(bob)
    true = kept(bobs, "Invoices are kept for 60 days.", group="ledger")
    verbs.retract(bobs, true.id)
    AuditEntry.objects.filter(operation="retract").update(at=timezone.now() - timedelta(hours=25))
    with pytest.raises(Conflict, match="needs a memory that is forgotten"):
        verbs.restore(bobs, true.id)


def test_a_superseded_text_stays_superseded_while_its_successor_is_live(bob: User, ledger: Group) -> None:
    bobs = agent(bob)
    age = kept(bobs, "Backups are encrypted with age.", group="ledger")
    kept(bobs, "Backups are encrypted with gpg.", supersedes=age.id)
    for _ in range(2):
        keep(bobs, age.content, group="ledger")
    assert not found(age.content)


def test_a_successor_that_a_curator_approved_counts_at_once(alice: User, bob: User, memory: Memory) -> None:
    Group.objects.update(policy="all")
    verbs.retract(agent(bob), memory.id, successor="Invoices are kept for 90 days.")
    decide(person(alice), ReviewDecision("approve", proposal=Proposal.objects.get().id))
    assert Memory.objects.get(state="live").content == "Invoices are kept for 90 days."
    assert (fresh(memory).state, Memory.objects.get(state="live").trust) == ("retracted", "active")


def test_a_date_that_a_curator_approved_counts_at_once(alice: User, bob: User, memory: Memory) -> None:
    Group.objects.update(policy="all")
    waiting = ACTS["date"](agent(bob), memory, memory).proposal
    done = decide(person(alice), ReviewDecision("approve", proposal=waiting))
    assert Memory.objects.get(content=TEXT, state="live").valid_from == PAST
    assert Proposal.objects.get().status == "approved"
    take_back(person(alice), done.entries)
    assert Memory.objects.get(content=TEXT, state="live").valid_from != PAST
