"""Browsers in the workspace: bob contributes to `ledger`, vera reads it, charlie belongs to no group."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.models import Group, Membership, Role
from memories.draft import Draft
from memories.models import Memory
from memories.store import store
from tests.model import encoder
from tests.people import alice, bob, charlie, garden, ledger, person

__all__ = ["alice", "bob", "charlie", "encoder", "garden", "ledger"]
Remember = Callable[..., Memory]
PASSWORD = "a-long-password"


def browser_of(user: User) -> Client:
    """A browser in which that person is logged in."""
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


@pytest.fixture
def member(bob: User) -> Client:
    """Bob's browser."""
    return browser_of(bob)


@pytest.fixture
def viewer(ledger: Group) -> Client:
    """Vera's browser."""
    vera = User.objects.create_user("vera", password=PASSWORD)
    Membership.objects.create(user=vera, group=ledger, role=Role.VIEWER)
    return browser_of(vera)


@pytest.fixture
def stranger(charlie: User) -> Client:
    """Charlie's browser."""
    return browser_of(charlie)


@pytest.fixture
def remember(alice: User, ledger: Group, garden: Group) -> Remember:
    """Store a memory as alice, by default for `ledger` only."""

    def remembered(content: str, *, group: str = "ledger", scope: str = "group", **fields: object) -> Memory:
        stored = store(person(alice), Draft(content, group=group, scope=scope, **fields))  # type: ignore[arg-type]
        assert stored.memory is not None, stored
        return stored.memory

    return remembered
