"""The group `everyone`: made at set-up, read together with each group, never offered to a project."""

from collections.abc import Callable
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from access.errors import GroupRequired, InvalidInput
from access.groups import create_everyone, create_group, entered_groups, find_group
from access.groups.members import set_private
from access.models import Group, Membership
from access.sign_in.users import PersonChange, add_person
from access.tokens import operator
from loci_site.management.first_start import create_first_access
from memories.browse.listing import ListFilter, list_memories
from memories.draft import Draft
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.sessions.context_pack import get_context
from memories.store import store
from tests.people import agent, alice, bob, garden, ledger, person

__all__ = ["alice", "bob", "garden", "ledger"]
pytestmark = [pytest.mark.django_db, pytest.mark.model]
RULE = "Amounts are written with a comma in this house."


@pytest.fixture
def everyone(alice: User) -> Group:
    return create_everyone(person(alice))


@pytest.fixture
def rule(everyone: Group) -> Memory:
    memory = store(operator(), Draft(RULE, group="everyone")).memory
    assert memory is not None
    return memory


def answered(user: User, group: str) -> list[str]:
    request = RecallRequest("how are amounts written?", group=group, is_trial=True)
    return [item.text for item in recall(agent(user), request).items]


def listed(user: User, group: str) -> list[str]:
    return [memory.content for memory in list_memories(agent(user), ListFilter(group=group)).rows]


def packed(user: User, group: str) -> list[str]:
    pack = get_context(agent(user), group=group, query="how are amounts written?")
    return [RULE] if RULE in pack.text else []


@pytest.mark.parametrize("read", [answered, listed, packed])
def test_it_is_read_with_each_group_by_who_is_no_member(
    rule: Memory, bob: User, read: Callable[[User, str], list[str]]
) -> None:
    assert read(bob, "ledger") == [RULE]


def test_a_private_group_reads_it_too(rule: Memory, alice: User, bob: User) -> None:
    set_private(person(alice), "ledger", private=True)
    assert answered(bob, "ledger") == [RULE]


def test_what_is_said_to_stay_there_stays(everyone: Group, bob: User) -> None:
    store(operator(), Draft(RULE, group="everyone", scope="group"))
    assert answered(bob, "ledger") == []


def test_a_new_home_has_it(db: None) -> None:
    assert create_first_access() is not None
    made = Group.objects.get()
    assert (made.slug, made.default_scope) == ("everyone", "global")
    assert Membership.objects.get().role == "admin"


def test_show_names_its_rule(everyone: Group, ledger: Group) -> None:
    said = {}
    for slug in ("everyone", "ledger"):
        out = StringIO()
        call_command("group", "show", slug, stdout=out)
        said[slug] = out.getvalue()
    assert "default scope global: every group sees it" in said["everyone"]
    assert "default scope" not in said["ledger"]


def test_a_home_with_groups_does_not_get_it(ledger: Group) -> None:
    User.objects.all().delete()
    create_first_access()
    assert not Group.objects.filter(slug="everyone").exists()


def test_a_new_person_contributes_to_it(everyone: Group) -> None:
    dora = add_person(operator(), "dora", PersonChange(), password=None)
    assert Membership.objects.get(user=dora).role == "contributor"
    assert store(agent(dora), Draft(RULE, group="everyone")).outcome == "created"


def test_a_group_that_bears_the_name_since_before_is_not_joined(db: None) -> None:
    Group.objects.create(slug="everyone")
    dora = add_person(operator(), "dora", PersonChange(), password=None)
    assert not Membership.objects.filter(user=dora).exists()


def test_a_project_is_not_sent_there(everyone: Group, alice: User) -> None:
    with pytest.raises(GroupRequired) as error:
        find_group(person(alice), None)
    assert error.value.hint == "There are no groups yet: name one, and the first store creates it."


def test_it_comes_last_in_lists(everyone: Group, ledger: Group, alice: User) -> None:
    assert [group.slug for group in entered_groups(person(alice))] == ["ledger", "everyone"]


def test_it_cannot_be_private(everyone: Group, alice: User) -> None:
    with pytest.raises(InvalidInput, match="cannot be private"):
        set_private(person(alice), "everyone", private=True)
    Group.objects.filter(pk=everyone.pk).delete()
    with pytest.raises(InvalidInput, match="cannot be private"):
        create_group(person(alice), "everyone", private=True)
