"""Authentication for a browser extension: only its own Origin, on a host that this server answers for."""

from django.conf import settings
from django.http import HttpRequest

from access.actor import Actor, Via
from access.errors import NotPermitted
from loci_site.api.auth import Token


class ExtensionToken(Token):
    """`Authorization: Bearer loci_…` of a browser extension, or of a program that sends no Origin.

    A token of an extension works with the extension's Origin alone, and no other token with the Origin of an extension or a
    foreign page.
    """

    def authenticate(self, request: HttpRequest, token: str) -> Actor:
        """The token's Actor, if host and Origin are allowed."""
        actor = super().authenticate(request, token)
        check_origin(request, actor)
        return actor


class AnyExtension:
    """No authentication: the code in the body is the secret."""

    def __call__(self, request: HttpRequest) -> Actor:
        """An Actor without any right."""
        request.get_host()  # raises for a host that is not this server's
        return Actor(name="a browser", via=Via.REST)


def check_origin(request: HttpRequest, actor: Actor) -> None:
    """Raise NotPermitted for a foreign Origin. The Origin of a bound token was checked before."""
    own = f"{request.scheme}://{request.get_host()}"  # get_host() also checks the Host header
    sent = request.headers.get("Origin", "")
    if actor.origin or not sent or sent == own or sent in settings.LOCI.server.allowed_origins:
        return
    raise NotPermitted(
        "This Origin may not use the token.", hint="Pair this browser's extension: My account shows a code."
    )
