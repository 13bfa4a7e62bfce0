"""/mcp through the whole of Django, in both eras: accepted callers and requests."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.test import Client as DjangoClient
from django.utils import timezone
from pytest_django import Settings

from access.models import ApiToken
from access.tokens import operator, revoke_token
from memories.models import Memory
from tests.loci_site.mcp.people import Agent
from tests.loci_site.mcp.wire import (
    ACCEPT,
    LEGACY,
    META,
    MODERN,
    body_of,
    call,
    events,
    modern_headers,
    post,
    tool_call,
)

pytestmark = pytest.mark.django_db
LIST = call("tools/list", {"_meta": tool_call("x")["params"]["_meta"]})


@dataclass(frozen=True)
class Reply:
    """A response, read to its end."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def message(self) -> dict[str, Any]:
        """The JSON message, or the last one of an event stream."""
        if self.headers["Content-Type"].startswith("text/event-stream"):
            return events(self.content)[-1]
        message: dict[str, Any] = json.loads(self.content)
        return message


def send(body: Any, secret: str | None, *, version: str = MODERN, **headers: str) -> Reply:
    """POST one message as a client of either era would, with the token."""
    message = body if isinstance(body, dict) else tool_call("store_memory")
    chosen = modern_headers(message, **headers)
    if version == LEGACY:
        chosen = {"accept": ACCEPT, "mcp-protocol-version": LEGACY, **headers}
    if secret is not None:
        chosen["authorization"] = f"Bearer {secret}"

    async def exchange() -> Reply:
        response = await post(body, chosen)
        return Reply(response.status_code, response.headers, await body_of(response))

    return async_to_sync(exchange)()


def refusal(reply: Reply) -> dict[str, Any]:
    assert reply.status == 401
    return reply.message


# --- Who asks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_token_opens_the_door_in_both_eras(alice: Agent, version: str) -> None:
    response = send(LIST, alice.secret, version=version)
    assert response.status == 200
    names = [tool["name"] for tool in response.message["result"]["tools"]]
    assert names[:2] == ["recall_memory", "store_memory"]
    assert len(names) == 8


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_no_token_is_told_how_to_send_one(db: None, version: str) -> None:
    response = send(LIST, None, version=version)
    error = refusal(response)
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="loci"'
    assert (error["code"], error["message"]) == ("not_authenticated", "A token is needed.")
    assert "Authorization: Bearer" in error["hint"]


def test_a_wrong_token_is_refused_and_not_repeated(alice: Agent, caplog: pytest.LogCaptureFixture) -> None:
    secret = "loci_" + "x" * 43
    response = send(LIST, secret)
    assert refusal(response)["message"] == "The token is not known."
    assert 'error="invalid_token"' in response.headers["WWW-Authenticate"]
    assert secret not in response.headers["WWW-Authenticate"] + caplog.text
    assert secret.encode() not in response.content


def test_a_revoked_token_is_refused(alice: Agent) -> None:
    token = ApiToken.objects.get(key=alice.actor.token_key)
    revoke_token(operator(), token)
    assert refusal(send(LIST, alice.secret))["message"] == "The token is revoked or has expired."


def test_an_expired_token_is_refused(alice: Agent) -> None:
    ApiToken.objects.filter(key=alice.actor.token_key).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )
    assert refusal(send(LIST, alice.secret))["message"] == "The token is revoked or has expired."


def test_a_token_of_somebody_who_was_shut_out_is_refused(alice: Agent) -> None:
    User.objects.update(is_active=False)
    assert refusal(send(LIST, alice.secret))["message"] == "The token is not known."


def test_another_kind_of_authorization_is_no_token(alice: Agent) -> None:
    assert refusal(send(LIST, None, authorization=f"Basic {alice.secret}"))["message"] == "A token is needed."


