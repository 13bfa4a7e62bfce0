"""Exchange and revocation of codes and tokens; programs that fail too often have to wait."""

from base64 import b64decode
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_plus

from django.http import HttpRequest, HttpResponse, JsonResponse
from oauth2_provider.models import AccessToken
from oauth2_provider.views import RevokeTokenView, TokenView

from access.actor import Via
from access.limits.throttle import clear_attempts, wait_s
from access.sign_in.client_address import address_of, network_of
from access.sign_in.lockouts import count_try, program_limits

MAX_ID_CHARS = 200
REPLACED = {
    "error": "invalid_grant",
    "error_description": "Another request with the same refresh token replaced these tokens.",
}


class TradeView(TokenView):  # type: ignore[misc]  # the toolkit has no types
    """The toolkit's view with a limit per program and address."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:

        def trade() -> HttpResponse:
            try:
                answer: HttpResponse = super(TradeView, self).post(request, *args, **kwargs)
            except AccessToken.DoesNotExist:  # the toolkit reads again what it gave
                return JsonResponse(REPLACED, status=400, headers={"Cache-Control": "no-store"})
            return answer

        return _throttle_program(request, trade)


class RevokeView(RevokeTokenView):  # type: ignore[misc]  # as above
    """The toolkit's view with the same limit: it checks a program's secret too."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return _throttle_program(request, lambda: super(RevokeView, self).post(request, *args, **kwargs))


def too_many(description: str, *, wait_s: int) -> JsonResponse:
    """The response 429 in the form of OAuth's errors, with Retry-After in seconds."""
    body = {"error": "temporarily_unavailable", "error_description": description}
    return JsonResponse(body, status=429, headers={"Retry-After": str(wait_s), "Cache-Control": "no-store"})


def _throttle_program(request: HttpRequest, answer: Callable[[], HttpResponse]) -> HttpResponse:
    """Call `answer` unless the program or its address has to wait; checking a secret is slow on purpose, so this comes first.

    A program's failures lock that program at that address; only many failures together lock the whole address.
    """
    (own, shared), network = program_limits(), network_of(address_of(request))
    program = _claimed_client_id(request)
    if waits := max(wait_s(own, program, network), wait_s(shared, network)):
        return too_many("Too many requests from this address failed.", wait_s=waits)
    response = answer()
    if response.status_code < 400:
        clear_attempts(own, program, network)
    elif response.status_code < 500:
        count_try(own, program, network, via=Via.MCP, address=network)
        count_try(shared, network, via=Via.MCP)
    return response


def _claimed_client_id(request: HttpRequest) -> str:
    """The unverified client id from the form or from the Basic header; empty if neither has one."""
    client_id = request.POST.get("client_id", "")
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    if not client_id and scheme.lower() == "basic":
        try:
            client_id = unquote_plus(b64decode(encoded).decode().partition(":")[0])
        except ValueError:
            client_id = ""
    return client_id[:MAX_ID_CHARS]
