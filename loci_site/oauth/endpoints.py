"""Registration of programs, exchange and revocation of codes and tokens; programs that fail too often have to wait.

Registration (RFC 7591) is open to everyone, so it is throttled and accepts only what MCP needs.
"""

import json
import re
from base64 import b64decode
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider.models import AccessToken
from oauth2_provider.views import (
    DynamicClientRegistrationManagementView,
    DynamicClientRegistrationView,
    RevokeTokenView,
    TokenView,
)

from access.actor import Via
from access.errors import InvalidInput, refuse_unstorable
from access.limits.throttle import clear_attempts, wait_s
from access.sign_in.client_address import address_of, network_of
from access.sign_in.lockouts import count_try, program_limits, registration_limit, token_limit
from loci_site.config import is_loopback

MAX_ID_CHARS = 200
_REPLACED = {
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
                return JsonResponse(_REPLACED, status=400, headers={"Cache-Control": "no-store"})
            return answer

        return _throttle_program(request, trade)


class RevokeView(RevokeTokenView):  # type: ignore[misc]  # as above
    """The toolkit's view with the same limit: it checks a program's secret too."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return _throttle_program(request, lambda: super(RevokeView, self).post(request, *args, **kwargs))


def _too_many(description: str, *, wait_s: int) -> JsonResponse:
    body = {"error": "temporarily_unavailable", "error_description": description}
    return JsonResponse(body, status=429, headers={"Retry-After": str(wait_s), "Cache-Control": "no-store"})


def _throttle_program(request: HttpRequest, answer: Callable[[], HttpResponse]) -> HttpResponse:
    """Call `answer` unless the program or its address has to wait; checking a secret is slow on purpose, so this comes first.

    A program's failures lock that program at that address; only many failures together lock the whole address.
    """
    (own, shared), network = program_limits(), network_of(address_of(request))
    # Unverified: from the form, or from the Basic header.
    client_id = request.POST.get("client_id", "")
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    if not client_id and scheme.lower() == "basic":
        try:
            client_id = unquote_plus(b64decode(encoded).decode().partition(":")[0])
        except ValueError:
            client_id = ""
    program = client_id[:MAX_ID_CHARS]
    if waits := max(wait_s(own, program, network), wait_s(shared, network)):
        return _too_many("Too many requests from this address failed.", wait_s=waits)
    response = answer()
    if response.status_code < 400:
        clear_attempts(own, program, network)
    elif response.status_code < 500:
        count_try(own, program, network, via=Via.MCP, address=network)
        count_try(shared, network, via=Via.MCP)
    return response


_MAX_REDIRECTS = 10
_MAX_BODY = 16 * 1024  # bytes
# No user name, which could pass for the host, and no sign that ends a directive of a header.
_PLAIN_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


class RegistrationView(DynamicClientRegistrationView):  # type: ignore[misc]  # the toolkit has no types
    """The toolkit's view with a limit per address and stricter redirects."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Register a program or refuse it; every attempt counts."""
        limit, network = registration_limit(), network_of(address_of(request))
        if waits := wait_s(limit, network):
            return _too_many("Too many programs have registered from this address.", wait_s=waits)
        count_try(limit, network, via=Via.MCP)
        if error := _find_registration_error(request.body):
            body = {"error": "invalid_client_metadata", "error_description": error}
            return JsonResponse(body, status=400)
        response: HttpResponse = super().post(request, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response


@method_decorator(csrf_exempt, name="dispatch")  # a registration token, not a cookie, says who asks
class RegisteredView(DynamicClientRegistrationManagementView):  # type: ignore[misc]  # as above
    """A program reads or deletes its registration (RFC 7592); to change it, it registers again."""

    http_method_names = ["get", "delete"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer as the toolkit does; an invalid registration token counts like any other invalid token."""
        response: HttpResponse = super().dispatch(request, *args, **kwargs)
        if response.status_code not in (401, 403):
            return response
        waits = count_try(token_limit(), network_of(address_of(request)), via=Via.MCP)
        return (
            _too_many("Too many invalid tokens came from this address.", wait_s=waits) if waits else response
        )


def _find_registration_error(body: bytes) -> str:
    """What Loci refuses in a registration beyond the toolkit's checks; empty if nothing."""
    if len(body) > _MAX_BODY:
        return f"The body has more than {_MAX_BODY} bytes."
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        return "The body is not JSON."
    if not isinstance(sent, dict):
        return "The body is not a JSON object."
    name, redirects = sent.get("client_name", ""), sent.get("redirect_uris")
    if not isinstance(name, str) or len(name) > 200 or "\x00" in name:
        return "client_name must be text of at most 200 characters."
    try:
        refuse_unstorable(json.dumps(sent, ensure_ascii=False), field="body")
    except InvalidInput as error:
        return error.message
    if not isinstance(redirects, list) or not 1 <= len(redirects) <= _MAX_REDIRECTS:
        return f"redirect_uris must be a list of 1 to {_MAX_REDIRECTS} addresses."
    wrong = [uri for uri in redirects if not isinstance(uri, str) or not _is_safe_redirect(uri)]
    if wrong:
        return "redirect_uris: use https, http on this machine only, or an editor's own scheme; no spaces."
    grants = sent.get("grant_types", ["authorization_code"])
    if not isinstance(grants, list) or not set(map(str, grants)) <= {"authorization_code", "refresh_token"}:
        return "grant_types must be authorization_code and refresh_token only."
    return ""


def _is_safe_redirect(uri: str) -> bool:
    """True for a printable address without spaces: https with a plain host, http on loopback, or an editor's scheme."""
    if any(c.isspace() or not c.isprintable() for c in uri):
        return False
    try:
        parts = urlsplit(uri)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme in ("http", "https") and not is_plain_host(parts.netloc):
        return False
    return parts.scheme != "http" or is_loopback(host)


def is_plain_host(netloc: str) -> bool:
    """True for a host name or IP address with an optional port, and nothing else."""
    return _PLAIN_HOST.fullmatch(netloc) is not None
