"""URLs of the site's own pages, next to those of the models."""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from django.urls import URLPattern, path

from loci_site.admin.explore.ask import ask
from loci_site.admin.explore.export_list import export_list
from loci_site.admin.explore.graph import expand_node
from loci_site.admin.explore.notifications import act_on_webhook, add_webhook, show_notifications
from loci_site.admin.explore.palette import list_places
from loci_site.admin.explore.settings_page import settings_index, show_settings
from loci_site.admin.explore.timeline import find_recallable
from loci_site.admin.groups.listing import list_groups
from loci_site.admin.groups.pages import show_group

PAGES: tuple[tuple[str, Callable[..., HttpResponse], str], ...] = (
    ("ask/", ask, "explore_recall"),
    ("graph/around/", expand_node, "explore_around"),
    ("timeline/then/", find_recallable, "explore_then"),
    ("export/<str:form>/", export_list, "explore_export"),
    ("settings/", settings_index, "settings"),
    ("settings/instance/", show_settings, "explore_settings"),
    ("settings/notifications/", show_notifications, "explore_notifications"),
    ("settings/notifications/add/", add_webhook, "explore_webhook_add"),
    ("settings/notifications/<uuid:id_>/<str:action>/", act_on_webhook, "explore_webhook"),
    ("palette/", list_places, "palette"),
    ("groups/", list_groups, "explore_groups"),
    ("groups/<str:slug>/", show_group, "explore_group"),
    ("groups/<str:slug>/<str:tab>/", show_group, "explore_group"),
)


def explore_urls(wrap: Callable[[Any], Any]) -> list[URLPattern]:
    """URL patterns of the pages, each view wrapped with `wrap` (the site's admin_view)."""
    return [path(address, wrap(view), name=name) for address, view, name in PAGES]
