"""The addresses of OAuth, at the root as RFC 8414 and 9728 require, with the discovery documents; mounted only if the setting is on."""

from django.http import HttpRequest
from django.urls import path
from oauth2_provider.views import OAuthProtectedResourceMetadataView, OAuthServerMetadataView

from loci_site.oauth.consent import ConsentView
from loci_site.oauth.endpoints import RegisteredView, RegistrationView, RevokeView, TradeView
from loci_site.oauth.grants import audience_of, origin_of


class _ResourceView(OAuthProtectedResourceMetadataView):  # type: ignore[misc]  # the toolkit has no types
    """Both of its addresses describe /mcp, the only protected resource."""

    def get_resource(self, request: HttpRequest) -> str:
        return audience_of(request)

    def get_authorization_servers(self, request: HttpRequest) -> list[str]:
        return [origin_of(request)]


# The toolkit reverses names in this namespace.
app_name = "oauth2_provider"

urlpatterns = [
    path(
        ".well-known/oauth-authorization-server",
        OAuthServerMetadataView.as_view(),
        name="oauth-server-metadata",
    ),
    path(".well-known/oauth-protected-resource", _ResourceView.as_view(), name="oauth-resource-metadata"),
    path(
        ".well-known/oauth-protected-resource/mcp",
        _ResourceView.as_view(),
        name="oauth-resource-metadata-path",
    ),
    path("oauth/authorize/", ConsentView.as_view(), name="authorize"),
    path("oauth/token/", TradeView.as_view(), name="token"),
    path("oauth/revoke/", RevokeView.as_view(), name="revoke-token"),
    path("oauth/register/", RegistrationView.as_view(), name="dcr-register"),
    path(
        "oauth/register/<str:client_id>/",
        RegisteredView.as_view(),
        name="dcr-register-management",
    ),
]
