"""The map of a group: its relations as a graph, or its memories over time."""

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from access.actor import Actor
from access.errors import LociError
from access.models import Group
from loci_site.admin.explore.graph import FIELDS, graph_context
from loci_site.admin.explore.page import query_texts
from loci_site.admin.explore.timeline import TIME_FIELDS, timeline_context
from loci_site.admin.groups.tabs import Tab, render_tab, tab_url

TIME = "time"  # as `view` in the address


def show_map(request: HttpRequest, actor: Actor, group: Group) -> HttpResponse:
    """The graph, or with `view=time` the timeline."""
    is_time = request.GET.get("view") == TIME
    given = query_texts(request, *(TIME_FIELDS if is_time else FIELDS), max_chars=200) | {"group": group.slug}
    url = tab_url(group, "map")
    switch = [
        Tab(gettext("Relations"), url, not is_time),
        Tab(gettext("Over time"), f"{url}?view={TIME}", is_time),
    ]
    context = {"given": given, "switch": switch, "is_time": is_time}
    try:
        made = timeline_context(request, actor, given) if is_time else graph_context(actor, group, given)
    except LociError as refusal:
        return render_tab(request, group, "map", context | {"refusal": refusal}, status=refusal.status)
    return render_tab(request, group, "map", context | made)
