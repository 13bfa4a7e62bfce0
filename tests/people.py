"""People of the tests: alice owns everything, bob is a contributor of one group, charlie belongs to none.

A fixture gives the row that a store shared by a file's tests has already (`shared_rows`), or makes it.
"""

from collections.abc import Iterable

import pytest
from django.contrib.auth.models import User

from access.actor import Actor, Via
from access.groups import create_group
from access.models import ApiToken, Group, Membership, Role
from access.tokens import actor_for_token, actor_for_user, create_token, operator


def the_owner() -> User:
    """Alice, a superuser."""
    found = User.objects.filter(username="alice").first()
    return found or User.objects.create_superuser("alice", password="a-long-password")


def the_group(slug: str) -> Group:
    """A group that alice made."""
    found = Group.objects.filter(slug=slug).first()
    return found or create_group(actor_for_user(the_owner(), via=Via.COMMAND), slug)


@pytest.fixture
def alice(db: None) -> User:
    """The owner: a superuser."""
    return the_owner()


@pytest.fixture
def ledger(alice: User) -> Group:
    """The group that bob works in."""
    return the_group("ledger")


@pytest.fixture
def garden(alice: User) -> Group:
    """A group that only alice may enter."""
    return the_group("garden")


@pytest.fixture
def bob(ledger: Group) -> User:
    """A member: contributor of `ledger` alone."""
    user, is_new = User.objects.get_or_create(username="bob")
    if is_new:
        user.set_password("a-long-password")
        user.save()
        Membership.objects.create(user=user, group=ledger, role=Role.CONTRIBUTOR)
    return user


@pytest.fixture
def charlie(db: None) -> User:
    """A user without a group."""
    return User.objects.create_user("charlie", password="a-long-password")


def make_token(
    user: User,
    *,
    name: str = "agent",
    scopes: Iterable[str] = ("read", "write"),
    groups: Iterable[Group] = (),
    default_group: Group | None = None,
    include_global: bool = True,
) -> tuple[ApiToken, str]:
    """A token of the user and its secret."""
    made = create_token(
        operator(), user=user, name=name, scopes=scopes,
        groups=groups, default_group=default_group, include_global=include_global,
    )  # fmt: skip
    return made.token, made.secret


def person(user: User) -> Actor:
    """The Actor of a logged-in user."""
    return actor_for_user(user, via=Via.ADMIN)


def agent(
    user: User,
    *,
    name: str = "agent",
    scopes: Iterable[str] = ("read", "write"),
    groups: Iterable[Group] = (),
    default_group: Group | None = None,
) -> Actor:
    """The Actor of an agent with a new token of the user."""
    token, _ = make_token(user, name=name, scopes=scopes, groups=groups, default_group=default_group)
    return actor_for_token(token, via=Via.MCP)
