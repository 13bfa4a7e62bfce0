"""Programs that register themselves (RFC 7591): open to all, so it is throttled and takes nothing but what MCP needs."""

import json
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse, JsonResponse
from oauth2_provider.views import DynamicClientRegistrationManagementView, DynamicClientRegistrationView

from access.actor import Via
from access.sign_in.client_address import address_of, network_of
from access.sign_in.throttle import count_try, wait_s
from access.tokens.throttle import registration_rule, token_rule
from loci_site.config import is_loopback
from loci_site.oauth.token_endpoint import too_many

MAX_REDIRECTS = 10
MAX_BODY = 16 * 1024  # bytes


class RegistrationView(DynamicClientRegistrationView):  # type: ignore[misc]  # the toolkit has no types
    """The toolkit's, with a limit for each address and stricter redirects."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Register a program, or say why not; every try counts."""
        rule, network = registration_rule(), network_of(address_of(request))
        if waits := wait_s(rule, network):
            return too_many("Too many programs register from here.", wait_s=waits)
        count_try(rule, network, via=Via.MCP)
        fault = _fault(request.body)
        if fault:
            return _refusal("invalid_client_metadata", fault)
        made: HttpResponse = super().post(request, *args, **kwargs)
        made["Cache-Control"] = "no-store"
        return made


class RegisteredView(DynamicClientRegistrationManagementView):  # type: ignore[misc]  # as above
    """A program looks at what it registered, or takes it back (RFC 7592); to change it, it registers anew."""

    http_method_names = ["get", "delete"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer as the toolkit does; a registration token that does not work counts as any other does."""
        answer: HttpResponse = super().dispatch(request, *args, **kwargs)
        if answer.status_code not in (401, 403):
            return answer
        waits = count_try(token_rule(), network_of(address_of(request)), via=Via.MCP)
        return too_many("Too many tokens that do not work came from here.", wait_s=waits) if waits else answer


def _fault(body: bytes) -> str:
    """Say what the toolkit would take and we do not; empty where there is nothing."""
    if len(body) > MAX_BODY:
        return f"More than {MAX_BODY} bytes."
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return "The body is no JSON."
    if not isinstance(said, dict):
        return "The body is no JSON object."
    name, redirects = said.get("client_name", ""), said.get("redirect_uris")
    if not isinstance(name, str) or len(name) > 200 or "\x00" in name:
        return "client_name is no text of at most 200 characters."
    if not isinstance(redirects, list) or not 1 <= len(redirects) <= MAX_REDIRECTS:
        return f"redirect_uris is no list of 1 to {MAX_REDIRECTS} addresses."
    wrong = [uri for uri in redirects if not isinstance(uri, str) or not _is_safe(uri)]
    if wrong:
        return "redirect_uris: use https, http on this machine alone, or an editor's own scheme; no spaces."
    grants = said.get("grant_types", ["authorization_code"])
    if not isinstance(grants, list) or not set(map(str, grants)) <= {"authorization_code", "refresh_token"}:
        return "grant_types: authorization_code and refresh_token alone."
    return ""


def _is_safe(uri: str) -> bool:
    if any(c.isspace() or not c.isprintable() for c in uri):
        return False
    try:
        parts = urlsplit(uri)
        host = parts.hostname or ""
    except ValueError:
        return False
    return parts.scheme != "http" or is_loopback(host)


def _refusal(error: str, description: str, *, status: int = 400) -> JsonResponse:
    return JsonResponse({"error": error, "error_description": description}, status=status)
