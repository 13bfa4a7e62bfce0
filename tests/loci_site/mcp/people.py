"""Alice owns two groups, Bob contributes to one of them, Charlie has an account and no role; each has an agent."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from mcp import Client
from mcp_types import CallToolResult

from access.actor import CREATE_GROUP, CURATE, READ, WRITE, Actor, Via
from access.models import Group, Membership
from access.tokens import actor_for_token, create_token, operator
from tests.loci_site.mcp.answers import fields_of
from tests.loci_site.mcp.answers import text_of as text_of  # most tests here need it with their people
from tests.mcp_server import client_of


@dataclass(frozen=True)
class Agent:
    """An agent in this process: each call goes through the SDK's own client and server, without HTTP."""

    actor: Actor
    secret: str = ""

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        async def work(client: Client) -> CallToolResult:
            return await client.call_tool(tool, arguments)

        return self.use(work)

    def answer(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What the answer to a call that has to succeed says, as fields."""
        result = self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        return fields_of(result)

    def error(self, tool: str, **arguments: Any) -> str:
        """The text of a call that has to fail."""
        result = self.call(tool, **arguments)
        assert result.is_error, text_of(result)
        assert result.structured_content is None
        return text_of(result)

    def use(self, work: Any) -> Any:
        """Run `work` with a connected client."""

        async def connected() -> Any:
            async with client_of(self.actor) as client:
                return await work(client)

        return async_to_sync(connected)()

    def narrowed(self, **changes: Any) -> "Agent":
        return Agent(replace(self.actor, **changes))


def make_group(slug: str, **roles: User) -> Group:
    """A group whose members are given as `role=user`."""
    group = Group.objects.create(slug=slug)
    for role, user in roles.items():
        Membership.objects.create(user=user, group=group, role=role)
    return group


def make_agent(user: User, *scopes: str, default_group: Group | None = None) -> Agent:
    """An agent with a token of its own."""
    made = create_token(operator(), user=user, name="agent", scopes=scopes, default_group=default_group)
    return Agent(actor_for_token(made.token, via=Via.MCP), made.secret)


def make_users() -> dict[str, User]:
    return {name: User.objects.create_user(name) for name in ("alice", "bob", "charlie")}


def make_groups(users: dict[str, User]) -> dict[str, Group]:
    ledger = make_group("ledger", admin=users["alice"], contributor=users["bob"])
    return {"ledger": ledger, "payroll": make_group("payroll", admin=users["alice"])}


def make_alice(users: dict[str, User], groups: dict[str, Group]) -> Agent:
    return make_agent(users["alice"], READ, WRITE, CURATE, CREATE_GROUP, default_group=groups["ledger"])


@pytest.fixture
def users(db: None) -> dict[str, User]:
    return make_users()


@pytest.fixture
def groups(users: dict[str, User]) -> dict[str, Group]:
    return make_groups(users)


@pytest.fixture
def alice(users: dict[str, User], groups: dict[str, Group]) -> Agent:
    return make_alice(users, groups)


@pytest.fixture
def bob(users: dict[str, User], groups: dict[str, Group]) -> Agent:
    return make_agent(users["bob"], READ, WRITE, default_group=groups["ledger"])


@pytest.fixture
def charlie(users: dict[str, User], groups: dict[str, Group]) -> Agent:
    return make_agent(users["charlie"], READ, WRITE)
