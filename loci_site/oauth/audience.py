"""Whom an OAuth token is for (RFC 8707): this server's /mcp and nobody else."""

from django.conf import settings
from django.http import HttpRequest

METADATA = "/.well-known/oauth-protected-resource/mcp"
ASKED_FIRST = (
    "read write"  # what a program asks for when it has no other wish; the person may leave some of it out
)


def origin_of(request: HttpRequest) -> str:
    """Give the address that programs see, without a path: the public one, else the request's own, checked host."""
    public = str(settings.LOCI.server.public_url).rstrip("/")
    return public or f"{request.scheme}://{request.get_host()}"


def audience_of(request: HttpRequest) -> str:
    """Give the audience that a token must name."""
    return f"{origin_of(request)}/mcp"


def challenge_of(request: HttpRequest) -> str:
    """Give what a 401 adds so that a program finds its way to the consent page; empty where OAuth is off."""
    if not settings.LOCI.access.oauth:
        return ""
    return f', resource_metadata="{origin_of(request)}{METADATA}", scope="{ASKED_FIRST}"'
