"""Whose a memory is whose author names no scope: the group's, unless a rule says otherwise."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.errors import InvalidInput
from access.groups import GroupChange, update_group
from access.models import Group
from maintenance.doctor.report import CheckStatus
from maintenance.doctor.rows import check_default_scope
from memories.draft import Draft, describe_kept_rule
from memories.models import IndexState, Memory
from memories.store import store
from memories.store.pieces import read_index_state
from tests.people import alice, ledger, person

__all__ = ["alice", "ledger"]
pytestmark = pytest.mark.django_db
TYPES = ("semantic", "procedural", "entity", "episodic")
OLD = ["global", "global", "global", "group"]
OWN = ["group"] * 4


@pytest.fixture
def scopes(alice: User, ledger: Group) -> Callable[[], list[str]]:
    """The scopes that one new memory of each type gets."""

    def read() -> list[str]:
        found = [store(person(alice), Draft(f"{t} words", group="ledger", type=t)).memory for t in TYPES]
        return [memory.scope for memory in found if memory is not None]

    return read


@pytest.fixture
def by_type(settings: Any) -> None:
    settings.LOCI = replace(settings.LOCI, access=replace(settings.LOCI.access, default_scope="by-type"))


@pytest.fixture
def upgraded(db: None) -> None:
    """What the migration writes into a store that has memories."""
    IndexState.objects.create(name="default_scope", value="by-type")


def test_everything_is_the_groups_own(scopes: Callable[[], list[str]]) -> None:
    assert scopes() == OWN


def test_the_setting_keeps_facts_global(by_type: None, scopes: Callable[[], list[str]]) -> None:
    assert scopes() == OLD


def test_a_store_with_memories_keeps_its_rule(upgraded: None, scopes: Callable[[], list[str]]) -> None:
    assert scopes() == OLD


def test_the_setting_wins_over_the_kept_rule(
    upgraded: None, settings: Any, scopes: Callable[[], list[str]]
) -> None:
    settings.LOCI = replace(settings.LOCI, access=replace(settings.LOCI.access, default_scope="group"))
    assert scopes() == OWN
    assert describe_kept_rule(read_index_state()) == ""
    assert (check_default_scope().verdict, check_default_scope().detail) == (
        CheckStatus.OK,
        "group (access.default_scope)",
    )


@pytest.mark.parametrize(("rule", "expected"), [("group", OWN), ("by-type", OLD), ("global", ["global"] * 4)])
def test_the_groups_own_rule_wins(
    by_type: None, alice: User, scopes: Callable[[], list[str]], rule: str, expected: list[str]
) -> None:
    update_group(person(alice), "ledger", GroupChange(default_scope=rule))
    assert scopes() == expected
    update_group(person(alice), "ledger", GroupChange(default_scope=""))
    Memory.objects.all().delete()
    assert scopes() == OLD


def test_a_private_group_has_nothing_global(
    by_type: None, ledger: Group, scopes: Callable[[], list[str]]
) -> None:
    Group.objects.update(private=True, default_scope="global")
    assert scopes() == OWN


@pytest.mark.parametrize("scope", ["group", "global"])
def test_a_successor_is_as_wide_as_what_it_replaces(alice: User, ledger: Group, scope: str) -> None:
    old = store(person(alice), Draft("The port is 80.", group="ledger", scope=scope)).memory
    assert old is not None
    new = store(person(alice), Draft("The port is 81.", group="ledger", supersedes=old.id)).memory
    assert new is not None
    assert new.scope == scope


def test_a_rule_that_is_none_is_refused(alice: User, ledger: Group) -> None:
    with pytest.raises(InvalidInput, match="'all' is not a rule for scopes") as error:
        update_group(person(alice), "ledger", GroupChange(default_scope="all"))
    assert error.value.field == "default_scope"


def test_the_doctor_tells_of_a_kept_rule(upgraded: None) -> None:
    found = check_default_scope()
    assert found.verdict is CheckStatus.NOTICE
    assert "A memory without a scope is stored by-type, as before the upgrade" in found.detail
    assert "loci group narrow" in found.detail


def test_the_doctor_names_the_rule_of_a_new_store(db: None) -> None:
    assert check_default_scope().detail == "group (the default)"
