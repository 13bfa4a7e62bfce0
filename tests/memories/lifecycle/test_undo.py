"""Undo by id: it gives back exactly what was, to whoever wrote it, once, and never what was built on or judged since."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from access.actor import Actor
from access.audit import collecting_rows
from access.audit.operations import Operation
from access.errors import Conflict, NotFound, NotPermitted
from access.groups.members import set_member
from access.models import AuditEntry, Group, Membership
from access.tokens import operator
from memories.draft import EditDraft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.edit import edit
from memories.lifecycle.target import ChangeResult
from memories.lifecycle.undo import UndoneWrite, undo_id_of, undo_write
from memories.lifecycle.undo.reverse import Terms, reverse
from memories.lifecycle.undo.rows import rows_of
from memories.lifecycle.verbs import (
    approve,
    dispute,
    forget,
    merge,
    move,
    pin,
    quarantine,
    reject,
    restore,
    retract,
    verify,
)
from memories.models import Link, Memory, Proposal, Tombstone
from memories.queries.labels import label_of
from memories.review.decide import ReviewDecision, decide
from memories.sessions.checkpoints import save_checkpoint
from storage.changes import changing
from tests.memories.builders import fresh, keep, kept, row
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The deploy port of the ledger is 8082."


def offer(actor: Actor, write: Callable[[], object]) -> str:
    """The undo id of a write."""
    with collecting_rows() as rows:
        write()
        return undo_id_of(actor, rows)


def undone(verb: Callable[..., ChangeResult], actor: Actor, memory: Memory) -> UndoneWrite:
    return undo_write(actor, offer(actor, lambda: verb(actor, memory.id)))


def stored(actor: Actor) -> tuple[Memory, str]:
    """A new memory and the undo id of its store."""
    id_ = offer(actor, lambda: kept(actor, TEXT, group="ledger", scope="group"))
    return Memory.objects.get(), id_


def barred() -> int:
    return Tombstone.objects.filter(lifted_at=None).count()


def test_an_undone_rejection_no_longer_bars_the_text(alice: User, ledger: Group) -> None:
    memory = row(ledger, TEXT, trust="candidate")
    undone(reject, person(alice), memory)
    assert (fresh(memory).trust, barred()) == ("candidate", 0)


def test_an_undone_approval_bars_a_rejected_text_again(alice: User, ledger: Group) -> None:
    memory = row(ledger, TEXT, trust="candidate")
    reject(person(alice), memory.id)
    undone(approve, person(alice), memory)
    assert (fresh(memory).trust, barred()) == ("rejected", 1)


def test_an_undone_dispute_leaves_the_rejection_of_the_same_text_elsewhere(
    alice: User, ledger: Group
) -> None:
    memory = row(ledger, TEXT)
    reject(person(alice), row(ledger, TEXT, type="procedural").id)
    undone(dispute, agent(alice), memory)
    assert (fresh(memory).trust, barred()) == ("active", 1)


def test_an_undone_approval_of_a_correction_gives_the_former_text_back(alice: User, ledger: Group) -> None:
    Group.objects.filter(pk=ledger.pk).update(policy="agents")
    old = kept(person(alice), TEXT, group="ledger", scope="group")
    queued = keep(
        agent(alice), TEXT.replace("8082", "8443"), group="ledger", scope="group", supersedes=old.id
    ).memory
    assert queued is not None
    undone(approve, person(alice), queued)
    assert (fresh(old).state, fresh(old).trust) == ("live", "active")
    assert (fresh(queued).state, fresh(queued).trust) == ("live", "candidate")


def test_only_the_token_that_wrote_takes_it_back_though_another_has_its_name(bob: User) -> None:
    one, other = agent(bob), agent(bob)
    memory, id_ = stored(one)
    with pytest.raises(NotFound):
        undo_write(other, id_)
    assert fresh(memory).state == "live"
    undo_write(one, id_)
    assert fresh(memory).state == "forgotten"


@pytest.mark.parametrize("is_restored", [False, True])
def test_what_another_token_of_the_same_name_labelled_since_stays(bob: User, is_restored: bool) -> None:
    one, other = agent(bob), agent(bob)
    memory, id_ = stored(one)
    if is_restored:
        forget(one, memory.id)
        id_ = offer(one, lambda: restore(one, memory.id))
    edit(other, memory.id, EditDraft(tags=("ports",)))
    with pytest.raises(Conflict, match="bob/agent has changed"):
        undo_write(one, id_)
    assert fresh(memory).state == "live"


def test_an_undo_is_held_back_where_the_write_would_wait_today(bob: User) -> None:
    memory, id_ = stored(actor := agent(bob))
    Group.objects.update(policy="agents")
    with pytest.raises(Conflict, match="writes of agents into 'ledger' wait for a curator"):
        undo_write(actor, id_)
    assert fresh(memory).state == "live"


@pytest.mark.parametrize("judge", [verify, reject])
def test_a_memory_that_was_judged_since_is_not_hidden(
    alice: User, ledger: Group, judge: Callable[..., ChangeResult]
) -> None:
    memory, id_ = stored(person(alice))
    judge(person(alice), memory.id)
    with pytest.raises(Conflict, match="has changed since"):
        undo_write(person(alice), id_)
    assert fresh(memory).state == "live"


def test_a_proposal_that_a_person_decided_about_stays_decided(alice: User, bob: User) -> None:
    memory, actor = kept(person(alice), TEXT, group="ledger"), agent(bob)
    id_ = offer(actor, lambda: pin(actor, memory.id))
    decide(person(alice), ReviewDecision("approve", proposal=Proposal.objects.get().id))
    with pytest.raises(Conflict, match="A person has decided about it since"):
        undo_write(actor, id_)
    assert (Proposal.objects.get().status, fresh(memory).pinned) == ("approved", True)


def test_recalls_since_a_merge_stay_counted(alice: User, ledger: Group) -> None:
    source, into = row(ledger, TEXT, access_count=4), row(ledger, f"{TEXT} Behind the proxy.", access_count=2)
    id_ = offer(person(alice), lambda: merge(person(alice), source.id, into.id))
    Memory.objects.filter(pk=into.pk).update(access_count=F("access_count") + 3)
    undo_write(person(alice), id_)
    assert (fresh(source).access_count, fresh(into).access_count) == (4, 5)


def test_a_move_is_undone_by_whoever_may_still_write_in_the_former_group(
    bob: User, ledger: Group, garden: Group
) -> None:
    for group in (ledger, garden):
        set_member(operator(), group, user=bob, role="curator")
    memory = kept(person(bob), TEXT, group="ledger", scope="group")
    id_ = offer(person(bob), lambda: move(person(bob), memory.id, "garden"))
    Membership.objects.filter(group=ledger).update(role="viewer")
    with pytest.raises(NotPermitted):
        undo_write(person(bob), id_)
    assert fresh(memory).group_id == garden.key
    set_member(operator(), ledger, user=bob, role="contributor")
    undo_write(person(bob), id_)
    assert fresh(memory).group_id == ledger.key


def test_an_undo_works_once_though_the_same_change_was_made_again(bob: User) -> None:
    memory, _ = stored(actor := agent(bob))
    id_ = offer(actor, lambda: edit(actor, memory.id, EditDraft(importance=9)))
    undo_write(actor, id_)
    edit(actor, memory.id, EditDraft(importance=9))
    with pytest.raises(Conflict, match="It was undone already"):
        undo_write(actor, id_)
    assert fresh(memory).importance == 9


def test_a_text_that_comes_back_passes_the_guard_of_today(bob: User) -> None:
    actor = agent(bob)
    memory = kept(actor, "Write to ines@heronry.example about the gate.", group="ledger", scope="group")
    id_ = offer(actor, lambda: forget(actor, memory.id))
    Group.objects.update(guard="personal=quarantine")
    undo_write(actor, id_)
    assert (fresh(memory).state, fresh(memory).trust) == ("live", "quarantined")


def test_values_come_back_exactly_as_they_were_before_the_whole_change(ledger: Group) -> None:
    memory = row(ledger, TEXT, confidence=0.1 + 0.2, importance=5)
    with changing() as change, transaction.atomic():
        for importance, confidence in ((6, 0.5), (9, 0.6)):
            Memory.objects.filter(pk=memory.pk).update(importance=importance, confidence=confidence)
    [kept_row] = rows_of([change])
    assert kept_row.values == {"importance": (5, 9), "confidence": (0.1 + 0.2, 0.6)}


def test_of_a_run_stays_whole_what_was_decided_about_since(alice: User, ledger: Group) -> None:
    memory = row(ledger, TEXT)
    with changing() as change, transaction.atomic():
        Memory.objects.filter(pk=memory.pk).update(state="forgotten", importance=3)
    Memory.objects.filter(pk=memory.pk).update(state="retracted")
    done = reverse(person(alice), rows_of([change]), Terms("test", partial=True))
    assert ([each.id for each in done.kept], done.restored) == ([str(memory.id)], 0)
    assert (fresh(memory).state, fresh(memory).importance) == ("retracted", 3)


def test_undoing_a_checkpoint_says_which_one_is_the_newest(alice: User, ledger: Group) -> None:
    actor = agent(alice)

    def saved(state: str) -> str:
        return offer(actor, lambda: save_checkpoint(actor, group="ledger", thread="nest", state=state))

    first, second, third = saved("one"), saved("two"), saved("three")
    assert undo_write(actor, second).consequences == (
        "the checkpoint is gone; the newest one stays the newest",
    )
    assert undo_write(actor, third).consequences == (
        "the checkpoint is gone; the one before it is the newest again",
    )
    assert undo_write(actor, first).consequences == ("the checkpoint is gone; it was the only one",)


# --- a text that was withdrawn since does not come back, wherever it stands

GONE = "Boatswain Krag repairs the fishing nets."


def _withdraw(user: User, verb: Callable[..., ChangeResult]) -> None:
    verb(person(user), kept(person(user), GONE, group="ledger", scope="group", type="procedural").id)


def _undo_of_undo(actor: Actor, write: Callable[[], object]) -> str:
    """The undo id of the undo of a write."""
    first = offer(actor, write)
    return offer(actor, lambda: undo_write(actor, first))


def _saved(actor: Actor) -> str:
    def save() -> None:
        save_checkpoint(actor, group="ledger", thread="nest", state={"note": [f"Next: {GONE}"]})

    return _undo_of_undo(actor, save)


def _related(actor: Actor) -> str:
    return _undo_of_undo(
        actor,
        lambda: store_relation(
            actor, RelationDraft("Boatswain Krag", "repairs", "the fishing nets", group="ledger")
        ),
    )


def _disputed(actor: Actor) -> str:
    memory = kept(actor, TEXT, group="ledger", scope="group")
    return _undo_of_undo(actor, lambda: dispute(actor, memory.id, reason=GONE))


def _without_metadata(actor: Actor) -> str:
    memory = kept(actor, TEXT, group="ledger", scope="group", metadata={"a": {"b": [GONE]}})
    return offer(actor, lambda: edit(actor, memory.id, EditDraft(metadata={})))


def _without_tags(actor: Actor) -> str:
    memory = kept(actor, TEXT, group="ledger", scope="group", tags=(GONE,))
    return offer(actor, lambda: edit(actor, memory.id, EditDraft(tags=())))


def _forgotten(actor: Actor) -> str:
    memory = kept(actor, TEXT, group="ledger", scope="group", source=GONE)
    return offer(actor, lambda: forget(actor, memory.id))


@pytest.mark.parametrize("withdraw", [retract, quarantine])
@pytest.mark.parametrize(
    "prepare", [_saved, _related, _disputed, _without_metadata, _without_tags, _forgotten]
)
def test_no_undo_brings_back_what_holds_a_text_that_was_withdrawn_since(
    alice: User, ledger: Group, prepare: Callable[[Actor], str], withdraw: Callable[..., ChangeResult]
) -> None:
    actor = agent(alice)
    id_ = prepare(actor)
    _withdraw(alice, withdraw)
    with pytest.raises(Conflict, match="repeats a withdrawn text"):
        undo_write(actor, id_)


def test_neither_a_restore_nor_an_approval_lets_in_what_names_a_withdrawn_text(
    alice: User, ledger: Group
) -> None:
    hidden = row(ledger, TEXT, state="forgotten", metadata={"k": GONE})
    waiting = row(ledger, f"{TEXT} Behind the proxy.", trust="candidate", source=GONE)
    own = row(ledger, "Krag is at sea.", trust="candidate", metadata={"k": "Krag is at sea."})
    _withdraw(alice, retract)
    for verb, memory in ((restore, hidden), (approve, waiting), (verify, waiting)):
        with pytest.raises(Conflict, match="repeats a withdrawn text"):
            verb(person(alice), memory.id)
    reject(person(alice), own.id)
    assert approve(person(alice), own.id).trust == "active"  # its own rejection bars nothing


def test_a_relation_may_not_say_a_withdrawn_text_however_its_words_are_shared_out(
    alice: User, ledger: Group
) -> None:
    actor = agent(alice)
    store_relation(actor, RelationDraft("Boatswain Krag", "knows", "the fishing nets", group="ledger"))
    _withdraw(alice, retract)
    shares = (
        ("Boatswain Krag", "repairs the", "the fishing nets"),
        ("Boatswain Krag", "Krag_repairs the", "fishing nets"),
    )
    for subject, predicate, object_ in shares:
        with pytest.raises(Conflict, match="repeats a withdrawn text"):
            store_relation(actor, RelationDraft(subject, predicate, object_, group="ledger"))


# --- what counts again is compared as by a store

VERIFIED, CONTRARY = (
    "The beacon of Gedser flashes every 30 seconds.",
    "The beacon of Gedser flashes every 45 seconds.",
)


def _back_by_restore(actor: Actor, verified: Callable[[], None]) -> None:
    memory = kept(actor, CONTRARY, group="ledger", scope="group")
    forget(actor, memory.id)
    verified()
    restore(actor, memory.id)


def _back_by_undo(actor: Actor, verified: Callable[[], None]) -> None:
    memory = kept(actor, CONTRARY, group="ledger", scope="group")
    id_ = offer(actor, lambda: forget(actor, memory.id))
    verified()
    undo_write(actor, id_)


def _back_by_undo_of_supersede(actor: Actor, verified: Callable[[], None]) -> None:
    memory = kept(actor, CONTRARY, group="ledger", scope="group")
    new = "The beacon of Gedser is off since May."
    id_ = offer(actor, lambda: keep(actor, new, group="ledger", supersedes=str(memory.id)))
    verified()
    undo_write(actor, id_)


def _back_by_approval(actor: Actor, verified: Callable[[], None]) -> None:
    memory = kept(actor, CONTRARY, group="ledger", scope="group")
    curator = replace(actor, is_person=True, scopes=frozenset({"read", "write", "curate"}))
    quarantine(curator, memory.id)
    verified()
    approve(curator, memory.id)


def _by_edit_of_text(actor: Actor, verified: Callable[[], None]) -> None:
    verified()
    memory = kept(actor, "The keeper of Gedser has a dog called Rex.", group="ledger", scope="group")
    edit(actor, memory.id, EditDraft(content=CONTRARY))


def _by_edit_of_type(actor: Actor, verified: Callable[[], None]) -> None:
    verified()
    memory = kept(actor, CONTRARY, group="ledger", scope="group", type="episodic")
    edit(actor, memory.id, EditDraft(type="semantic"))


@pytest.mark.parametrize(
    "happens",
    [
        _back_by_restore,
        _back_by_undo,
        _back_by_undo_of_supersede,
        _back_by_approval,
        _by_edit_of_text,
        _by_edit_of_type,
    ],
)
def test_whatever_way_a_text_becomes_live_its_contradiction_is_linked(
    alice: User, ledger: Group, happens: Callable[[Actor, Callable[[], None]], None]
) -> None:
    def verified() -> None:
        verify(person(alice), kept(person(alice), VERIFIED, group="ledger", scope="group").id)

    happens(agent(alice), verified)
    link = Link.objects.get(kind="conflict", status="open")
    assert {link.source.root_key, link.target.root_key} == {
        memory.root_key for memory in Memory.objects.filter(state="live")
    }


# --- what an undo or a restore leaves behind says so


def test_an_undone_version_is_labelled_as_undone_and_not_as_corrected(alice: User, ledger: Group) -> None:
    actor = agent(alice)
    old = kept(actor, TEXT, group="ledger", scope="group")
    new = "The deploy port of the ledger is 9090."
    id_ = offer(actor, lambda: keep(actor, new, group="ledger", supersedes=str(old.id)))
    undo_write(actor, id_)
    undone_version = Memory.objects.get(content=new)
    assert label_of(undone_version).startswith("undone on ")
    edited = edit(actor, old.id, EditDraft(content="The deploy port of the ledger is 8083.")).memory
    assert label_of(fresh(undone_version)).startswith("undone on ")
    assert label_of(fresh(old)).startswith("superseded: its text was corrected")
    restored = restore(actor, old.id)
    assert restored.consequences == ("recall returns it again", f"{edited.id} is superseded")
    assert label_of(fresh(edited)).startswith("superseded: its text was corrected")
    assert not AuditEntry.objects.filter(memory_id=edited.id, operation=Operation.FORGET).exists()


@pytest.mark.parametrize("trust", ["active", "verified"])
@pytest.mark.parametrize("change", ["store", "edit", "dispute"])
def test_an_undo_says_nothing_of_a_group_that_its_caller_may_not_see(
    alice: User, bob: User, ledger: Group, change: str, trust: str
) -> None:
    vault = Group.objects.create(slug="vault", private=True)
    set_member(operator(), vault, user=alice, role="curator")
    set_member(operator(), ledger, user=alice, role="curator")
    writer = agent(bob)
    with collecting_rows() as stored:
        memory = kept(writer, TEXT, group="ledger", scope="group")
    made: dict[str, Callable[[], Any]] = {
        "store": lambda: None,
        "edit": lambda: edit(writer, memory.id, EditDraft(tags=("ports",))),
        "dispute": lambda: dispute(writer, memory.id, reason="it moved"),
    }
    with collecting_rows() as written:
        made[change]()
    id_ = undo_id_of(writer, stored if change == "store" else written)
    move(operator(), memory.id, "vault")
    Memory.objects.filter(pk=memory.pk).update(trust=trust)
    with pytest.raises(NotFound, match=r"Memory not found, or you don't have access\."):
        undo_write(writer, id_)
