"""What the bridge refuses, and that it never answers with a crash."""

import json

import pytest
from django.test import AsyncClient

from tests.loci_site.mcp.bridge_site import LIMIT, signals, site, view
from tests.loci_site.mcp.wire import (
    ACCEPT,
    HOST,
    LEGACY,
    META,
    MODERN,
    body_of,
    call,
    exchange,
    modern_headers,
    post,
    tool_call,
)

__all__ = ["signals", "site", "view"]  # fixtures


@pytest.mark.parametrize("method", ["get", "delete", "put", "head"])
async def test_only_post_is_served(method: str) -> None:
    response = await getattr(AsyncClient(), method)("/mcp", headers={"accept": ACCEPT})
    assert response.status_code == 405
    assert response["Allow"] == "POST"


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://evil.example", 403),
        ("null", 403),
        (f"https://{HOST}", 403),  # another scheme is another origin
        (f"http://{HOST}:81", 403),
        (f"http://{HOST}", 200),
        ("https://app.example", 200),
    ],
)
async def test_a_browser_of_another_origin_is_refused(origin: str, status: int) -> None:
    body = tool_call("echo", {"text": "hello"})
    response = await post(body, modern_headers(body, origin=origin))
    assert response.status_code == status
    if status == 403:
        assert "allowed_origins" in json.loads(await body_of(response))["error"]["message"]


async def test_an_unknown_host_is_refused() -> None:
    body = tool_call("echo", {"text": "hello"})
    response = await post(body, modern_headers(body, host="evil.example"))
    assert response.status_code == 400


@pytest.mark.parametrize("version", [LEGACY, MODERN])
@pytest.mark.parametrize(
    "body",
    [
        b" ",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"jsonrpc": "2.0", "id": 1}',
        b"[" * LIMIT,
        b'{"jsonrpc": "2.0", "id": ' + b"9" * 1000 + b', "method": 5}',
    ],
    ids=["empty", "cut", "no utf-8", "batch", "null", "no method", "deep", "big number"],
)
async def test_what_is_no_request_is_a_400(version: str, body: bytes) -> None:
    headers = {"accept": ACCEPT, "mcp-protocol-version": version, "mcp-method": "tools/list"}
    response = await post(body, headers)
    assert response.status_code == 400
    assert "error" in json.loads(await body_of(response))


@pytest.mark.parametrize("version", [LEGACY, MODERN])
async def test_a_lone_surrogate_is_no_crash(version: str) -> None:
    body = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo",'
    body += b'"arguments":{"text":"\\ud800"},"_meta":' + json.dumps(META).encode() + b"}}"
    headers = {
        "accept": ACCEPT,
        "mcp-protocol-version": version,
        "mcp-method": "tools/call",
        "mcp-name": "echo",
    }
    response = await post(body, headers)
    assert response.status_code < 500
    assert b"Traceback" not in await body_of(response)


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp-method": "tools/list"},
        {"mcp-name": "whoami"},
        {"mcp-protocol-version": "2031-01-01"},
    ],
)
async def test_headers_that_contradict_the_body_are_a_400(headers: dict[str, str]) -> None:
    body = tool_call("echo", {"text": "hello"})
    response = await post(body, modern_headers(body) | headers)
    assert response.status_code == 400
    assert json.loads(await body_of(response))["error"]["code"] in (-32020, -32022)


async def test_white_space_around_a_header_does_not_count() -> None:
    body = tool_call("echo", {"text": "hello"})
    response = await post(body, modern_headers(body) | {"mcp-name": "  echo \t"})
    assert response.status_code == 200


async def test_a_duplicated_routing_header_is_a_400() -> None:
    body = tool_call("echo", {"text": "hello"})
    headers = [(name.encode(), value.encode()) for name, value in modern_headers(body).items()]
    status, _ = await exchange(body, [*headers, (b"mcp-name", b"echo")])
    assert status == 400


async def test_an_unknown_method_is_a_404() -> None:
    body = call("tools/forget", {"_meta": META})
    response = await post(body, modern_headers(body))
    assert response.status_code == 404
    assert json.loads(await body_of(response))["error"]["code"] == -32601


async def test_a_body_over_the_limit_is_a_413_that_names_the_limit() -> None:
    body = tool_call("echo", {"text": "x" * LIMIT})
    response = await post(body, modern_headers(body))
    assert response.status_code == 413
    error = json.loads(await body_of(response))
    assert (error["id"], error["error"]["code"]) == (None, -32600)
    assert "2048 bytes" in error["error"]["message"]


async def test_a_body_that_hides_its_length_is_held_to_the_limit_too() -> None:
    body = tool_call("echo", {"text": "x" * LIMIT})
    headers = [(name.encode(), value.encode()) for name, value in modern_headers(body).items()]
    status, _ = await exchange(body, headers)
    assert status == 413


@pytest.mark.parametrize("excess", [0, 1])
async def test_the_limit_itself_is_allowed(excess: int) -> None:
    padding = LIMIT - len(json.dumps(tool_call("echo", {"text": ""}))) + excess
    body = tool_call("echo", {"text": "x" * padding})
    assert len(json.dumps(body)) == LIMIT + excess
    response = await post(body, modern_headers(body))
    assert response.status_code == (413 if excess else 200)