def test_a_token_is_never_logged(alice: Agent, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    send(tool_call("store_memory", {"content": ""}), alice.secret)
    assert alice.secret not in caplog.text


def test_the_audit_log_names_the_client_and_the_token(alice: Agent) -> None:
    response = send(
        tool_call("store_memory", {"content": "The gate opens at seven.", "group": "ledger"}), alice.secret
    )
    assert response.message["result"]["structuredContent"]["outcome"] == "created"
    memory = Memory.objects.get()
    assert (memory.author_name, memory.client, memory.token_id) == (
        "alice/agent",
        "tests",
        alice.actor.token_key,
    )


def test_a_foreign_origin_is_refused(alice: Agent) -> None:
    assert send(LIST, alice.secret, origin="https://evil.example").status == 403


def test_a_foreign_host_is_refused(alice: Agent) -> None:
    assert send(LIST, alice.secret, host="evil.example").status == 400


def test_only_post_is_answered(alice: Agent) -> None:
    headers = {"authorization": f"Bearer {alice.secret}"}
    assert DjangoClient().get("/mcp", headers=headers).status_code == 405
    assert DjangoClient().delete("/mcp", headers=headers).status_code == 405


# --- What comes in --------------------------------------------------------------------------------------------------


def test_what_depends_on_the_token_is_cached_for_it_alone(alice: Agent) -> None:
    result = send(LIST, alice.secret).message["result"]
    assert result["cacheScope"] == "private"


def test_five_megabytes_are_too_much(alice: Agent) -> None:
    body = tool_call("store_memory", {"content": "x" * 5_000_000})
    assert send(body, alice.secret).status == 413
    assert not Memory.objects.exists()


@pytest.mark.parametrize("content", [b"{", b"", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"jsonrpc": "2.0"'])
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_malformed_json_is_a_bad_request(alice: Agent, content: bytes, version: str) -> None:
    response = send(content, alice.secret, version=version)
    assert response.status == 400
    assert response.content


@pytest.mark.parametrize("version", [LEGACY, MODERN])
@pytest.mark.parametrize(
    "arguments",
    [
        r'{"content": "half \ud800 a pair"}',
        r'{"content": "x", "tags": ["\udfff"]}',
        r'{"content": "x", "group": "\ud800"}',
        r'{"content": "x", "type": "\ud800"}',
        r'{"content": "x", "source": "\ud800"}',
        r'{"content": "x", "valid_from": "\ud800"}',
        r'{"content": "x", "supersedes": "\ud800"}',
        r'{"content": "x", "metadata": {"a": "\ud800"}}',
        r'{"content": "x", "metadata": {"\ud800": 1}}',
        r'{"content": "x", "\ud800": 1}',
    ],
)
def test_half_a_surrogate_pair_is_refused_clearly(alice: Agent, arguments: str, version: str) -> None:
    body = json.dumps(tool_call("store_memory")).replace('"arguments": {}', f'"arguments": {arguments}')
    response = send(body.encode(), alice.secret, version=version)
    assert response.status in (200, 400)
    message = response.message
    assert message.get("error") or message["result"]["isError"]
    assert not Memory.objects.exists()


def test_an_unknown_method_is_not_found(alice: Agent) -> None:
    body = call("memories/list", {"_meta": LIST["params"]["_meta"]})
    assert send(body, alice.secret).status == 404


def test_a_fault_of_ours_names_a_reference_that_is_in_the_log(
    alice: Agent, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise DatabaseError("no such column on /secret/place")

    monkeypatch.setattr("loci_site.mcp.tools.store", fail)
    result = send(tool_call("store_memory", {"content": "x"}), alice.secret).message["result"]
    text = result["content"][0]["text"]
    assert result["isError"]
    assert text.startswith("store_memory failed inside Loci.")
    assert "secret" not in text
    reference = text.split("reference ")[1].split(".")[0]
    assert reference in caplog.text
    assert "no such column" in caplog.text


def test_a_larger_limit_lets_a_large_text_reach_the_tool(alice: Agent, settings: Settings) -> None:
    settings.LOCI = replace(settings.LOCI, server=replace(settings.LOCI.server, max_body_bytes=8_000_000))
    result = send(tool_call("store_memory", {"content": "x" * 5_000_000}), alice.secret).message["result"]
    assert result["isError"]
    assert "5,000,000 characters; at most 100,000" in result["content"][0]["text"]


@pytest.mark.parametrize("version", [LEGACY, MODERN])
@pytest.mark.parametrize("place", ["method", "resource", "prompt", "tool"])
def test_an_error_masks_a_secret_that_it_quotes(alice: Agent, place: str, version: str) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    method, params = {
        "method": (secret, {}),
        "resource": ("resources/read", {"uri": f"loci://{secret}"}),
        "prompt": ("prompts/get", {"name": secret}),
        "tool": ("tools/call", {"name": secret, "arguments": {}}),
    }[place]
    body = call(method, params | {"_meta": META} if version == MODERN else params)
    said = send(body, alice.secret, version=version).content.decode()
    assert "rror" in said
    assert secret not in said
