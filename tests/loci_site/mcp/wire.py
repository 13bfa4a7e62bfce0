"""MCP requests as clients of both eras put them on the wire, and what comes back."""

import json
from typing import Any

from asgiref.testing import ApplicationCommunicator
from django.core.handlers.asgi import ASGIHandler
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import AsyncClient

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
}
ACCEPT = "application/json, text/event-stream"
HOST = "testserver"


def call(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}


def tool_call(name: str, arguments: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    """A tools/call as a client of the modern era sends it."""
    return call("tools/call", {"name": name, "arguments": arguments or {}, "_meta": {**META, **meta}})


def modern_headers(body: dict[str, Any], **others: str) -> dict[str, str]:
    headers = {"accept": ACCEPT, "mcp-protocol-version": MODERN, "mcp-method": body["method"]}
    if "name" in body["params"]:
        headers["mcp-name"] = body["params"]["name"]
    return headers | others


async def post(body: Any, headers: dict[str, str] | None = None) -> HttpResponseBase:
    """POST `body` (bytes as they are) to /mcp through the whole of Django's ASGI stack."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response: HttpResponseBase = await AsyncClient().post(
        "/mcp", data=content, content_type="application/json", headers=headers or {"accept": ACCEPT}
    )
    return response


async def body_of(response: HttpResponseBase) -> bytes:
    if isinstance(response, StreamingHttpResponse):
        return b"".join([chunk async for chunk in response])
    return response.content  # type: ignore[attr-defined]


def events(body: bytes) -> list[dict[str, Any]]:
    """The JSON messages of an event stream."""
    lines = body.decode().splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]


def text_of(message: dict[str, Any]) -> str:
    text: str = message["result"]["content"][0]["text"]
    return text


def communicator(body: dict[str, Any], headers: list[tuple[bytes, bytes]]) -> ApplicationCommunicator:
    """A connection to Django's own ASGI handler, as a server would make it."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(b"host", HOST.encode()), (b"content-type", b"application/json"), *headers],
        "client": ("127.0.0.1", 5000),
        "server": (HOST, 80),
    }
    return ApplicationCommunicator(ASGIHandler(), scope)


async def exchange(body: dict[str, Any], headers: list[tuple[bytes, bytes]]) -> tuple[int, bytes]:
    """Send a request without a Content-Length; its status and body."""
    connection = communicator(body, headers)
    await connection.send_input({"type": "http.request", "body": json.dumps(body).encode()})
    status: int = (await connection.receive_output())["status"]
    content = b""
    more = True
    while more:
        message = await connection.receive_output()
        content += message.get("body", b"")
        more = message.get("more_body", False)
    await connection.wait()
    return status, content
