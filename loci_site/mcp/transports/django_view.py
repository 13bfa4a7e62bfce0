"""MCP through an ordinary Django view: the SDK's own Streamable HTTP transport, one instance per request.

No session, no lifespan, no second authentication: Django has already identified the caller, and everything that the
transport starts ends with the request.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import cache
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INVALID_REQUEST
from starlette.types import Message, Receive, Scope

from access.actor import Actor, Via
from access.errors import NotAuthenticated, TooManyAttempts, as_storage_error
from access.sign_in.client_address import address_of
from access.sign_in.lockouts import count_failed_token
from access.tokens import PREFIX, actor_for_secret, bearer_secret
from loci_site.mcp.calls import acting_as, current_actor
from loci_site.mcp.server import LociServer
from loci_site.oauth.grants import actor_for_access_token, audience_of, challenge_of
from loci_site.server.db_threads import in_db_thread

_OUTBOX_MESSAGES = 16  # a slow client blocks its tool instead of filling our memory

# If the client goes or a middleware fails while the response leaves Django, it is neither read nor closed.
UNREAD_S = 10.0

# Django's server sets these itself for the bytes that it sends.
_HOP_HEADERS = frozenset({b"content-length", b"connection", b"transfer-encoding"})


def lowlevel_server(server: MCPServer[Any]) -> Server[Any]:
    """The server that `serve_mcp` needs. MCPServer does not expose it, but its session manager does."""
    server.streamable_http_app()
    return server.session_manager.app


async def serve_mcp(request: HttpRequest, server: Server[Any]) -> HttpResponseBase:
    """The response of `server` to one MCP request, of either protocol era.

    A JSON answer is one response, a stream of events a StreamingHttpResponse. If the client disconnects, the tool's
    coroutine is cancelled.
    """
    if (refusal := _find_refusal(request)) is not None:
        return refusal
    limit: int = settings.LOCI.server.max_body_bytes
    body = request.read(limit + 1)  # request.body has a different limit
    if len(body) > limit:
        return _jsonrpc_error(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"The request body is larger than {limit} bytes. Send less text in one call.",
        )
    manager = StreamableHTTPSessionManager(server, stateless=True, max_request_body_size=limit)
    exchange = _TransportExchange(manager, _transport_scope(request), body)
    start = await exchange.start()
    headers = _response_headers(start)
    is_stream = any(
        name.lower() == "content-type" and value.startswith("text/event-stream")
        for name, value in headers.items()
    )
    if is_stream:
        exchange.expect_reader()
        return StreamingHttpResponse(exchange, status=start["status"], headers=headers)
    content = b"".join([chunk async for chunk in exchange])
    return HttpResponse(content, status=start["status"], headers=headers)


def _find_refusal(request: HttpRequest) -> HttpResponseBase | None:
    """The response to a request that must not reach the transport, or None."""
    own_origin = f"{request.scheme}://{request.get_host()}"  # get_host() also checks the Host header
    origin = request.headers.get("Origin")
    if origin and origin != own_origin and origin not in settings.LOCI.server.allowed_origins:
        return _jsonrpc_error(
            HTTPStatus.FORBIDDEN,
            "This Origin may not use the server. Add it to allowed_origins in [server] of config.toml.",
        )
    if request.method != "POST":  # GET would open a stream that a server without sessions never uses
        return HttpResponseNotAllowed(["POST"])
    return None


def _jsonrpc_error(status: HTTPStatus, message: str) -> JsonResponse:
    """A JSON-RPC error without an id: the request was not parsed."""
    error = {"code": INVALID_REQUEST, "message": message}
    return JsonResponse({"jsonrpc": "2.0", "id": None, "error": error}, status=status)


def _transport_scope(request: HttpRequest) -> Scope:
    """The request's own ASGI scope, with duplicated headers, which the transport refuses, and without trailing white space.

    httptools keeps the white space that may stand behind a value (RFC 9110, 5.5).
    """
    native: Scope = request.scope  # type: ignore[attr-defined]  # Loci is served by ASGI alone
    headers = [(name.lower(), value.strip(b" \t")) for name, value in native["headers"]]
    return {**native, "headers": headers, "root_path": "", "state": {}}


def _response_headers(start: Message) -> dict[str, str]:
    """The transport's headers without those that Django's server sets."""
    headers: list[tuple[bytes, bytes]] = start["headers"]
    return {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in headers
        if name.lower() not in _HOP_HEADERS
    }


class _TransportExchange(AsyncIterator[bytes]):
    """One request in the transport: a task, and an iterator over the chunks of its response.

    The task ends with the iteration, when the reader is cancelled, with `close()`, and if it is never read.
    """

    def __init__(self, manager: StreamableHTTPSessionManager, scope: Scope, body: bytes) -> None:
        self._outbox: asyncio.Queue[Message | None] = asyncio.Queue(_OUTBOX_MESSAGES)
        self._loop = asyncio.get_running_loop()
        # A task copies the context, so the tool knows the caller that the view has set.
        self._task = self._loop.create_task(_run_exchange(manager, scope, body, self._outbox))
        self._unread: asyncio.TimerHandle | None = None

    async def start(self) -> Message:
        message = await self._next_message()
        if message is None:
            raise RuntimeError("The MCP transport ended without a response.")
        return message

    def expect_reader(self) -> None:
        """Cancel the task unless the iteration begins within UNREAD_S."""
        self._unread = self._loop.call_later(UNREAD_S, self._task.cancel)

    async def __anext__(self) -> bytes:
        if self._unread is not None:
            self._unread.cancel()
        while (message := await self._next_message()) is not None:
            if message.get("body"):
                return bytes(message["body"])
        raise StopAsyncIteration

    def close(self) -> None:
        """Cancel the task if it is still running. Django calls this from another thread."""
        if not self._task.done() and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)

    async def _next_message(self) -> Message | None:
        try:
            message = await self._outbox.get()
        except asyncio.CancelledError:  # the client is gone
            self._task.cancel()
            await asyncio.wait([self._task])
            raise
        if message is None:
            await self._task  # raises what the transport raised
        return message


async def _run_exchange(
    manager: StreamableHTTPSessionManager, scope: Scope, body: bytes, outbox: asyncio.Queue[Message | None]
) -> None:
    """Pass one request through the transport; None in the outbox marks the end.

    A cancelled task puts nothing: there is no reader any longer, and a full outbox would block it for ever.
    """
    try:
        async with manager.run():
            await manager.handle_request(scope, receiver(body), outbox.put)
    except Exception:
        await outbox.put(None)
        raise
    await outbox.put(None)


async def _silence() -> Message:
    never: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    return await never


def receiver(body: bytes, then: Receive = _silence) -> Receive:
    """ASGI's receive(): the body once; then nothing, as a client that disconnects cancels the task instead."""
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return unread.pop() if unread else await then()

    return receive


