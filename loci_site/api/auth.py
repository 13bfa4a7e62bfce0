"""Authentication: an agent or program with a token, or a person with a logged-in browser."""

from functools import cache

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from access.actor import Actor, Via
from access.errors import NotAuthenticated
from access.limits.throttle import check_write_rate
from access.limits.turns import remember_person
from access.sign_in.client_address import address_of
from access.sign_in.lockouts import count_failed_token
from access.tokens import actor_for_secret, actor_for_user
from loci_site.api.responses import CsrfMissing

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# Questions that are sent as POST, so that their words are in no address.
READING = ("recall_memories", "search_captures", "find_related_memories", "list_removed_captures")


class Token(HttpBearer):
    """`Authorization: Bearer loci_…`."""

    openapi_description = "A token from 'loci token create'."

    def authenticate(self, request: HttpRequest, token: str) -> Actor:
        """The token's Actor. A request with a token never falls back to the session."""
        try:
            origin = request.headers.get("Origin", "")
            actor = actor_for_secret(token.strip(), via=Via.REST, client=client_of(request), origin=origin)
        except NotAuthenticated as error:
            if not token.strip():
                raise
            raise count_failed_token(error, address=address_of(request), via=Via.REST) from None
        if not is_reading(request):
            check_write_rate(actor)
        return actor


class Session(APIKeyCookie):
    """The session of a logged-in browser; requests that change something need the page's CSRF token."""

    param_name = settings.SESSION_COOKIE_NAME
    openapi_description = (
        "A logged-in browser; send the header X-CSRFToken with requests that change something."
    )

    def __call__(self, request: HttpRequest) -> Actor | None:
        """The person's Actor, or None if no person is logged in."""
        if self.param_name not in request.COOKIES or not request.user.is_authenticated:
            return None
        if check_csrf(request) is not None:
            raise CsrfMissing(
                "The CSRF token is missing or wrong.", hint="Send the page's token in the header X-CSRFToken."
            )
        remember_person(request.COOKIES[self.param_name], request.user.pk)
        return actor_for_user(request.user, via=Via.REST)

    def authenticate(self, request: HttpRequest, key: str | None) -> Actor | None:
        """Never called: __call__ does the work, without the CSRF check of the base class."""
        return None


def is_reading(request: HttpRequest) -> bool:
    """True if a request only reads; questions may be POSTs."""
    return request.method in _SAFE_METHODS or request.path in _reading_paths()


@cache
def _reading_paths() -> frozenset[str]:
    return frozenset(reverse(f"rest:{name}") for name in READING)


def actor_of(request: HttpRequest) -> Actor:
    """The Actor that one of the two classes above found."""
    actor: Actor = request.auth  # type: ignore[attr-defined]
    return actor


def client_of(request: HttpRequest) -> str:
    """The printable start of the User-Agent header, at most 120 characters."""
    agent = "".join(c if c.isprintable() else " " for c in request.headers.get("User-Agent", ""))
    return agent.encode(errors="replace").decode()[:120]
