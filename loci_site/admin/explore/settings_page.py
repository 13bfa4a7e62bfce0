"""The tiles of Settings, and the settings as this process runs with them, read-only, for superusers."""

import os
from itertools import groupby

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from access.admin.caller import actor_of
from loci_site.admin.explore.page import render_page
from loci_site.admin.places import open_places
from loci_site.config import effective_settings


def settings_index(request: HttpRequest) -> HttpResponse:
    """A tile for each page behind Settings that is shown to the reader."""
    context = {"title": gettext("Settings"), "headings": open_places(request)}
    return render_page(request, "tiles.html", context)


def show_settings(request: HttpRequest) -> HttpResponse:
    """Every setting with its value and where it comes from."""
    if not actor_of(request).all_groups:
        raise PermissionDenied(gettext("Only superusers can see the settings."))
    rows = effective_settings(settings.LOCI, os.environ)
    context = {
        "title": gettext("Settings"),
        "home": settings.LOCI.home,
        "sections": [(name, list(own)) for name, own in groupby(rows, key=lambda row: row.section)],
        "has_redis": bool(settings.LOCI.redis_url),
    }
    return render_page(request, "settings.html", context)
