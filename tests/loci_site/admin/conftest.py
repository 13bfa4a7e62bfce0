"""Browsers in the admin: alice is a superuser, bob curates `ledger`, charlie belongs to no group."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.groups.members import set_member
from access.models import Group
from access.tokens import operator
from memories.draft import Draft
from memories.models import Memory
from memories.store import store
from tests.model import encoder
from tests.people import alice, bob, charlie, garden, ledger, person

__all__ = ["alice", "bob", "charlie", "encoder", "garden", "ledger"]
Remember = Callable[..., Memory]


def browser_of(user: User) -> Client:
    """A browser in which the user is logged in."""
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


@pytest.fixture
def owner(alice: User) -> Client:
    """Alice's browser."""
    return browser_of(alice)


@pytest.fixture
def member(bob: User, ledger: Group) -> Client:
    """Bob's browser; he curates `ledger`."""
    set_member(operator(), ledger, user=bob, role="curator")
    return browser_of(bob)


@pytest.fixture
def stranger(charlie: User) -> Client:
    """Charlie's browser."""
    return browser_of(charlie)


@pytest.fixture
def remember(alice: User, ledger: Group, garden: Group) -> Remember:
    """Store a memory as alice, in `ledger` unless another group is named."""

    def remembered(content: str, *, group: str = "ledger", scope: str = "group", **fields: object) -> Memory:
        stored = store(person(alice), Draft(content, group=group, scope=scope, **fields))  # type: ignore[arg-type]
        assert stored.memory is not None, stored
        return stored.memory

    return remembered


def page(memory: Memory, name: str = "change") -> str:
    """URL of one of a memory's pages."""
    return f"/admin/memories/memory/{memory.id}/{name}/"
