"""A plain tools/call, read and answered letter by letter as the SDK's transport does it, at a tenth of the transport's cost.

What an agent sends all day is one shape of request. Whatever is shaped otherwise, in any part, is left to the SDK: it makes
every refusal, and a test compares both answers byte by byte.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mcp.server.connection import Connection
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    CallToolResult,
    TextContent,
)
from mcp_types.methods import validate_client_request
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import to_json

from loci_site.mcp.tools import TOOLS

_METHOD = "tools/call"
_HANDSHAKE = frozenset(version.encode() for version in HANDSHAKE_PROTOCOL_VERSIONS)
MODERN = frozenset(version.encode() for version in MODERN_PROTOCOL_VERSIONS)
_ACCEPTED = frozenset(
    {
        b"application/json, text/event-stream",
        b"application/json,text/event-stream",
        b"text/event-stream, application/json",
    }
)
OWN_KEYS = "io.modelcontextprotocol/"  # the protocol's own, in _meta
_ENVELOPE = frozenset({PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY})
_HALF_PAIRS = (b"\\ud", b"\\uD")  # half of a surrogate pair may be among them
STREAM_HEADERS = (
    (b"cache-control", b"no-cache, no-transform"),
    (b"content-type", b"text/event-stream"),
    (b"x-accel-buffering", b"no"),
)
PING = b": ping\r\n\r\n"
Headers = Mapping[bytes, bytes]
HeaderList = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True)
class PlainCall:
    """A call of a tool: `client` is the program's name where it says it, `is_modern` the era whose form the answer takes."""

    id: int | str
    tool: str
    arguments: dict[str, Any]
    client: str
    is_modern: bool


def plain_call(headers: Headers, body: bytes) -> PlainCall | None:
    """Read a request; None where anything about it is not plain."""
    is_modern = headers.get(b"mcp-protocol-version") in MODERN
    if not _has_plain_headers(headers, is_modern=is_modern) or any(half in body for half in _HALF_PAIRS):
        return None
    try:
        sent = json.loads(body.decode())
    except (ValueError, RecursionError):
        return None
    if type(sent) is not dict or sent.keys() != {"jsonrpc", "id", "method", "params"}:
        return None
    params = sent["params"]
    is_call = sent["jsonrpc"] == "2.0" and sent["method"] == _METHOD and type(sent["id"]) in (int, str)
    if not is_call or type(params) is not dict or not params.keys() <= {"name", "arguments", "_meta"}:
        return None
    tool, arguments = params.get("name"), params.get("arguments", {})
    if type(tool) is not str or tool not in TOOLS or type(arguments) is not dict:
        return None
    if is_modern and headers.get(b"mcp-name") != tool.encode():
        return None
    client = _client(headers, params.get("_meta", {}), is_modern=is_modern)
    return None if client is None else PlainCall(sent["id"], tool, arguments, client, is_modern)


def _has_plain_headers(headers: Headers, *, is_modern: bool) -> bool:
    if headers.get(b"content-type") != b"application/json" or headers.get(b"accept") not in _ACCEPTED:
        return False
    if any(name.startswith(b"mcp-param-") for name in headers):
        return False
    if is_modern:
        return headers.get(b"mcp-method") == _METHOD.encode()
    version = headers.get(b"mcp-protocol-version")
    return (version is None or version in _HANDSHAKE) and b"mcp-session-id" not in headers


def _client(headers: Headers, meta: Any, *, is_modern: bool) -> str | None:
    """The calling program's name, empty if it gives none; None if its envelope is not plain."""
    if type(meta) is not dict or type(meta.get("progressToken", 0)) not in (int, str):
        return None
    own = {name: value for name, value in meta.items() if name.startswith(OWN_KEYS)}
    if not is_modern:
        return "" if not own else None  # this era said it at initialize, to a server that keeps no session
    version = headers[b"mcp-protocol-version"].decode()
    if not own.keys() <= _ENVELOPE or own.get(PROTOCOL_VERSION_META_KEY) != version:
        return None
    return _client_of_envelope(version, json.dumps(own))


@lru_cache(maxsize=256)
def _client_of_envelope(version: str, envelope: str) -> str | None:
    """A program's description of itself, parsed by the SDK; the same in each of its calls."""
    meta = json.loads(envelope)
    try:
        validate_client_request(_METHOD, version, {"name": "", "_meta": meta})
    except ValidationError:
        return None
    capabilities = meta.get(CLIENT_CAPABILITIES_META_KEY)
    said = Connection.from_envelope(version, meta.get(CLIENT_INFO_META_KEY), capabilities).client_params
    return said.client_info.name[:120] if said else ""


def answer_bytes(call: PlainCall, result: CallToolResult, *, server_info: Mapping[str, Any]) -> bytes:
    """The answer as JSON, in the spelling of its era."""
    texts = [part.text for part in result.content if isinstance(part, TextContent)]
    shown: dict[str, Any] = {"content": [{"text": text, "type": "text"} for text in texts]}
    shown["isError"] = bool(result.is_error)
    if call.is_modern:
        shown["resultType"] = "complete"
    if result.structured_content is not None:
        shown["structuredContent"] = result.structured_content
    if call.is_modern:
        shown["_meta"] = {SERVER_INFO_META_KEY: server_info}
    body = {"jsonrpc": "2.0", "id": call.id, "result": shown}
    return json.dumps(body, separators=(",", ":")).encode() if call.is_modern else to_json(body)


def json_headers(body: bytes) -> HeaderList:
    """Headers of an immediate answer."""
    return ((b"content-length", str(len(body)).encode()), (b"content-type", b"application/json"))


def as_event(body: bytes) -> bytes:
    """A JSON answer as the single event of a stream."""
    return b"event: message\r\ndata: " + body + b"\r\n\r\n"
