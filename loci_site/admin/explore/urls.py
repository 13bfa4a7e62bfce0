"""The addresses of the pages for looking around, below the admin's."""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from django.urls import URLPattern, path

from loci_site.admin.explore.export_list import export_list
from loci_site.admin.explore.graph import around, graph, merge_ends
from loci_site.admin.explore.groups import room, rooms
from loci_site.admin.explore.playground import playground
from loci_site.admin.explore.timeline import standing_then, timeline

PAGES: tuple[tuple[str, Callable[..., HttpResponse], str], ...] = (
    ("recall/", playground, "explore_recall"),
    ("graph/", graph, "explore_graph"),
    ("graph/around/", around, "explore_around"),
    ("graph/merge/", merge_ends, "explore_merge"),
    ("timeline/", timeline, "explore_timeline"),
    ("timeline/then/", standing_then, "explore_then"),
    ("export/<str:form>/", export_list, "explore_export"),
    ("rooms/", rooms, "explore_rooms"),
    ("rooms/<str:slug>/", room, "explore_room"),
)


def explore_urls(wrap: Callable[[Any], Any]) -> list[URLPattern]:
    """Give the addresses, each view wrapped as the admin wraps its own."""
    return [path(f"explore/{address}", wrap(view), name=name) for address, view, name in PAGES]