find_actor = in_db_thread(actor_for_secret)
_find_program = in_db_thread(actor_for_access_token)
count_failed = in_db_thread(count_failed_token)


@csrf_exempt  # browsers never send a token in a header on their own
async def mcp_view(request: HttpRequest) -> HttpResponseBase:
    """Answer one MCP request of the token's owner; the 401 says how to send a token."""
    secret = bearer_secret(request.headers.get("Authorization", ""))
    try:
        if settings.LOCI.access.oauth and secret and not secret.startswith(PREFIX):
            actor = await _find_program(secret, audience=audience_of(request))
        else:
            actor = await find_actor(secret, via=Via.MCP)
    except NotAuthenticated as error:
        return await _refuse_caller(request, error, is_sent=bool(secret))
    except OperationalError as error:
        away = as_storage_error(error)
        if away is None:
            raise
        return JsonResponse(away.as_dict(), status=away.status)
    with acting_as(actor):
        return await serve_mcp(request, mcp_server())


@cache
def mcp_server() -> Server[Any]:
    """The MCP server behind /mcp, one per process."""
    return lowlevel_server(LociServer(_find_request_actor))


async def _find_request_actor() -> Actor:
    return current_actor()


async def _refuse_caller(request: HttpRequest, error: NotAuthenticated, *, is_sent: bool) -> JsonResponse:
    """The 401 with what RFC 6750 and 9728 require, without the secret; 429 after too many invalid tokens from one address."""
    if is_sent:
        counted = await count_failed(error, address=address_of(request), via=Via.MCP)
        if isinstance(counted, TooManyAttempts):
            headers = {"Retry-After": str(counted.wait_s)}
            return JsonResponse(counted.as_dict(), status=counted.status, headers=headers)
    problem = f', error="invalid_token", error_description="{error.message}"' if is_sent else ""
    challenge = f'Bearer realm="loci"{problem}{challenge_of(request)}'
    return JsonResponse(error.as_dict(), status=error.status, headers={"WWW-Authenticate": challenge})
