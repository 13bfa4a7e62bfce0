"""A site with OAuth switched on, and a program that registers itself."""

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import AsyncClient, Client
from django.urls import clear_url_caches
from pytest_django import Settings

# Before any test switches OAuth on: the module adds its addresses where it is on.
from tests.loci_site.oauth import site
from tests.people import alice, bob, charlie, garden, ledger

__all__ = ["alice", "bob", "charlie", "garden", "ledger"]

ORIGIN = "http://testserver"
AUDIENCE = f"{ORIGIN}/mcp"
BACK = "http://127.0.0.1:3334/callback"
VERIFIER = "a-verifier-that-is-long-enough-for-the-standard-0123456789"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture(autouse=True)
def switched_on(settings: Settings) -> Iterator[None]:
    settings.LOCI = replace(settings.LOCI, access=replace(settings.LOCI.access, oauth=True))
    settings.ROOT_URLCONF = site.__name__
    clear_url_caches()
    yield
    clear_url_caches()


@dataclass
class Program:
    """A program in the field: it registers, sends a person to the consent page, and trades the code."""

    client_id: str
    browser: Client
    raw: Client

    def ask(self, **changes: Any) -> Any:
        """Open the consent page in the person's browser."""
        return self.browser.get("/oauth/authorize/", self.asked(**changes))

    def asked(self, **changes: Any) -> dict[str, Any]:
        fields = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": BACK,
            "scope": "read write",
            "state": "st4te",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": AUDIENCE,
        } | changes
        return {name: value for name, value in fields.items() if value is not None}

    def allow(self, **changes: Any) -> Any:
        """Send the consent page's form."""
        form = self.asked() | {"allow": "yes", "rights": ["read", "write"], "everywhere": "on"} | changes
        form = {name: value for name, value in form.items() if value is not None}
        return self.browser.post("/oauth/authorize/", form)

    def code(self, **changes: Any) -> str:
        answer = self.allow(**changes)
        assert answer.status_code == 302, answer.content
        return landed(answer)["code"]

    def trade(self, **fields: Any) -> Any:
        return self.raw.post("/oauth/token/", {"client_id": self.client_id} | fields)

    def tokens(self, **changes: Any) -> dict[str, Any]:
        answer = self.trade(
            grant_type="authorization_code",
            code=self.code(**changes),
            redirect_uri=BACK,
            code_verifier=VERIFIER,
        )
        assert answer.status_code == 200, answer.content
        return dict(answer.json())

    def refresh(self, refresh_token: str) -> Any:
        return self.trade(grant_type="refresh_token", refresh_token=refresh_token)


def landed(answer: Any) -> dict[str, str]:
    """What the program gets in the address that the browser is sent to."""
    assert answer["Location"].startswith(BACK), answer["Location"]
    return {name: values[0] for name, values in parse_qs(urlsplit(answer["Location"]).query).items()}


def register(raw: Client, **changes: Any) -> Any:
    fields = {
        "client_name": "Field notes",
        "redirect_uris": [BACK],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    } | changes
    return raw.post("/oauth/register/", json.dumps(fields), content_type="application/json")


def program_of(user: User) -> Program:
    browser, raw = Client(), Client()
    browser.force_login(user)
    made = register(raw)
    assert made.status_code == 201, made.content
    return Program(made.json()["client_id"], browser, raw)


def call(secret: str, tool: str, **arguments: Any) -> Any:
    """Call a tool over /mcp; the HTTP answer."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": tool,
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    }
    headers = {
        "authorization": f"Bearer {secret}",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    post = async_to_sync(AsyncClient().post)
    return post("/mcp", json.dumps(body), content_type="application/json", headers=headers)


def result(secret: str, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = call(secret, tool, **arguments)
    assert answer.status_code == 200, answer.content
    return dict(answer.json()["result"])


@pytest.fixture
def program(bob: User) -> Program:
    """A program that Bob, contributor of `ledger`, is to let in."""
    return program_of(bob)
