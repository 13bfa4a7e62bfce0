"""/mcp: a bearer token says who asks, then the SDK's transport answers."""

from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from mcp.server.lowlevel import Server

from access.actor import Actor, Via
from access.errors import NotAuthenticated, TooManyAttempts
from access.sign_in.client_address import address_of
from access.tokens import PREFIX, actor_for_secret
from access.tokens.throttle import count_failed_token
from loci_site.mcp.auth import acting_as, current_actor
from loci_site.mcp.server import LociServer
from loci_site.mcp.transports.django_view import lowlevel_server, serve_mcp
from loci_site.oauth.audience import audience_of, challenge_of
from loci_site.oauth.grants import actor_for_access_token
from loci_site.server.db_threads import in_db_thread

find_actor = in_db_thread(actor_for_secret)
find_program = in_db_thread(actor_for_access_token)
count_failed = in_db_thread(count_failed_token)


@csrf_exempt  # a token in a header is nothing that a browser sends by itself
async def mcp_view(request: HttpRequest) -> HttpResponseBase:
    """Answer one MCP request of whoever the token stands for; 401 says how to send one."""
    secret = _bearer(request)
    try:
        actor = await _find_caller(request, secret)
    except NotAuthenticated as error:
        return await _refused(request, error, is_sent=bool(secret))
    with acting_as(actor):
        return await serve_mcp(request, mcp_server())


async def _find_caller(request: HttpRequest, secret: str) -> Actor:
    if settings.LOCI.access.oauth and secret and not secret.startswith(PREFIX):
        return await find_program(secret, audience=audience_of(request))
    return await find_actor(secret, via=Via.MCP)


@cache
def mcp_server() -> Server[Any]:
    """Give the server behind /mcp, one for the process."""
    return lowlevel_server(LociServer(_caller_of_request))


async def _caller_of_request() -> Actor:
    return current_actor()


def _bearer(request: HttpRequest) -> str:
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


async def _refused(request: HttpRequest, error: NotAuthenticated, *, is_sent: bool) -> JsonResponse:
    """Give 401; 429 where too many tokens that do not work came from the same address."""
    if is_sent:
        answered = await count_failed(error, address=address_of(request), via=Via.MCP)
        if isinstance(answered, TooManyAttempts):
            headers = {"Retry-After": str(answered.wait_s)}
            return JsonResponse(answered.as_dict(), status=answered.status, headers=headers)
    return _unauthorized(request, error, is_sent=is_sent)


def _unauthorized(request: HttpRequest, error: NotAuthenticated, *, is_sent: bool) -> JsonResponse:
    """Give 401 with what RFC 6750 and 9728 ask for; the secret that was sent is nowhere in it."""
    problem = f', error="invalid_token", error_description="{error.message}"' if is_sent else ""
    challenge = f'Bearer realm="loci"{problem}{challenge_of(request)}'
    return JsonResponse(error.as_dict(), status=error.status, headers={"WWW-Authenticate": challenge})
