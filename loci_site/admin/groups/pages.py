"""The addresses of groups: one view that opens a tab with the right it needs, and redirects from where the pages were."""

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.contrib import admin
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponsePermanentRedirect,
    HttpResponseRedirect,
)
from django.template.response import TemplateResponse
from django.urls import reverse

from access.actor import ADMIN, Actor
from access.admin.caller import actor_of
from access.groups import entered_groups, find_group
from access.models import Group
from loci_site.admin.groups.asked import show_asked
from loci_site.admin.groups.changes import show_changes
from loci_site.admin.groups.knows import show_knows
from loci_site.admin.groups.map import show_map
from loci_site.admin.groups.settings import purge_left, show_settings
from loci_site.admin.groups.tabs import KNOWS, TABS, group_context, tab_url
from loci_site.app.conversations import conversations
from memories.admin.review import review_page
from memories.queries.versions import find_memory
from sources.models import Artifact

_View = Callable[[HttpRequest, Actor, Group], HttpResponse]
_LEFT_BEHIND: Final = "left-behind"


def _list_in_group(tab: str, view: Callable[..., Any]) -> _View:
    """The tab of a list that has an address of its own, narrowed to the group."""

    def show(request: HttpRequest, actor: Actor, group: Group) -> HttpResponse:
        asked = request.GET.copy()
        asked["group"] = group.slug
        request.GET = asked  # type: ignore[assignment]  # Django's own is immutable
        answer: HttpResponse = view(request)
        if isinstance(answer, TemplateResponse):
            answer.context_data = (answer.context_data or {}) | group_context(request, group, tab)
        return answer

    return show


def _list_files(request: HttpRequest) -> Any:
    return admin.site.get_model_admin(Artifact).changelist_view(request)


_VIEWS: Final[dict[str, _View]] = {
    KNOWS: show_knows,
    "changes": show_changes,
    "waits": _list_in_group("waits", review_page),
    "asked": show_asked,
    "conversations": _list_in_group("conversations", conversations),
    "files": _list_in_group("files", _list_files),
    "map": show_map,
    "settings": show_settings,
    _LEFT_BEHIND: purge_left,
}


def show_group(request: HttpRequest, slug: str, tab: str = KNOWS) -> HttpResponse:
    """A tab of a group.

    Raises:
        GroupNotFound: the caller may not enter the group.
        NotPermitted: the tab needs a right that the caller does not have there.
    """
    if tab not in _VIEWS:
        raise Http404
    actor = actor_of(request)
    right = TABS[tab][1] if tab in TABS else ADMIN
    return _VIEWS[tab](request, actor, find_group(actor, slug, right=right))


def old_map(request: HttpRequest, view: str = "") -> HttpResponse:
    """From the pages of the graph and the timeline to the map of the group, or of the memory's group."""
    actor, asked = actor_of(request), request.GET.copy()
    [slug] = asked.pop("group", [""])[-1:]
    if of := asked.get("of", ""):
        slug = find_memory(actor, of, field="of").group.slug
    group = find_group(actor, slug) if slug else next(iter(entered_groups(actor)), None)
    if group is None:
        return HttpResponseRedirect(reverse("admin:explore_groups"))
    if view:
        asked["view"] = view
    query = f"?{asked.urlencode()}" if asked else ""
    return HttpResponsePermanentRedirect(tab_url(group, "map") + query)


def old_group(request: HttpRequest, id_: UUID, tab: str = "settings") -> HttpResponse:
    """From the form of a group, or the purge of what stayed behind, to its tab."""
    actor, group = actor_of(request), Group.objects.filter(id=id_).first()
    if group is None or not actor.may_enter(group.key):
        raise Http404
    return HttpResponsePermanentRedirect(tab_url(group, _LEFT_BEHIND if tab == _LEFT_BEHIND else "settings"))


def old_list(request: HttpRequest, slug: str = "") -> HttpResponse:
    """From the former lists of groups, and the former page of one."""
    address = reverse("admin:explore_group", args=[slug]) if slug else reverse("admin:explore_groups")
    return HttpResponsePermanentRedirect(address)
