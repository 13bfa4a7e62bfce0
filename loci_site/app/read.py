"""Searching one group."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from access.actor import READ
from access.admin.caller import actor_of
from access.errors import GroupNotFound
from access.groups import entered_groups
from access.models import Group
from loci_site.app.page import render_page, workspace_page
from memories.browse.listing import ListFilter, list_memories
from memories.models import Memory
from memories.queries.pages import Page
from memories.recall import RecallRequest, recall

RECENT = 20
# A page holds longer texts than an agent's context.
_PAGE_TOKENS = 12_000
GROUP_IN_SESSION = "workspace-group"


@dataclass(frozen=True)
class _Chip:
    """A link that searches in a group."""

    group: Group
    url: str
    is_here: bool


@workspace_page
@require_GET
def search(request: HttpRequest) -> HttpResponse:
    """The answers to a question in one group, or its newest memories without a question."""
    actor, query = actor_of(request), request.GET.get("q", "").strip()
    groups = entered_groups(actor, READ)
    group = _choose_group(request, groups)
    asked = {"q": query} if query else {}
    context: dict[str, Any] = {
        "title": query or gettext("Search"),
        "here": "search",
        "query": query,
        "group": group,
        "chips": [
            _Chip(each, f"{request.path}?{urlencode({'group': each.slug} | asked)}", each == group)
            for each in groups
        ],
        "has_groups": bool(groups),
    }
    if query and group:
        context["recalled"] = recall(
            actor, RecallRequest(query=query, group=group.slug, token_budget=_PAGE_TOKENS)
        )
    else:
        # Without a group these are the global memories, filtered by words only.
        listed = ListFilter(group=group.slug if group else None, words=query)
        page = list_memories(actor, listed, cursor=request.GET.get("cursor", ""), limit=RECENT)
        context |= {"page": page, "more": _next_page_url(request, page)}
    return render_page(request, "people/search.html", context)


def _choose_group(request: HttpRequest, groups: list[Group]) -> Group | None:
    """The group of the URL, else the one of the last search, else the first; remembers the choice in the session.

    Raises:
        GroupNotFound: the group of the URL is none of `groups`.
    """
    wanted = request.GET.get("group", "")
    slug = wanted or request.session.get(GROUP_IN_SESSION, "")
    group = next((each for each in groups if each.slug == slug), None)
    if wanted and group is None:
        line = gettext("There is no group '{wanted}' that you may use.")
        raise GroupNotFound(line.format(wanted=wanted[:60]), field="group")
    if wanted and request.session.get(GROUP_IN_SESSION) != wanted:
        request.session[GROUP_IN_SESSION] = wanted
    return group or next(iter(groups), None)


def _next_page_url(request: HttpRequest, page: Page[Memory]) -> str:
    if page.next is None:
        return ""
    values = {name: request.GET[name] for name in ("q", "group") if request.GET.get(name)}
    return f"{request.path}?{urlencode(values | {'cursor': page.next})}"
