"""The SDK's own client through the whole flow, against a real server process; it knows only the address."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.loci_site.mcp.processes import Installation, install, run_in, serving

pytestmark = [pytest.mark.server, pytest.mark.model]
BACK = "http://127.0.0.1:3334/callback"
PASSWORD = "a-long-password"
PEOPLE = f"""
from django.contrib.auth.models import User
from access.groups import create_group
from access.tokens import operator
from access.models import Membership
bob = User.objects.create_user("bob", password="{PASSWORD}")
for slug in ("ledger", "garden"):
    Membership.objects.create(user=bob, group=create_group(operator(), slug), role="contributor")
"""


@dataclass
class Memory:
    """What the client keeps between two starts."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass
class Person:
    """Bob in his browser: he logs in and lets the program into one group."""

    pages: list[str] = field(default_factory=list)
    landed: dict[str, str] = field(default_factory=dict)

    async def open(self, address: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=True, timeout=30) as browser:
            login = await browser.get(address)
            page = await self._send(browser, login, username="bob", password=PASSWORD)
            self.pages = [login.text, page.text]
            browser.follow_redirects = False
            allowed = await self._send(
                browser, page, allow="yes", rights=["read", "write"], groups=["ledger"], without="everywhere"
            )
            assert allowed.status_code == 302, allowed.text
            query = parse_qs(urlsplit(allowed.headers["Location"]).query)
            self.landed = {name: values[0] for name, values in query.items()}

    async def _send(self, browser: httpx2.AsyncClient, page: Any, *, without: str = "", **typed: Any) -> Any:
        hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.text))
        fields = {name: unescape(value) for name, value in hidden.items()} | typed
        return await browser.post(page.url, data=fields, headers={"Referer": str(page.url)})

    async def answer(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**self.landed)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    made = install(tmp_path_factory.mktemp("oauth"))
    run_in(made, PEOPLE)
    return made


@pytest.fixture(scope="module")
def url(installed: Installation) -> Iterator[str]:
    with serving(installed, LOCI_OAUTH="1") as address:
        yield address


def provider(url: str, kept: Memory, person: Person) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(
        client_name="SDK client",
        redirect_uris=[AnyUrl(BACK)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
    )
    return OAuthClientProvider(
        server_url=url,
        client_metadata=metadata,
        storage=kept,
        redirect_handler=person.open,
        callback_handler=person.answer,
    )


async def test_the_client_registers_is_let_in_works_and_gives_its_token_back(
    installed: Installation, url: str
) -> None:
    kept, person = Memory(), Person()
    async with (
        httpx2.AsyncClient(auth=provider(url, kept, person), timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        stored = await client.call_tool(
            "store_memory", {"content": "The gate opens at seven.", "group": "ledger", "scope": "group"}
        )
        assert not stored.is_error, stored.content
        beyond = await client.call_tool("memory_stats", {"group": "garden"})
        assert beyond.is_error
    assert "SDK client" in person.pages[1]
    assert kept.tokens is not None
    assert kept.client is not None
    assert kept.tokens.scope == "read write"
    said = run_in(
        installed,
        "from memories.models import Memory\nm = Memory.objects.get()\nprint(m.author, m.client, m.token)",
    )
    assert said == "bob SDK client SDK client"
    await revoke_and_be_refused(url, kept)


async def revoke_and_be_refused(url: str, kept: Memory) -> None:
    assert kept.tokens is not None
    assert kept.client is not None
    origin = url.removesuffix("/mcp")
    fields = {"client_id": kept.client.client_id, "token": kept.tokens.access_token}
    if kept.client.client_secret:
        fields["client_secret"] = kept.client.client_secret
    bearer = {"Authorization": f"Bearer {kept.tokens.access_token}"}
    async with httpx2.AsyncClient(timeout=30) as http:
        assert (await http.post(url, json={}, headers=bearer)).status_code != 401
        assert (await http.post(f"{origin}/oauth/revoke/", data=fields)).status_code == 200
        assert (await http.post(url, json={}, headers=bearer)).status_code == 401
