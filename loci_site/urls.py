"""Every address of the site; each face adds its own."""

from django.contrib import admin
from django.urls import path
from django.views.generic import RedirectView

from loci_site.api.application import api
from loci_site.health import health
from loci_site.mcp.view import mcp_view

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("health", health),
    path("mcp", mcp_view),
    path("api/", api.urls),
    path("admin/", admin.site.urls),
]
