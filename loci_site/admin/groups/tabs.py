"""The frame of one group's pages: its tabs, as far as the reader may open them."""

from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from access.actor import ADMIN, CURATE, READ, Actor
from access.admin.caller import actor_of
from access.admin.page import render_in_site
from access.models import Group
from memories.review.queue import review_deck
from memories.types import Type

KNOWS: Final = ""
# By the last part of the address: the label, and the right that the tab needs.
TABS: Final = {
    KNOWS: (gettext_noop("Knows"), READ),
    "changes": (gettext_noop("Changes"), READ),
    "waits": (gettext_noop("Waits"), CURATE),
    "asked": (gettext_noop("Asked"), READ),
    "conversations": (gettext_noop("Conversations"), READ),
    "files": (gettext_noop("Files"), READ),
    "map": (gettext_noop("Map"), READ),
    "settings": (gettext_noop("Settings"), ADMIN),
}
# What a group holds, by the type of its memories.
HOLDS: Final = {
    Type.SEMANTIC: gettext_noop("facts: {count}"),
    Type.EPISODIC: gettext_noop("events: {count}"),
    Type.PROCEDURAL: gettext_noop("procedures: {count}"),
    Type.ENTITY: gettext_noop("entities: {count}"),
}


@dataclass(frozen=True)
class Tab:
    """A tab as admin/loci/tabs.html draws it."""

    label: str
    url: str
    is_here: bool
    count: str = ""


def tab_url(group: Group, tab: str = KNOWS) -> str:
    """Address of a tab of a group."""
    return reverse("admin:explore_group", args=[group.slug, *filter(None, [tab])])


def group_tabs(actor: Actor, group: Group, here: str) -> list[Tab]:
    """The tabs that the actor may open; *Waits* has the number of cards."""
    waiting = review_deck(actor, group=group.slug, limit=0).total if actor.decides(group.key) else None
    return [
        Tab(
            gettext(label),
            tab_url(group, tab),
            tab == here,
            str(waiting) if tab == "waits" and waiting and waiting.value else "",
        )
        for tab, (label, right) in TABS.items()
        if actor.may(right, group.key)
    ]


def group_context(request: HttpRequest, group: Group, tab: str) -> dict[str, Any]:
    """What every page of a group shows: its name, its tabs, and itself."""
    tabs = group_tabs(actor_of(request), group, tab)
    way_back = {"list_name": gettext("Groups"), "list_url": reverse("admin:explore_groups")}
    return {"title": group.title or group.slug, "group": group, "group_tabs": tabs} | way_back


def render_tab(
    request: HttpRequest, group: Group, tab: str, context: dict[str, Any], *, status: int = 200
) -> TemplateResponse:
    """The page of a tab, from the template of its name."""
    template = f"admin/groups/{tab or 'knows'}.html"
    return render_in_site(request, template, group_context(request, group, tab) | context, status=status)
