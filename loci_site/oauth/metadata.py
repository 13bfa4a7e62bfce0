"""The discovery documents: authorization server (RFC 8414) and protected resource /mcp (RFC 9728)."""

from django.http import HttpRequest
from oauth2_provider.views import OAuthProtectedResourceMetadataView, OAuthServerMetadataView

from loci_site.oauth.audience import audience_of, origin_of

ServerView = OAuthServerMetadataView


class ResourceView(OAuthProtectedResourceMetadataView):  # type: ignore[misc]  # the toolkit has no types
    """Both of its addresses describe /mcp, the only protected resource."""

    def get_resource(self, request: HttpRequest) -> str:
        """The audience of tokens."""
        return audience_of(request)

    def get_authorization_servers(self, request: HttpRequest) -> list[str]:
        """Only this server."""
        return [origin_of(request)]
