"""Groups: their list, and one group's instructions, context pack, newest memories, members and review counts."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext

from access.actor import ADMIN, CREATE_GROUP, Actor
from access.admin.caller import actor_of
from access.groups import GroupChange, entered_groups, find_group, update_group
from access.models import Group, Membership
from loci_site.admin.dashboard.counts import Census, VisibleCensus, current_census, live_by_group
from loci_site.admin.dashboard.todo import count_review, list_url
from loci_site.admin.explore.page import query_text, render_page
from memories.browse.listing import ListFilter, list_memories
from memories.models import Memory
from memories.review.queue import CardKind, find_open_links, find_open_proposals
from memories.sessions.context_pack import DEFAULT_BUDGET, get_context
from memories.types import State, Trust, Type

RECENT = 8


def list_groups(request: HttpRequest) -> HttpResponse:
    """The groups the caller may enter, each with its members, its last write, and how much is live and waits."""
    actor = actor_of(request)
    census = current_census()
    by_group = live_by_group(census) if census else {}
    groups = entered_groups(actor)
    members = Counter(Membership.objects.filter(group__in=groups).values_list("group_id", flat=True))
    review, last_writes = _review_by_group(actor, groups), _find_last_writes(groups)
    rows = []
    for group in groups:
        own = by_group.get(group.key, Counter())
        counts = {
            "live": sum(own[name] for name in Type.values),
            "candidates": own[Trust.CANDIDATE],
            "proposals": review[group.key, CardKind.PROPOSAL],
            "conflicts": review[group.key, CardKind.CONFLICT],
            "members": members[group.key],
            "last_write": last_writes.get(group.key),
        }
        rows.append((group, counts))
    context = {
        "title": gettext("Groups"),
        "groups": rows,
        "census": census,
        "may_make": actor.may(CREATE_GROUP),
    }
    return render_page(request, "groups.html", context)


def _find_last_writes(groups: Sequence[Group]) -> dict[int, datetime]:
    """When the newest live memory of each group was stored: one query, with one step into the index for each group."""
    newest = Memory.objects.filter(group=OuterRef("key"), state=State.LIVE).order_by("-key")
    keys = [group.key for group in groups]
    rows = Group.objects.filter(key__in=keys).annotate(last=Subquery(newest.values("created_at")[:1]))
    return dict(rows.filter(last__isnull=False).order_by().values_list("key", "last"))


def _review_by_group(actor: Actor, groups: Sequence[Group]) -> Counter[tuple[int, CardKind]]:
    """The open proposals and conflicts by group, among the oldest that the Review shows; no query per group."""
    keys = [group.key for group in groups]
    found = Counter((row.group_id, CardKind.PROPOSAL) for row in find_open_proposals(keys))
    conflicts = find_open_links(actor, CardKind.CONFLICT, keys)
    ends = {end for link in conflicts for end in (link.source, link.target)}
    group_of = dict(Memory.objects.filter(key__in=ends).values_list("key", "group_id"))
    for link in conflicts:
        found.update((key, CardKind.CONFLICT) for key in {group_of[link.source], group_of[link.target]})
    return found


def show_group(request: HttpRequest, slug: str) -> HttpResponse:
    """One group; its admins may change its instructions here."""
    actor = actor_of(request)
    group = find_group(actor, slug)
    if request.method == "POST":
        return _save_instructions(request, actor, group)
    pack = get_context(actor, group=group.slug, token_budget=DEFAULT_BUDGET)
    census = current_census()
    context = {
        "title": group.title or group.slug,
        "group": group,
        "pack": pack,
        "members": Membership.objects.filter(group=group).select_related("user").order_by("user__username"),
        "recent": list_memories(actor, ListFilter(group=group.slug), limit=RECENT).rows,
        "counts": _count_group(actor, census, group) if census else None,
        "may_administer": actor.may(ADMIN, group.key),
        "instructions": query_text(request, "instructions") or group.instructions,
        "links": _group_links(group),
        "budget": DEFAULT_BUDGET,
    }
    return render_page(request, "group.html", context)


def _save_instructions(request: HttpRequest, actor: Actor, group: Group) -> HttpResponse:
    instructions = request.POST.get("instructions", "").replace("\r\n", "\n").strip()
    update_group(actor, group.slug, GroupChange(instructions=instructions))
    messages.success(request, gettext("Saved. Agents get these instructions from now on."))
    return HttpResponseRedirect(reverse("admin:explore_group", args=[group.slug]))


def _count_group(actor: Actor, census: Census, group: Group) -> dict[str, Any]:
    own, review = VisibleCensus(census, None, group.key), count_review(actor, [group.key])
    return {
        "live": own.sum(state=State.LIVE),
        "all": own.sum(),
        "waiting": own.sum(state=State.LIVE, trust=Trust.CANDIDATE),
        "conflicts": review[CardKind.CONFLICT],
        "duplicates": review[CardKind.DUPLICATE],
        "relations": own.relations(),
        "types": [(name, own.sum(state=State.LIVE, type=name)) for name in Type.values],
    }


def _group_links(group: Group) -> dict[str, str]:
    slug = group.slug
    return {
        "memories": list_url("memories_memory", group=slug, state__exact="live"),
        "waiting": list_url("memories_memory", group=slug, state__exact="live", trust__exact="candidate"),
        "links": reverse("review"),
        "settings": reverse("admin:access_group_change", args=[group.id]),
        "graph": f"{reverse('admin:explore_graph')}?group={slug}",
        "timeline": f"{reverse('admin:explore_timeline')}?group={slug}",
        "playground": f"{reverse('admin:explore_recall')}?group={slug}",
    }
