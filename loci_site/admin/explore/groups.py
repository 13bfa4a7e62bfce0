"""A group as a room: what an agent gets when it enters, who belongs there, what was stored last, what waits."""

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from access.actor import ADMIN, CREATE_GROUP, Actor
from access.admin.caller import actor_of
from access.errors import LociError
from access.groups import GroupChange, entered_groups, find_group, update_group
from access.models import Group, Membership
from loci_site.admin.dashboard.counts import Census, VisibleCensus, current_census, live_by_group
from loci_site.admin.dashboard.todo import list_of
from loci_site.admin.explore.page import asked, page
from memories.browse.listing import ListFilter, list_memories
from memories.sessions.context_pack import DEFAULT_BUDGET, get_context
from memories.types import State, Trust, Type

RECENT = 8


def rooms(request: HttpRequest) -> HttpResponse:
    """List the groups that one may enter, each with what it holds."""
    actor = actor_of(request)
    census = current_census()
    held = live_by_group(census) if census else {}
    found = [(group, _held(held, group)) for group in entered_groups(actor)]
    context = {"title": "Rooms", "rooms": found, "census": census, "may_make": actor.may(CREATE_GROUP)}
    return page(request, "rooms.html", context)


def _held(held: dict[int, Any], group: Group) -> dict[str, int]:
    own = held.get(group.key, {})
    return {"live": sum(own.get(name, 0) for name in Type.values), "waiting": own.get(Trust.CANDIDATE, 0)}


def room(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one group; an admin of it may change its instructions here."""
    actor = actor_of(request)
    group = find_group(actor, slug)
    if request.method == "POST":
        return _change(request, actor, group)
    pack = get_context(actor, group=group.slug, token_budget=DEFAULT_BUDGET)
    census = current_census()
    context = {
        "title": group.title or group.slug,
        "room": group,
        "pack": pack,
        "members": _members(group),
        "recent": list_memories(actor, ListFilter(group=group.slug), limit=RECENT).rows,
        "counts": _counts(census, group) if census else None,
        "may_administer": actor.may(ADMIN, group.key),
        "instructions": asked(request, "instructions") or group.instructions,
        "links": _links(group),
        "budget": DEFAULT_BUDGET,
    }
    return page(request, "room.html", context)


def _change(request: HttpRequest, actor: Actor, group: Group) -> HttpResponse:
    said = request.POST.get("instructions", "").replace("\r\n", "\n").strip()
    try:
        update_group(actor, group.slug, GroupChange(instructions=said))
        messages.success(request, "Agents get these instructions from now on.")
    except LociError as refusal:
        if refusal.status in (403, 404):
            raise
        messages.error(request, str(refusal))
    return HttpResponseRedirect(reverse("admin:explore_room", args=[group.slug]))


def _members(group: Group) -> QuerySet[Membership]:
    return Membership.objects.filter(group=group).select_related("user").order_by("user__username")


def _counts(census: Census, group: Group) -> dict[str, Any]:
    own = VisibleCensus(census, None, group.key)
    return {
        "live": own.sum(state=State.LIVE),
        "all": own.sum(),
        "waiting": own.sum(state=State.LIVE, trust=Trust.CANDIDATE),
        "conflicts": own.open_links("conflict"),
        "duplicates": own.open_links("duplicate"),
        "relations": own.relations(),
        "types": [(name, own.sum(state=State.LIVE, type=name)) for name in Type.values],
    }


def _links(group: Group) -> dict[str, str]:
    slug = group.slug
    return {
        "memories": list_of("memories_memory", group=slug, state__exact="live"),
        "waiting": list_of("memories_memory", group=slug, state__exact="live", trust__exact="candidate"),
        "links": list_of("memories_link", status__exact="open"),
        "settings": reverse("admin:access_group_change", args=[group.id]),
        "graph": f"{reverse('admin:explore_graph')}?group={slug}",
        "timeline": f"{reverse('admin:explore_timeline')}?group={slug}",
        "playground": f"{reverse('admin:explore_recall')}?group={slug}",
    }
