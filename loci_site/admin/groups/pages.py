"""The addresses of groups: one view that opens a tab with the right it needs."""

from collections.abc import Callable
from typing import Any, Final

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from access.actor import ADMIN, Actor
from access.admin.caller import actor_of
from access.groups import find_group
from access.models import Group
from loci_site.admin.groups.asked import show_asked
from loci_site.admin.groups.changes import show_changes
from loci_site.admin.groups.knows import show_knows
from loci_site.admin.groups.map import show_map
from loci_site.admin.groups.settings import purge_left, show_settings
from loci_site.admin.groups.tabs import KNOWS, TABS, group_context
from loci_site.app.conversations import conversations
from memories.admin.review import review_page
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
