"""Logs in the person named in a proxy's header, which is read from configured addresses only."""

from collections.abc import Awaitable, Callable
from ipaddress import ip_address, ip_network

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from access.sign_in.client_address import peer_of
from access.sign_in.sessions import NOTED, SignInWay
from access.sign_in.sso.admission import Visitor

Handler = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
MAX_NAME_CHARS = 150


def proxied_visitor(request: HttpRequest) -> Visitor | None:
    """The visitor that a trusted proxy names; None without a name, or if the request is from elsewhere."""
    chosen = settings.LOCI.sign_in
    if not chosen.proxy_header or not is_trusted(peer_of(request)):
        return None
    name = _header_of(request, chosen.proxy_header)
    if not name or len(name) > MAX_NAME_CHARS:
        return None
    email = name if "@" in name else ""
    sent = _header_of(request, chosen.proxy_groups_header) if chosen.proxy_groups_header else None
    groups = None if sent is None else frozenset(filter(None, map(str.strip, sent.split(","))))
    return Visitor(SignInWay.PROXY, name=name, email=email, groups=groups)


def is_trusted(address: str) -> bool:
    """True for the address of a configured proxy."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed
    return any(parsed in ip_network(peer) for peer in settings.LOCI.sign_in.proxy_peers)


def _header_of(request: HttpRequest, name: str) -> str | None:
    """The header's value; None if it is missing or was sent twice.

    Read as it was sent where the server keeps that: "X_Remote_User" is another header, which a proxy may let pass.
    """
    scope = getattr(request, "scope", None)
    if scope is None:
        value = request.headers.get(name)
        return value.strip() if value is not None else None
    wanted = name.lower().encode("ascii")
    found = [value for key, value in scope["headers"] if key.lower() == wanted]
    return found[0].decode("utf-8", "replace").strip() if len(found) == 1 else None


@sync_and_async_middleware
def end_other_persons_session(get_response: Handler) -> Handler:
    """Middleware: end a session begun by a proxy as soon as the proxy names no person or another one."""
    if iscoroutinefunction(get_response):

        async def answer_in_loop(request: HttpRequest) -> HttpResponseBase:
            if settings.SESSION_COOKIE_NAME in request.COOKIES:
                await sync_to_async(_check_person)(request)
            response: HttpResponseBase = await get_response(request)
            return response

        return answer_in_loop

    def answer(request: HttpRequest) -> HttpResponseBase:
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            _check_person(request)
        return get_response(request)  # type: ignore[return-value]  # as in the branch above

    return answer


def _check_person(request: HttpRequest) -> None:
    """Log out if a proxy began the session and now names another person, or none."""
    noted = request.session.get(NOTED) or {}
    if noted.get("by") != SignInWay.PROXY:
        return
    visitor = proxied_visitor(request)
    if visitor is None or visitor.name != noted.get("called"):
        logout(request)
