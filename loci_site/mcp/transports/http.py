"""/mcp as a Django view: a bearer token identifies the caller, the SDK's transport answers."""

from functools import cache
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from mcp.server.lowlevel import Server

from access.actor import Actor, Via
from access.errors import NotAuthenticated, TooManyAttempts, as_storage_error
from access.sign_in.client_address import address_of
from access.sign_in.lockouts import count_failed_token
from access.tokens import PREFIX, actor_for_secret
from loci_site.mcp.auth import acting_as, current_actor
from loci_site.mcp.server import LociServer
from loci_site.mcp.transports.django_view import lowlevel_server, serve_mcp
from loci_site.oauth.audience import audience_of, challenge_of
from loci_site.oauth.grants import actor_for_access_token
from loci_site.server.db_threads import in_db_thread

find_actor = in_db_thread(actor_for_secret)
find_program = in_db_thread(actor_for_access_token)
count_failed = in_db_thread(count_failed_token)


@csrf_exempt  # browsers never send a token in a header on their own
async def mcp_view(request: HttpRequest) -> HttpResponseBase:
    """Answer one MCP request of the token's owner; the 401 says how to send a token."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    secret = secret.strip() if scheme.lower() == "bearer" else ""
    try:
        if settings.LOCI.access.oauth and secret and not secret.startswith(PREFIX):
            actor = await find_program(secret, audience=audience_of(request))
        else:
            actor = await find_actor(secret, via=Via.MCP)
    except NotAuthenticated as error:
        return await refuse_caller(request, error, is_sent=bool(secret))
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
    return lowlevel_server(LociServer(find_request_actor))


async def find_request_actor() -> Actor:
    """The Actor that the view has set for this request."""
    return current_actor()


async def refuse_caller(request: HttpRequest, error: NotAuthenticated, *, is_sent: bool) -> JsonResponse:
    """The 401 with what RFC 6750 and 9728 require, without the secret; 429 after too many invalid tokens from one address."""
    if is_sent:
        counted = await count_failed(error, address=address_of(request), via=Via.MCP)
        if isinstance(counted, TooManyAttempts):
            headers = {"Retry-After": str(counted.wait_s)}
            return JsonResponse(counted.as_dict(), status=counted.status, headers=headers)
    problem = f', error="invalid_token", error_description="{error.message}"' if is_sent else ""
    challenge = f'Bearer realm="loci"{problem}{challenge_of(request)}'
    return JsonResponse(error.as_dict(), status=error.status, headers={"WWW-Authenticate": challenge})
