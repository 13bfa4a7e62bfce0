"""The bridge between Django's views and the SDK's transport, in both eras of the protocol."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.test import AsyncRequestFactory
from mcp import Client as MCPClient
from mcp.client.streamable_http import streamable_http_client
from pytest_django import Settings

from tests.loci_site.mcp.bridge_site import Signals, caller, signals, site, view
from tests.loci_site.mcp.wire import (
    ACCEPT,
    HOST,
    LEGACY,
    MODERN,
    body_of,
    call,
    communicator,
    events,
    modern_headers,
    post,
    text_of,
    tool_call,
)

__all__ = ["signals", "site", "view"]  # fixtures

# --- Both eras -------------------------------------------------------------------------------------------


async def test_a_client_of_the_handshake_era_is_answered_with_events() -> None:
    initialize = call(
        "initialize",
        {
            "protocolVersion": LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"},
        },
    )
    response = await post(initialize)
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/event-stream")
    (message,) = events(await body_of(response))
    assert message["result"]["protocolVersion"] == LEGACY
    assert message["result"]["serverInfo"]["name"] == "bridge-tests"
    assert "Mcp-Session-Id" not in response


async def test_a_tool_of_the_handshake_era_needs_no_session() -> None:
    headers = {"accept": ACCEPT, "mcp-protocol-version": LEGACY}
    response = await post(call("tools/call", {"name": "echo", "arguments": {"text": "hé"}}), headers)
    (message,) = events(await body_of(response))
    assert text_of(message) == "hé"


async def test_a_client_of_the_modern_era_is_answered_with_json() -> None:
    body = tool_call("echo", {"text": "hello"})
    response = await post(body, modern_headers(body))
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    message = json.loads(await body_of(response))
    assert (message["id"], text_of(message)) == (7, "hello")
    assert message["result"]["resultType"] == "complete"


async def test_progress_turns_a_modern_answer_into_events() -> None:
    body = tool_call("count", progressToken="p1")
    response = await post(body, modern_headers(body))
    assert response["Content-Type"].startswith("text/event-stream")
    *progress, result = events(await body_of(response))
    assert [message["params"]["progress"] for message in progress] == [1, 2, 3]
    assert text_of(result) == "counted"


async def test_progress_reaches_a_client_of_the_handshake_era() -> None:
    params = {"name": "count", "arguments": {}, "_meta": {"progressToken": "p1"}}
    response = await post(call("tools/call", params), {"accept": ACCEPT, "mcp-protocol-version": LEGACY})
    *progress, result = events(await body_of(response))
    assert [message["params"]["progress"] for message in progress] == [1, 2, 3]
    assert text_of(result) == "counted"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdks_own_client_lists_and_calls_tools(mode: Any) -> None:
    transport = httpx2.ASGITransport(app=ASGIHandler())
    headers = {"Authorization": "Bearer alice"}
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers) as http_client,
        MCPClient(streamable_http_client(f"http://{HOST}/mcp", http_client=http_client), mode=mode) as client,
    ):
        tools = await client.list_tools()
        assert [tool.name for tool in tools.tools] == ["echo", "whoami", "count", "crash", "refuse", "wait"]
        answer = await client.call_tool("whoami", {})
        assert answer.content[0].text == "Bearer alice"  # type: ignore[union-attr]
        assert client.protocol_version == (MODERN if mode == "auto" else LEGACY)


# --- What a tool says ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [LEGACY, MODERN])
async def test_the_text_of_a_crash_stays_on_the_server(
    version: str, caplog: pytest.LogCaptureFixture
) -> None:
    body = tool_call("crash")
    headers = modern_headers(body) | {"mcp-protocol-version": version}
    answer = await body_of(await post(body, headers))
    assert b"swordfish" not in answer
    assert b"Error executing tool crash" in answer
    assert "swordfish" in caplog.text


async def test_the_text_of_a_tool_error_reaches_the_agent() -> None:
    body = tool_call("refuse")
    message = json.loads(await body_of(await post(body, modern_headers(body))))
    assert message["result"]["isError"] is True
    assert text_of(message) == "Error executing tool refuse: No such group. Name another one."


@pytest.mark.parametrize("version", [LEGACY, MODERN])
async def test_the_views_context_reaches_the_tool(version: str) -> None:
    body = tool_call("whoami")
    headers = modern_headers(body, authorization="Bearer bob") | {"mcp-protocol-version": version}
    assert b"Bearer bob" in await body_of(await post(body, headers))
    assert caller.get() == "nobody"


# --- Clients that go -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "progress", "messages"),
    [(MODERN, False, 0), (MODERN, True, 2), (LEGACY, False, 1), (LEGACY, True, 2)],
    ids=["before the head", "in the stream", "legacy, after the head", "legacy, in the stream"],
)
async def test_a_client_that_goes_cancels_its_tool(
    version: str, progress: bool, messages: int, signals: Signals
) -> None:
    body = tool_call("wait", **({"progressToken": "p1"} if progress else {}))
    headers = modern_headers(body) | {"mcp-protocol-version": version}
    connection = communicator(body, [(name.encode(), value.encode()) for name, value in headers.items()])
    await connection.send_input({"type": "http.request", "body": json.dumps(body).encode()})
    await signals.started.wait()
    seen = [await connection.receive_output() for _ in range(messages)]
    assert [message["type"] for message in seen] == ["http.response.start", "http.response.body"][:messages]
    await connection.send_input({"type": "http.disconnect"})
    await connection.wait()
    await signals.cancelled.wait()


async def test_nothing_runs_on_after_an_answer(view: Callable[[HttpRequest], Any]) -> None:
    before = asyncio.all_tasks()
    body = tool_call("count", progressToken="p1")
    await body_of(await post(body, modern_headers(body)))
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("end", ["closed", "left"])
async def test_a_response_that_nobody_reads_does_not_keep_its_tool(
    end: str, signals: Signals, view: Callable[[HttpRequest], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if end == "left":
        monkeypatch.setattr("loci_site.mcp.transports.django_view.UNREAD_S", 0)
    body = tool_call("wait", progressToken="p1")
    request = AsyncRequestFactory().post(
        "/mcp",
        data=json.dumps(body).encode(),
        content_type="application/json",
        headers=modern_headers(body),
    )
    response = await view(request)
    assert response.streaming
    await signals.started.wait()
    if end == "closed":
        await asyncio.to_thread(response.close)  # as Django's handler does
    await signals.cancelled.wait()


async def test_a_large_answer_is_whole(settings: Settings) -> None:
    settings.LOCI = replace(settings.LOCI, server=replace(settings.LOCI.server, max_body_bytes=2**20))
    text = "é" * 100_000
    body = tool_call("echo", {"text": text})
    message = json.loads(await body_of(await post(body, modern_headers(body))))
    assert text_of(message) == text
