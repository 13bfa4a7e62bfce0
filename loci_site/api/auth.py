"""Who calls: an agent or program with a token, or a person whose browser is logged in."""

from django.conf import settings
from django.http import HttpRequest
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from access.actor import Actor, Via
from access.errors import NotAuthenticated
from access.sign_in.client_address import address_of
from access.tokens import actor_for_secret, actor_for_user
from access.tokens.throttle import count_failed_token
from loci_site.api.errors import CsrfMissing


class BearerToken(HttpBearer):
    """`Authorization: Bearer loci_…`."""

    openapi_description = "A token that 'loci token create' made."

    def authenticate(self, request: HttpRequest, token: str) -> Actor:
        """Give the token's Actor; a token that is sent is never passed over for the session."""
        try:
            return actor_for_secret(token.strip(), via=Via.REST, client=_client(request))
        except NotAuthenticated as fault:
            if not token.strip():
                raise
            raise count_failed_token(fault, address=address_of(request), via=Via.REST) from None


class SessionCookie(APIKeyCookie):
    """The session of a browser that is logged in; what changes something needs the page's CSRF token."""

    param_name = settings.SESSION_COOKIE_NAME
    openapi_description = (
        "A browser that is logged in; send the header X-CSRFToken with what changes something."
    )

    def __call__(self, request: HttpRequest) -> Actor | None:
        """Give the person's Actor, or None where nobody is logged in."""
        if self.param_name not in request.COOKIES or not request.user.is_authenticated:
            return None
        if check_csrf(request) is not None:
            raise CsrfMissing(
                "The CSRF token is missing or wrong.", hint="Send the page's token in the header X-CSRFToken."
            )
        return actor_for_user(request.user, via=Via.REST)

    def authenticate(self, request: HttpRequest, key: str | None) -> Actor | None:
        """Not asked: __call__ has done it before the CSRF check of the class above."""
        return None


def actor_of(request: HttpRequest) -> Actor:
    """Give the Actor that one of the two found."""
    actor: Actor = request.auth  # type: ignore[attr-defined]
    return actor


def _client(request: HttpRequest) -> str:
    agent = "".join(c if c.isprintable() else " " for c in request.headers.get("User-Agent", ""))
    return agent.encode(errors="replace").decode()[:120]
