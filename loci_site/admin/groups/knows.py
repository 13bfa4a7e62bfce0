"""What a group knows: pinned and newest memories, its topics, its entities in sentences, and its weeks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import groupby

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode
from django.utils.translation import gettext

from access.actor import WRITE, Actor
from access.admin.day_range import local_moment
from access.models import Group
from loci_site.admin.dashboard.todo import list_url
from loci_site.admin.explore.graph import newest_statements
from loci_site.admin.explore.page import query_text
from loci_site.admin.groups.counts import count_by_group
from loci_site.admin.groups.tabs import HOLDS, KNOWS, render_tab, tab_url
from memories.browse.listing import ListFilter, list_memories
from memories.entities.statements import RelationStatement
from memories.models import Memory
from memories.queries.visibility import as_q, listed_by
from memories.sessions.context_pack import DEFAULT_BUDGET, get_context
from memories.types import State, Trust, Type

_SHOWN_TRUSTS = tuple(trust for trust in Trust.values if trust != Trust.QUARANTINED)
_NEWEST = 10
_PINNED = 20
_EVENTS = 20
_RELATIONS = 120
_ENTITIES = 12
_TOPICS = 20
_TAGGED = 2_000  # newest memories with tags that are counted


def show_knows(request: HttpRequest, actor: Actor, group: Group) -> HttpResponse:
    """What the group knows; with `tag` the newest memories are those of a topic."""
    tag = query_text(request, "tag", max_chars=100).lower()
    shown = ListFilter(group=group.slug, trusts=_SHOWN_TRUSTS)
    newest = list_memories(actor, replace(shown, tags=(tag,) if tag else ()), limit=_NEWEST)
    events = list_memories(actor, replace(shown, types=(Type.EPISODIC,)), limit=_EVENTS).rows
    topics = _count_topics(actor, group)
    context = {
        "holds": _holdings(group),
        "pinned": _live(actor, group).filter(pinned=True)[:_PINNED],
        "newest": newest.rows,
        "tag": tag,
        "topics": [(name, count, _topic_url(group, name, tag)) for name, count in topics],
        "entities": _entities(newest_statements(actor, group, "", _RELATIONS)),
        "weeks": _by_week(events),
        "more": list_url("memories_memory", group=group.slug, state__exact=State.LIVE)
        + f"&{urlencode({'tag': tag})}",
        "may_write": actor.may(WRITE, group.key) and not group.archived,
        "pack": get_context(actor, group=group.slug, token_budget=DEFAULT_BUDGET),
        "budget": DEFAULT_BUDGET,
    }
    return render_tab(request, group, KNOWS, context)


def _live(actor: Actor, group: Group) -> QuerySet[Memory]:
    """The live memories of the group that the actor may see, newest first, without quarantined ones."""
    seen = as_q(listed_by(actor, group, trusts=frozenset(_SHOWN_TRUSTS)))
    return Memory.objects.filter(seen, group=group, state=State.LIVE)


def _holdings(group: Group) -> list[tuple[str, str]]:
    """The number of live memories of each type there is, and the list of them."""
    counts = count_by_group()[group.key]
    live = {"group": group.slug, "state__exact": State.LIVE}
    return [
        (gettext(line).format(count=counts[name]), list_url("memories_memory", **live, type__exact=name))
        for name, line in HOLDS.items()
        if counts[name]
    ]


def _count_topics(actor: Actor, group: Group) -> list[tuple[str, int]]:
    """The tags that the newest memories have most."""
    tagged = _live(actor, group).exclude(tags=[]).values_list("tags", flat=True)[:_TAGGED]
    return Counter(tag for tags in tagged for tag in tags).most_common(_TOPICS)


def _topic_url(group: Group, name: str, here: str) -> str:
    """The address that shows a topic, or everything again if it is shown."""
    return tab_url(group) if name == here else f"{tab_url(group)}?{urlencode({'tag': name})}"


def _entities(statements: Sequence[RelationStatement]) -> list[tuple[Memory, list[RelationStatement]]]:
    """The entities with the most relations, each with those that it is the subject of, or else the object."""
    shown = [each for each in statements if Trust.QUARANTINED not in (each.subject.trust, each.object.trust)]
    ends = {end.key: end for each in shown for end in (each.subject, each.object)}
    often = Counter(end.key for each in shown for end in (each.subject, each.object))
    about: dict[int, list[RelationStatement]] = {key: [] for key, _ in often.most_common()}
    for each in shown:
        about[each.subject.key].append(each)
    return [(ends[key], found) for key, found in about.items() if found][:_ENTITIES]


def _by_week(events: Sequence[Memory]) -> list[tuple[date, list[Memory]]]:
    """The events by the Monday of their week in the reader's time zone, the newest first."""

    def monday(memory: Memory) -> date:
        day = local_moment(memory.moment).date()
        return day - timedelta(days=day.weekday())

    ordered = sorted(events, key=lambda memory: (memory.moment, memory.key), reverse=True)
    return [(week, list(own)) for week, own in groupby(ordered, key=monday)]
