"""Every address of the site; each interface adds its own."""

from collections.abc import Callable
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.urls import URLResolver, path
from django.urls.resolvers import RoutePattern
from django.utils.functional import lazy

from loci_site.enrolment.views import captured, check, download, exchange, revoke
from loci_site.hooks.views import hook_view
from loci_site.mcp.transports.django_view import mcp_view
from loci_site.server.health import health
from loci_site.server.metrics import metrics


def _later(route: str, urls: str | Callable[[], list[Any]], name: str | None) -> URLResolver:
    """The addresses below a route, in the namespace `name`; loaded when one is asked for, or the address of a page.

    Kept, since a lazy value calls its function for each use, and the API wraps its operations each time.
    """
    return URLResolver(
        RoutePattern(route), urls if isinstance(urls, str) else lazy(cache(urls), list)(), None, name, name
    )


def _api_urls() -> list[Any]:
    from loci_site.api import api  # noqa: PLC0415 - a quarter of what a server loads

    return list(api.urls[0])


def _review_urls() -> list[Any]:
    from memories.admin.review import review_urls  # noqa: PLC0415 - as above

    return list(review_urls())


def _admin_urls() -> list[Any]:
    admin.autodiscover()
    return admin.site.get_urls()


handler500 = "loci_site.app.errors.server_error"
urlpatterns = [
    path("health", health),
    path("metrics", metrics),
    path("mcp", mcp_view),
    path("hooks/<str:client>/<str:event>", hook_view),
    path("connect/token", exchange),
    path("connect/check", check),
    path("connect/revoke", revoke),
    path("connect/captured", captured),
    path("connect/<str:name>", download),
    _later("api/", _api_urls, "rest"),
    _later("admin/review/", _review_urls, None),
    _later("", "loci_site.app.urls", "people"),
    _later("admin/", _admin_urls, "admin"),  # last: its last pattern matches every path
]
if settings.LOCI.access.oauth:
    # Only if enabled: programs that find these addresses may ignore a token that a person gave them.
    urlpatterns.append(_later("", "loci_site.oauth.urls", "oauth2_provider"))
