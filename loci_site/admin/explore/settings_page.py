"""The settings as this process runs with them, read-only, for superusers."""

import os
from itertools import groupby

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from access.admin.caller import actor_of
from loci_site.admin.explore.page import render_page
from loci_site.config import effective_settings


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
