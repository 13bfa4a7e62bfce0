"""/mcp past Django's request cycle: a plain call gets the answer, headers and refusals that it gets through it."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.utils import timezone
from pytest_django import Settings

from access.models import ApiToken
from access.tokens import operator, revoke_token
from loci_site.mcp import tools
from loci_site.mcp.transports import asgi as mount
from tests.loci_site.mcp.people import Agent
from tests.loci_site.mcp.wire import ACCEPT, LEGACY, call, events, modern_headers, tool_call

pytestmark = pytest.mark.django_db
STATS = tool_call("memory_stats")


@pytest.fixture(autouse=True)
def one_connection(settings: Settings, tmp_path: Path) -> Iterator[None]:
    """Django closes connections at a request's ends; here they are the test's own. No static files are read."""
    settings.WHITENOISE_USE_FINDERS = False
    settings.STATIC_ROOT = str(tmp_path)
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@dataclass(frozen=True)
class Reply:
    """A response, and whether Django made it."""

    status: int
    headers: dict[str, str]
    body: bytes
    was_passed: bool


def send(message: dict[str, Any], secret: str | None, *, force_django: bool = False, **headers: str) -> Reply:
    """Send a message to the mount as the server would, or straight to Django."""
    return async_to_sync(_send)(json.dumps(message).encode(), secret, message, force_django, headers)


async def _send(
    body: bytes, secret: str | None, message: dict[str, Any], force_django: bool, headers: dict[str, str]
) -> Reply:
    passed: list[bool] = []
    sent: list[dict[str, Any]] = []
    inbox = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return inbox.pop() if inbox else await asyncio.get_running_loop().create_future()

    async def note(part: Any) -> None:
        sent.append(part)

    async def django(*args: Any) -> None:
        passed.append(True)
        await ASGIHandler()(*args)

    scope = _scope(body, secret, modern_headers(message) | headers)
    if force_django:
        await django(scope, receive, note)
    else:
        await mount.serve_or_pass(scope, receive, note, rest=django)
    found = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    content = b"".join(part.get("body", b"") for part in sent[1:])
    return Reply(sent[0]["status"], found, content, bool(passed))


def _scope(body: bytes, secret: str | None, headers: dict[str, str]) -> dict[str, Any]:
    own = {"host": "testserver", "content-type": "application/json", "content-length": str(len(body))}
    if secret is not None:
        own["authorization"] = f"Bearer {secret}"
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": mount.PATH,
        "raw_path": b"/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in (own | headers).items() if v],
        "client": ("127.0.0.1", 5000),
        "server": ("testserver", 80),
    }


@pytest.mark.parametrize(
    "message",
    [
        STATS,
        tool_call("memory_stats", {"group": "nowhere"}),
        tool_call("recall_memory", {"query": "", "colour": "red"}),
    ],
)
def test_a_plain_call_is_answered_as_django_answers_it(alice: Agent, message: dict[str, Any]) -> None:
    short, whole = send(message, alice.secret), send(message, alice.secret, force_django=True)
    assert (short.was_passed, whole.was_passed) == (False, True)
    assert (short.status, short.body) == (whole.status, whole.body)
    assert short.headers == whole.headers


@pytest.mark.parametrize(
    "message",
    [
        tool_call("no_such_tool"),
        call("tools/list", {"_meta": STATS["params"]["_meta"]}),
        call("no/method", {"_meta": STATS["params"]["_meta"]}),
        call("tools/call", {"name": "memory_stats"}),
    ],
)
def test_any_other_message_reaches_django_whole(alice: Agent, message: dict[str, Any]) -> None:
    passed, whole = send(message, alice.secret), send(message, alice.secret, force_django=True)
    assert passed.was_passed
    assert passed == whole


def test_a_client_of_the_older_era_gets_its_stream(alice: Agent) -> None:
    message = call("tools/call", {"name": "memory_stats", "arguments": {}})
    headers = {"accept": ACCEPT, "mcp-protocol-version": LEGACY, "mcp-method": "", "mcp-name": ""}
    reply = send(message, alice.secret, **headers)
    assert not reply.was_passed
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert events(reply.body)[-1]["id"] == 7


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "https://evil.example"}, 403),
        ({"host": "evil.example"}, 400),
        ({"authorization": "Basic YTpi"}, 401),
        ({"content-length": str(2**40)}, 413),
        ({"content-length": ""}, 200),
    ],
)
def test_what_has_to_be_judged_is_left_to_django(alice: Agent, headers: dict[str, str], status: int) -> None:
    reply = send(STATS, alice.secret, **headers)
    assert (reply.was_passed, reply.status) == (True, status)


def test_nobody_without_a_valid_token_comes_in(alice: Agent) -> None:
    assert send(STATS, alice.secret).status == 200
    assert send(STATS, None).status == 401
    assert send(STATS, "loci_wrong").status == 401
    token = ApiToken.objects.get(name=alice.actor.name.partition("/")[2])
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert send(STATS, alice.secret).status == 401
    ApiToken.objects.filter(pk=token.pk).update(expires_at=None)
    assert send(STATS, alice.secret).status == 200
    revoke_token(operator(), token)
    refused = send(STATS, alice.secret)
    assert (refused.status, refused.was_passed) == (401, True)


def test_a_header_that_comes_twice_is_left_to_django(alice: Agent) -> None:
    scope = _scope(b"{}", alice.secret, {})
    assert mount._is_ordinary(scope, dict(scope["headers"]))
    scope["headers"].append((b"authorization", b"Bearer loci_other"))
    assert not mount._is_ordinary(scope, dict(scope["headers"]))


def test_a_proxy_that_names_the_host_is_left_to_django(alice: Agent, settings: Settings) -> None:
    settings.USE_X_FORWARDED_HOST = True
    assert send(STATS, alice.secret).was_passed


def test_a_client_that_goes_ends_its_call(alice: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []

    async def endless(job: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    monkeypatch.setattr(tools, "run_for_caller", endless)
    body = json.dumps(STATS).encode()
    scope = _scope(body, alice.secret, modern_headers(STATS))
    sent: list[Any] = []

    async def exchange() -> None:
        inbox: list[dict[str, Any]] = [
            {"type": "http.disconnect"},
            {"type": "http.request", "body": body, "more_body": False},
        ]

        async def receive() -> dict[str, Any]:
            if len(inbox) == 1:
                await asyncio.sleep(0.05)  # the call has begun by then
            return inbox.pop()

        async def note(part: Any) -> None:
            sent.append(part)

        await asyncio.wait_for(mount.serve_or_pass(scope, receive, note, rest=ASGIHandler()), 10)

    async_to_sync(exchange)()
    assert ended == ["cancelled"]
    assert sent == []


def test_a_client_that_goes_before_its_request_is_there_is_forgotten(alice: Agent) -> None:
    scope = _scope(b"{}", alice.secret, modern_headers(STATS))
    sent: list[Any] = []

    async def exchange() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        async def note(part: Any) -> None:
            sent.append(part)

        await mount.serve_or_pass(scope, receive, note, rest=ASGIHandler())

    async_to_sync(exchange)()
    assert sent == []
