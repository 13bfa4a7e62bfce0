"""The two documents by which a program finds its way: RFC 8414 of the server, RFC 9728 of /mcp."""

from django.http import HttpRequest
from oauth2_provider.views import OAuthProtectedResourceMetadataView, OAuthServerMetadataView

from loci_site.oauth.audience import audience_of, origin_of

ServerView = OAuthServerMetadataView


class ResourceView(OAuthProtectedResourceMetadataView):  # type: ignore[misc]  # the toolkit has no types
    """Both addresses speak of /mcp, the only thing here that a token is for."""

    def get_resource(self, request: HttpRequest) -> str:
        """Give the audience."""
        return audience_of(request)

    def get_authorization_servers(self, request: HttpRequest) -> list[str]:
        """Give ourselves."""
        return [origin_of(request)]
