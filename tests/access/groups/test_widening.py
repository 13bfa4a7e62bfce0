"""Only a curator makes a group's memory global; the writer of a new fact chooses its scope."""

import pytest
from django.contrib.auth.models import User

from access.errors import InvalidInput, NotPermitted
from access.groups.members import set_member, set_private
from access.models import Group
from access.tokens import operator
from memories.draft import Draft
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.store import store
from memories.store.bulk import store_many
from tests.people import agent, alice, bob, charlie, garden, ledger, person

__all__ = ["alice", "bob", "charlie", "garden", "ledger"]
pytestmark = [pytest.mark.django_db, pytest.mark.model]


@pytest.fixture
def kept(alice: User, ledger: Group) -> Memory:
    memory = store(person(alice), Draft("The vault code is 4711.", group="ledger", scope="group")).memory
    assert memory is not None
    return memory


def replacing(old: Memory, *, scope: str = "global") -> Draft:
    return Draft("The vault code is 4712.", group="ledger", scope=scope, supersedes=old.id)


def test_a_contributor_does_not_make_global_what_the_group_keeps(bob: User, kept: Memory) -> None:
    for actor in (person(bob), agent(bob, scopes=["read", "write", "curate"])):
        with pytest.raises(NotPermitted) as refused:
            store(actor, replacing(kept))
        assert refused.value.field == "scope"
        assert "curator" in refused.value.hint
    assert Memory.objects.count() == 1


def test_nor_with_many_at_once(bob: User, kept: Memory) -> None:
    done = store_many(person(bob), [replacing(kept)])
    assert len(done.refused) == 1
    assert Memory.objects.count() == 1


def test_a_contributor_replaces_it_within_the_group(bob: User, kept: Memory) -> None:
    made = store(person(bob), replacing(kept, scope="")).memory
    assert made is not None
    assert made.scope == "group"


def test_a_curator_does_and_a_curators_token_without_the_scope_does_not(
    bob: User, ledger: Group, kept: Memory
) -> None:
    set_member(operator(), ledger, user=bob, role="curator")
    with pytest.raises(NotPermitted):
        store(agent(bob), replacing(kept))
    made = store(person(bob), replacing(kept)).memory
    assert made is not None
    assert made.scope == "global"


def test_a_new_fact_is_its_groups_unless_its_writer_says_that_it_is_global(
    bob: User, charlie: User, garden: Group
) -> None:
    store(agent(bob), Draft("Releases are cut on Fridays.", group="ledger"))
    store(agent(bob), Draft("Releases are cut on Thursdays.", group="ledger", scope="global"))
    set_member(operator(), garden, user=charlie, role="viewer")
    found = recall(person(charlie), RecallRequest("when are releases cut?", group="garden"))
    assert [item.memory.content for item in found.items] == ["Releases are cut on Thursdays."]


def test_in_a_private_group_nothing_is_global_whoever_writes(alice: User, bob: User, ledger: Group) -> None:
    set_private(person(alice), "ledger", private=True)
    inner = store(person(bob), Draft("Salaries are paid on the 25th.", group="ledger")).memory
    assert inner is not None
    assert inner.scope == "group"
    for actor in (person(alice), person(bob)):
        with pytest.raises(InvalidInput):
            store(actor, Draft("Salaries are high.", group="ledger", scope="global"))
