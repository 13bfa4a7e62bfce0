"""Undo by id of what a person decided through REST with a browser's session."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from access.actor import Actor
from access.audit.collect import collecting_rows
from access.models import Group
from memories.lifecycle.target import ChangeResult
from memories.lifecycle.undo import UndoneWrite, undo_id_of, undo_write
from memories.lifecycle.verbs import approve, dispute, reject
from memories.models import Memory, Tombstone
from tests.memories.builders import fresh, keep, kept, row
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The deploy port of the ledger is 8082."


def undone(verb: Callable[..., ChangeResult], actor: Actor, memory: Memory) -> UndoneWrite:
    with collecting_rows() as rows:
        verb(actor, memory.id)
        id_ = undo_id_of(actor, rows)
    return undo_write(actor, id_)


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
