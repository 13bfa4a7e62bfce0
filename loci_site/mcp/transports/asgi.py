"""/mcp without Django's request cycle, for the call of a tool: what an agent sends all day.

Only plain calls take this path: POST, an allowed host, no Origin, a valid token. Everything else goes to Django, so that each
refusal is made and worded in one place.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.http.request import split_domain_port, validate_host
from starlette.types import Receive, Scope, Send

from access.actor import Actor, Via
from access.errors import NotAuthenticated
from access.groups.guarding import safe_label
from access.tokens import bearer_secret
from loci_site.config.middleware import DATA as POLICY
from loci_site.mcp.server import run_tool
from loci_site.mcp.transports.django_view import find_actor, mcp_server, receiver
from loci_site.mcp.transports.fast_path import (
    PING,
    STREAM_HEADERS,
    HeaderList,
    PlainCall,
    answer_bytes,
    as_event,
    json_headers,
    plain_call,
)

PATH = "/mcp"
PING_S = 15.0  # as the SDK has it
# What Django's middleware adds to each of its answers.
_ADDED_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", POLICY.encode()),
)
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = dict[bytes, bytes]


async def serve_or_pass(scope: Scope, receive: Receive, send: Send, *, rest: Application) -> None:
    """Answer an agent's plain call of a tool; hand any other request to `rest`, which is Django."""
    headers = dict(scope["headers"])
    actor = await _caller(headers) if _is_ordinary(scope, headers) else None
    if actor is None:
        await rest(scope, receive, send)
        return
    body = await _read_body(receive)
    if body is None:  # the client has gone
        return
    call = plain_call(headers, body)
    if call is None:
        await rest(scope, receiver(body, then=receive), send)
    else:
        await _answer_plain(actor, call, send, receive)


def _is_ordinary(scope: Scope, headers: Headers) -> bool:
    """Whether Django has nothing to decide about a request; cheap checks first.

    Django serves clients that announce no length, and judges the host behind a proxy that names it.
    """
    if scope["method"] != "POST" or b"origin" in headers or b"authorization" not in headers:
        return False
    if len(headers) != len(scope["headers"]):  # one of them came twice
        return False
    length = headers.get(b"content-length", b"")
    if not length.isdigit() or int(length) > settings.LOCI.server.max_body_bytes:
        return False
    domain, _ = split_domain_port(headers.get(b"host", b"").decode("latin-1"))
    is_known = bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
    return is_known and not settings.USE_X_FORWARDED_HOST


async def _caller(headers: Headers) -> Actor | None:
    secret = bearer_secret(headers[b"authorization"].decode("latin-1"))
    try:
        return await find_actor(secret, via=Via.MCP) if secret else None
    except (NotAuthenticated, OperationalError):
        return None


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body, whose announced length is bounded; None if the client disconnects before its end."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _answer_plain(actor: Actor, call: PlainCall, send: Send, receive: Receive) -> None:
    """Run the tool and send what it answers; a stream is opened for one that takes long, so that no proxy gives up."""
    caller = replace(actor, client=safe_label(call.client)) if call.client and not actor.client else actor
    working = asyncio.ensure_future(run_tool(caller, call.tool, call.arguments))
    watching = asyncio.ensure_future(_gone(receive))
    is_open = False
    try:
        while True:
            done, _ = await asyncio.wait(
                [working, watching], timeout=PING_S, return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                break
            if not is_open:
                await _start(send, STREAM_HEADERS)
                is_open = True
            await send({"type": "http.response.body", "body": PING, "more_body": True})
    finally:
        watching.cancel()
        if not working.done():
            working.cancel()
            await asyncio.wait([working])
    if working.cancelled():  # the client has gone
        return
    body = answer_bytes(call, working.result(), server_info=_server_info())
    is_stream = is_open or not call.is_modern
    if not is_open:
        await _start(send, STREAM_HEADERS if is_stream else json_headers(body))
    await send({"type": "http.response.body", "body": as_event(body) if is_stream else body})


@cache  # the SDK copies it each time
def _server_info() -> Mapping[str, Any]:
    return mcp_server().server_info_stamp


async def _start(send: Send, headers: HeaderList) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [*headers, *_ADDED_HEADERS]})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
