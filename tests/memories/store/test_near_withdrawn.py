"""A store names no memory that another group withdrew, unless the caller may read there."""

import pytest
from django.contrib.auth.models import User

from access.groups.members import set_member
from access.models import Group
from access.tokens import operator
from memories.lifecycle import verbs
from tests.memories.builders import keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The archive is kept in the northern cellar."


@pytest.mark.parametrize("again", [f"{TEXT[:-1]}!!", "The archive is kept in the northern cellars."])
@pytest.mark.parametrize("verb", [verbs.retract, verbs.reject])
def test_near_names_a_withdrawn_memory_only_to_its_readers(
    alice: User, bob: User, ledger: Group, garden: Group, again: str, verb: object
) -> None:
    memory = kept(person(alice), TEXT, group="garden", scope="global")
    assert callable(verb)
    verb(person(alice), memory.id)
    set_member(operator(), ledger, user=bob, role="contributor")
    told = keep(agent(bob), again, group="ledger", scope="global")
    assert (told.outcome, told.neighbours) == ("queued", ())
    assert str(memory.id) not in told.why
    assert "in another group" in told.why
    knowing = keep(person(alice), f"{again} 👍", group="ledger", scope="global")
    assert memory.id in [neighbour.id for neighbour in knowing.neighbours]
