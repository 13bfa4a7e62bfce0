"""Codes and refresh tokens are traded for access tokens, or given back; who fails too often has to wait."""

from base64 import b64decode
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_plus

from django.http import HttpRequest, HttpResponse, JsonResponse
from oauth2_provider.views import RevokeTokenView, TokenView

from access.actor import Via
from access.sign_in.client_address import address_of, network_of
from access.sign_in.throttle import clear_attempts, count_try, wait_s
from access.tokens.throttle import program_rules

MAX_ID_CHARS = 200


class TradeView(TokenView):  # type: ignore[misc]  # the toolkit has no types
    """The toolkit's, with a limit for each program at each address."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Trade, or say why not."""
        return _limited(request, lambda: super(TradeView, self).post(request, *args, **kwargs))


class RevokeView(RevokeTokenView):  # type: ignore[misc]  # as above
    """As TradeView: it checks a program's secret, too."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """End a token, or say why not."""
        return _limited(request, lambda: super(RevokeView, self).post(request, *args, **kwargs))


def too_many(said: str, *, wait_s: int) -> JsonResponse:
    """Give 429 as OAuth's addresses word their refusals."""
    body = {"error": "temporarily_unavailable", "error_description": said}
    return JsonResponse(body, status=429, headers={"Retry-After": str(wait_s), "Cache-Control": "no-store"})


def _limited(request: HttpRequest, answer: Callable[[], HttpResponse]) -> HttpResponse:
    """Answer unless the program, or its address, has to wait. To check a program's secret is slow on purpose, so this comes first.

    A program's own failures lock that program at that address; only many failures together lock the address.
    """
    (own, shared), network = program_rules(), network_of(address_of(request))
    program = _claimed_program(request)
    if waits := max(wait_s(own, program, network), wait_s(shared, network)):
        return too_many("Too many requests from here failed.", wait_s=waits)
    answered = answer()
    if answered.status_code < 400:
        clear_attempts(own, program, network)
    elif answered.status_code < 500:
        count_try(own, program, network, via=Via.MCP, address=network)
        count_try(shared, network, via=Via.MCP)
    return answered


def _claimed_program(request: HttpRequest) -> str:
    """Give the program's id as it names itself, in the form or in the header; nothing is proven by it."""
    named = request.POST.get("client_id", "")
    scheme, _, coded = request.headers.get("Authorization", "").partition(" ")
    if not named and scheme.lower() == "basic":
        try:
            named = unquote_plus(b64decode(coded).decode().partition(":")[0])
        except ValueError:
            named = ""
    return named[:MAX_ID_CHARS]
