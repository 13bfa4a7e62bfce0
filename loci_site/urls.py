"""Every address of the site; each interface adds its own."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path

from loci_site.api import api
from loci_site.app.errors import server_error
from loci_site.hooks.views import hook_view
from loci_site.mcp.transports.django_view import mcp_view
from loci_site.server.health import health
from loci_site.server.metrics import metrics
from memories.admin.review import review_urls

admin.autodiscover()

handler500 = server_error
urlpatterns = [
    path("", include("loci_site.app.urls")),
    path("health", health),
    path("metrics", metrics),
    path("mcp", mcp_view),
    path("hooks/<str:client>/<str:event>", hook_view),
    path("api/", api.urls),
    path("admin/review/", include(review_urls())),
    path("admin/", admin.site.urls),
]
if settings.LOCI.access.oauth:
    # Only if enabled: programs that find these addresses may ignore a token that a person gave them.
    urlpatterns.append(path("", include("loci_site.oauth.urls")))
