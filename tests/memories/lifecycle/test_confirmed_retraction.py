"""A curator confirms what an agent retracted: from then on the agent cannot bring the text back."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from access.actor import Actor
from access.audit import collecting_rows
from access.errors import Conflict
from access.models import Group
from memories.lifecycle import verbs
from memories.lifecycle.undo import undo_id_of, undo_write
from memories.models import Memory, Tombstone
from memories.types import State
from tests.memories.builders import fresh, keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The harbour master is Jonas."


@pytest.fixture
def helper(alice: User) -> Actor:
    return agent(alice)


@pytest.fixture
def retracted(alice: User, ledger: Group, helper: Actor) -> tuple[Memory, str]:
    """A memory that an agent retracted, and the undo id of that."""
    memory = kept(person(alice), TEXT, group="ledger", scope="group")
    with collecting_rows() as rows:
        verbs.retract(helper, memory.id, reason="I think so")
    return memory, undo_id_of(helper, rows)


@pytest.mark.parametrize("verb", [verbs.retract, verbs.reject])
def test_the_agent_cannot_undo_what_a_curator_confirmed(
    alice: User, helper: Actor, retracted: tuple[Memory, str], verb: Callable[..., verbs.ChangeResult]
) -> None:
    memory, undo = retracted
    done = verb(person(alice), memory.id, reason="he left")
    assert (done.id, done.state) == (memory.id, State.RETRACTED)
    mark = Tombstone.objects.get(memory_id=memory.id, lifted_at=None)
    assert (mark.author_name, mark.reason) == (person(alice).name, "he left")
    with pytest.raises(Conflict, match="A person has decided about it since"):
        undo_write(helper, undo)
    with pytest.raises(Conflict, match="is retracted"):
        verbs.restore(helper, memory.id)
    assert fresh(memory).state == State.RETRACTED


@pytest.mark.parametrize("verb", [verbs.retract, verbs.reject, verbs.purge])
@pytest.mark.parametrize("redone", [False, True])
def test_what_was_decided_about_a_copy_holds_for_the_text(
    alice: User, ledger: Group, helper: Actor, verb: Callable[..., verbs.ChangeResult], redone: bool
) -> None:
    memory = kept(helper, TEXT, group="ledger")
    copy = kept(person(alice), TEXT, group="ledger", type="procedural")
    with collecting_rows() as rows:
        verbs.retract(helper, memory.id)
    if redone:
        with collecting_rows() as undone:
            undo_write(helper, undo_id_of(helper, rows))
        with collecting_rows() as rows:
            undo_write(helper, undo_id_of(helper, undone))
    assert fresh(copy).state == State.RETRACTED
    undo = undo_id_of(helper, rows)
    verb(person(alice), copy.id, reason="he left")
    with pytest.raises(Conflict):
        undo_write(helper, undo)
    with pytest.raises(Conflict):
        verbs.restore(helper, memory.id)
    assert fresh(memory).state == State.RETRACTED
    assert Tombstone.objects.get(lifted_at=None).author_name == person(alice).name
    assert keep(agent(alice, name="other"), TEXT, group="ledger").outcome == "refused"


def test_without_a_confirmation_the_agent_may(helper: Actor, retracted: tuple[Memory, str]) -> None:
    memory, undo = retracted
    undo_write(helper, undo)
    assert fresh(memory).state == State.LIVE


def test_a_second_retraction_by_the_agent_or_of_a_person_s_is_refused(
    alice: User, helper: Actor, retracted: tuple[Memory, str]
) -> None:
    memory, _ = retracted
    with pytest.raises(Conflict, match="is retracted"):
        verbs.retract(helper, memory.id)
    verbs.retract(person(alice), memory.id)
    with pytest.raises(Conflict, match="is retracted"):
        verbs.retract(person(alice), memory.id)
