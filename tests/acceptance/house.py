"""A person with every face at hand: the services, the browser, REST, MCP and the commands."""

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from mcp import Client as McpClient
from mcp.shared.exceptions import MCPError

from access.actor import Actor
from access.models import Group
from access.tokens import actor_for_secret
from tests.loci_site.mcp.answers import fields_of, text_of
from tests.mcp_server import client_of
from tests.people import make_token, person

EVERY_RIGHT = ("read", "write", "curate", "admin", "create-group")


@dataclass(frozen=True)
class House:
    """A person with a browser, and an agent that holds a token of this person. What a face refuses is its answer."""

    user: User
    secret: str

    @classmethod
    def of(cls, user: User, *, scopes: Iterable[str] = EVERY_RIGHT, groups: Iterable[Group] = ()) -> "House":
        return cls(user, make_token(user, name="house", scopes=scopes, groups=groups)[1])

    @property
    def person(self) -> Actor:
        return person(self.user)

    @property
    def agent(self) -> Actor:
        return actor_for_secret(self.secret, via="mcp")

    def rest(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Status and text of a REST answer."""
        client = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {self.secret}"})
        sent: dict[str, Any] = {} if method == "get" else {"data": json.dumps(body or {})}
        if sent:
            sent["content_type"] = "application/json"
        response = getattr(client, method)(f"/api{path}", **sent)
        return response.status_code, plain(response.content.decode())

    def page(self, address: str) -> str:
        """An admin page as the person's browser receives it."""
        client = Client(raise_request_exception=False)
        client.force_login(User.objects.get(pk=self.user.pk))
        return str(client.get(address, follow=True).content.decode())

    def mcp(self, work: Any) -> Any:
        """Run `work` with a client connected to the real MCP server."""
        actor = self.agent

        async def connected() -> Any:
            async with client_of(actor) as client:
                return await work(client)

        return async_to_sync(connected)()

    def tool(self, name: str, **arguments: Any) -> Any:
        """Call a tool; give the result, which may be an error."""

        async def work(client: McpClient) -> Any:
            return await client.call_tool(name, arguments)

        return self.mcp(work)

    def fields(self, name: str, **arguments: Any) -> dict[str, Any]:
        """What a tool's answer says."""
        return fields_of(self.tool(name, **arguments))

    def tool_text(self, name: str, **arguments: Any) -> str:
        """The text of a tool's answer, which has all of it."""
        return text_of(self.tool(name, **arguments))

    def resource(self, uri: str) -> str:
        async def work(client: McpClient) -> str:
            try:
                (content,) = (await client.read_resource(uri)).contents
            except MCPError as refused:
                return refused.message
            return content.text  # type: ignore[union-attr]

        return str(self.mcp(work))

    def prompt(self, name: str, **arguments: str) -> str:
        async def work(client: McpClient) -> str:
            try:
                (message,) = (await client.get_prompt(name, arguments)).messages
            except MCPError as refused:
                return refused.message
            return message.content.text  # type: ignore[union-attr]

        return str(self.mcp(work))


def command(*words: str | Path) -> str:
    """A command's output, or its error."""
    out = io.StringIO()
    try:
        call_command(*map(str, words), stdout=out, stderr=out)
    except CommandError as refused:
        return f"{out.getvalue()}{refused}"
    except SystemExit:
        pass
    return plain(out.getvalue())


def plain(text: str) -> str:
    """JSON without escaped letters."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text
