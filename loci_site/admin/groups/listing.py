"""The groups as cards: what each holds, what is new, what waits and who is in it; and making a new one."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django import forms
from django.contrib import messages
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext

from access.actor import CREATE_GROUP, Actor
from access.admin.caller import actor_of
from access.admin.form_errors import try_form
from access.admin.page import render_in_site
from access.groups import create_group, entered_groups
from access.models import Group, Membership
from loci_site.admin.explore.page import query_text
from loci_site.admin.groups.counts import NEW, count_by_group
from loci_site.admin.groups.settings import as_themed
from loci_site.admin.groups.tabs import HOLDS, tab_url
from memories.models import Memory
from memories.review.queue import CardKind, find_open_links, find_open_proposals
from memories.types import State, Trust

_SEARCHED_FROM: Final = 9  # groups; fewer are seen at once


@dataclass(frozen=True)
class _GroupCard:
    """A group: what it holds in words, the memories of the last week, what waits for a person, and its members' names."""

    group: Group
    holds: tuple[str, ...]
    new: int
    waiting: int
    members: tuple[str, ...]
    last_write: datetime | None


class _NewGroupForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """The name, the title and the privacy of a new group."""

    class Meta:
        model = Group
        fields = ("slug", "title", "private")
        formfield_callback = as_themed

    def validate_unique(self) -> None:
        """Nothing: create_group() says that a name is taken."""


def list_groups(request: HttpRequest) -> HttpResponse:
    """The groups that the caller may enter; POST makes a new one."""
    actor = actor_of(request)
    form = _NewGroupForm(request.POST if request.method == "POST" else None)

    def make() -> HttpResponse:
        group = create_group(actor, **form.cleaned_data)
        messages.success(
            request, gettext("The group {name} is there. You are its admin.").format(name=group.slug)
        )
        return HttpResponseRedirect(tab_url(group, "settings"))

    if (made := try_form(form, make)) is not None:  # type: ignore[arg-type]  # it takes forms of models, too
        return made
    groups, text = entered_groups(actor), query_text(request, "q", max_chars=100)
    archived = Group.objects.filter(archived=True)
    cards = _cards(actor, [group for group in groups if _has_name(group, text)])
    is_searched = len(groups) >= _SEARCHED_FROM
    is_folded = is_searched and not text
    context = {
        "title": gettext("Groups"),
        "cards": [card for card in cards if card.holds or not is_folded],
        "empty": [card for card in cards if is_folded and not card.holds],
        "q": text,
        "is_searched": is_searched,
        "archived": archived if actor.all_groups else archived.filter(key__in=actor.roles),
        "may_make": actor.may(CREATE_GROUP),
        "form": form,
        "is_open": form.is_bound or "new" in request.GET,
    }
    return render_in_site(request, "admin/groups/list.html", context)


def _has_name(group: Group, text: str) -> bool:
    return text.casefold() in f"{group.slug} {group.title}".casefold()


def _cards(actor: Actor, groups: Sequence[Group]) -> list[_GroupCard]:
    """A card for each group; no query per group."""
    counts = count_by_group()
    members = defaultdict[int, list[str]](list)
    rows = Membership.objects.filter(group__in=groups, user__is_active=True).order_by("user__username")
    for key, name in rows.values_list("group_id", "user__username"):
        members[key].append(name)
    review, last_writes = _review_by_group(actor, groups), _find_last_writes(groups)
    return [
        _GroupCard(
            group,
            tuple(gettext(line).format(count=own[name]) for name, line in HOLDS.items() if own[name]),
            own[NEW],
            review[group.key] + own[Trust.CANDIDATE],
            tuple(members[group.key]),
            last_writes.get(group.key),
        )
        for group in groups
        for own in [counts[group.key]]
    ]


def _find_last_writes(groups: Sequence[Group]) -> dict[int, datetime]:
    """When the newest live memory of each group was stored: one query, with one step into the index for each group."""
    newest = Memory.objects.filter(group=OuterRef("key"), state=State.LIVE).order_by("-key")
    keys = [group.key for group in groups]
    rows = Group.objects.filter(key__in=keys).annotate(last=Subquery(newest.values("created_at")[:1]))
    return dict(rows.filter(last__isnull=False).order_by().values_list("key", "last"))


def _review_by_group(actor: Actor, groups: Sequence[Group]) -> Counter[int]:
    """The open proposals and conflicts by group, among the oldest that the Review shows; no query per group."""
    keys = [group.key for group in groups]
    found = Counter(row.group_id for row in find_open_proposals(keys))
    conflicts = find_open_links(actor, CardKind.CONFLICT, keys)
    ends = {end for link in conflicts for end in (link.source, link.target)}
    group_of = dict(Memory.objects.filter(key__in=ends).values_list("key", "group_id"))
    for link in conflicts:
        found.update({group_of[link.source], group_of[link.target]})
    return found
