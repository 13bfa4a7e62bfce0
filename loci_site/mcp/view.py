"""/mcp: a bearer token says who asks, then the SDK's transport answers."""

from functools import cache
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from mcp.server.lowlevel import Server

from access.actor import Actor, Via
from access.errors import NotAuthenticated
from access.tokens import actor_for_secret
from loci_site.mcp.bridge import lowlevel_server, serve_mcp
from loci_site.mcp.caller import acting_as, current_actor
from loci_site.mcp.server import LociServer
from loci_site.mcp.threads import in_db_thread

find_actor = in_db_thread(actor_for_secret)


@csrf_exempt  # a token in a header is nothing that a browser sends by itself
async def mcp_view(request: HttpRequest) -> HttpResponseBase:
    """Answer one MCP request of whoever the token stands for; 401 says how to send one."""
    secret = _bearer(request)
    try:
        actor = await find_actor(secret, via=Via.MCP)
    except NotAuthenticated as error:
        return _unauthorized(error, is_sent=bool(secret))
    with acting_as(actor):
        return await serve_mcp(request, _server())


@cache
def _server() -> Server[Any]:
    return lowlevel_server(LociServer(_caller_of_request))


async def _caller_of_request() -> Actor:
    return current_actor()


def _bearer(request: HttpRequest) -> str:
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _unauthorized(error: NotAuthenticated, *, is_sent: bool) -> JsonResponse:
    """Give 401 with what RFC 6750 asks for; the secret that was sent is nowhere in it."""
    problem = f', error="invalid_token", error_description="{error.message}"' if is_sent else ""
    return JsonResponse(
        error.as_dict(), status=error.status, headers={"WWW-Authenticate": f'Bearer realm="loci"{problem}'}
    )
