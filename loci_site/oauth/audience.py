"""The audience of OAuth tokens (RFC 8707): this server's /mcp only."""

from django.conf import settings
from django.http import HttpRequest

METADATA = "/.well-known/oauth-protected-resource/mcp"
DEFAULT_SCOPES = "read write"  # what a program requests by default; the person may allow less


def origin_of(request: HttpRequest) -> str:
    """The address that programs see, without a path: the public URL, else the request's validated host."""
    public = str(settings.LOCI.server.public_url).rstrip("/")
    return public or f"{request.scheme}://{request.get_host()}"


def audience_of(request: HttpRequest) -> str:
    return f"{origin_of(request)}/mcp"


def challenge_of(request: HttpRequest) -> str:
    """The part of WWW-Authenticate that leads a program to the consent page; empty if OAuth is off."""
    if not settings.LOCI.access.oauth:
        return ""
    return f', resource_metadata="{origin_of(request)}{METADATA}", scope="{DEFAULT_SCOPES}"'
