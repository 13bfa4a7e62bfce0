"""Programs that register themselves (RFC 7591): open to all, so it is throttled and takes nothing but what MCP needs."""

import json
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse, JsonResponse
from oauth2_provider.views import DynamicClientRegistrationManagementView, DynamicClientRegistrationView

from access.attempts import REGISTRATIONS, note, wait_s
from loci_site.config import is_loopback

MAX_REDIRECTS = 10
MAX_BODY = 16 * 1024  # bytes


class RegistrationView(DynamicClientRegistrationView):  # type: ignore[misc]  # the toolkit has no types
    """The toolkit's, with a limit for each address and stricter redirects."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Register a program, or say why not; every try counts."""
        address = request.META.get("REMOTE_ADDR", "")
        waits = wait_s(REGISTRATIONS, address)
        if waits:
            answer = _refusal("temporarily_unavailable", "Too many programs register from here.", status=429)
            answer["Retry-After"] = str(waits)
            return answer
        note(REGISTRATIONS, address)
        fault = _fault(request.body)
        if fault:
            return _refusal("invalid_client_metadata", fault)
        made: HttpResponse = super().post(request, *args, **kwargs)
        made["Cache-Control"] = "no-store"
        return made


class RegisteredView(DynamicClientRegistrationManagementView):  # type: ignore[misc]  # as above
    """A program looks at what it registered, or takes it back (RFC 7592); to change it, it registers anew."""

    http_method_names = ["get", "delete"]


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
