"""The tiles of Settings, and the settings as this process runs with them, read-only, for superusers."""

import os
from itertools import groupby

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from access.admin.caller import actor_of
from access.admin.page import render_in_site
from loci_site.admin.explore.page import query_text
from loci_site.admin.places import open_places
from loci_site.config import DEFAULT, effective_settings


def settings_index(request: HttpRequest) -> HttpResponse:
    """A tile for each page behind Settings that is shown to the reader."""
    context = {"title": gettext("Settings"), "headings": open_places(request)}
    return render_in_site(request, "admin/explore/tiles.html", context)


def show_settings(request: HttpRequest) -> HttpResponse:
    """Every setting with its value, those that were changed first; `?q=` narrows them."""
    if not actor_of(request).all_groups:
        raise PermissionDenied(gettext("Only superusers can see the settings."))
    search = query_text(request, "q", max_chars=100)
    words = search.casefold().split()
    rows = [
        row
        for row in effective_settings(settings.LOCI, os.environ)
        if all(word in f"{row.section}.{row.name} {gettext(row.meaning)}".casefold() for word in words)
    ]
    context = {
        "title": gettext("Settings"),
        "home": settings.LOCI.home,
        "search": search,
        "changed": [row for row in rows if row.origin != DEFAULT or row.coming],
        "sections": [(name, list(own)) for name, own in groupby(rows, key=lambda row: row.section)],
        "has_redis": bool(settings.LOCI.redis_url),
    }
    return render_in_site(request, "admin/explore/settings.html", context)
