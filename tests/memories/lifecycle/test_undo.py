"""Undo by id: it gives back exactly what was, to whoever wrote it, once, and never what was built on or judged since."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from access.actor import Actor
from access.audit import collecting_rows
from access.errors import Conflict, NotFound, NotPermitted
from access.groups.members import set_member
from access.models import Group, Membership
from access.tokens import operator
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.target import ChangeResult
from memories.lifecycle.undo import UndoneWrite, undo_id_of, undo_write
from memories.lifecycle.undo.reverse import Terms, reverse
from memories.lifecycle.undo.rows import rows_of
from memories.lifecycle.verbs import approve, dispute, forget, merge, move, pin, reject, restore, verify
from memories.models import Memory, Proposal, Tombstone
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
