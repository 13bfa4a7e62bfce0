"""The first page of the admin: true counts, what waits for somebody, and what was written last."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest
from django.urls import reverse

from access.actor import Actor
from access.admin.caller import actor_of
from access.connecting import base_url
from access.groups import entered_groups
from access.models import AuditEntry, Group
from memories.admin.log import visible_log
from memories.models import Memory
from memories.stats import Stats, memory_stats
from memories.types import State, Type

LAST_WRITES = 8
MAX_ROOMS = 12


@dataclass(frozen=True)
class Figure:
    """A count that leads to the rows behind it."""

    label: str
    value: int
    link: str
    icon: str = ""
    note: str = ""


@dataclass(frozen=True)
class Share:
    """A part of a whole, with its percentage for the bar."""

    label: str
    value: int
    percent: float
    link: str


def dashboard_context(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add what the dashboard shows; `?group=` narrows it to one group."""
    actor = actor_of(request)
    rooms = entered_groups(actor)
    chosen = request.GET.get("group", "")
    chosen = chosen if chosen in {room.slug for room in rooms} else ""
    stats = memory_stats(actor, group=chosen or None, everywhere=not chosen)
    return context | {
        "title": "Dashboard",
        "stats": stats,
        "chosen": chosen,
        "figures": _figures(stats, chosen),
        "needs": [figure for figure in _needs(stats, chosen) if figure.value],
        "types": _shares(stats.by_type, Type.values, "type__exact", chosen),
        "states": _shares(stats.by_state, State.values, "state__exact", chosen),
        "rooms": _room_rows(actor, rooms[:MAX_ROOMS]),
        "more_rooms": max(0, len(rooms) - MAX_ROOMS),
        "writes": _last_writes(actor, chosen),
        "log_url": reverse("admin:access_auditentry_changelist"),
        "token_url": reverse("admin:access_apitoken_add"),
        "add_url": reverse("admin:memories_memory_add"),
        "server": base_url(),
    }


def _list(page: str, **narrow: str) -> str:
    query = "&".join(f"{name}={value}" for name, value in narrow.items() if value)
    return reverse(f"admin:{page}_changelist") + (f"?{query}" if query else "")


def _figures(stats: Stats, group: str) -> list[Figure]:
    recalls = _list("memories_recalllog", group=group)
    return [
        Figure("Live memories", stats.live, _list("memories_memory", group=group, state__exact="live"), "neurology",
               f"{stats.memories:,} with history"),
        Figure("Relations", stats.relations, _list("relations_relation", group=group), "share", "between entities"),
        Figure("Recalls", stats.recalls_7_days, recalls, "manage_search", "in 7 days"),
        Figure("Groups", stats.groups, _list("access_group"), "meeting_room", f"{stats.pinned:,} memories pinned"),
    ]  # fmt: skip


def _needs(stats: Stats, group: str) -> list[Figure]:
    """What asks for a person, or has not been done yet."""
    waiting = _list("memories_memory", group=group, state__exact="live", trust__exact="candidate")
    disputed = _list("memories_memory", group=group, state__exact="live", trust__exact="disputed")
    conflicts = _list("memories_link", status__exact="open", kind__exact="conflict")
    duplicates = _list("memories_link", status__exact="open", kind__exact="duplicate")
    return [
        Figure("waiting for approval", stats.waiting, waiting, "hourglass_top"),
        Figure("disputed", stats.by_trust.get("disputed", 0), disputed, "help"),
        Figure("open conflicts", stats.conflicts, conflicts, "compare_arrows"),
        Figure("possible duplicates", stats.duplicates, duplicates, "content_copy"),
        Figure("pieces without a vector yet", stats.pieces_owed, "", "pending"),
    ]


def _shares(counts: dict[str, int], order: Sequence[str], column: str, group: str) -> list[Share]:
    whole = sum(counts.values()) or 1
    extra = {"state__exact": "live"} if column != "state__exact" else {}
    return [
        Share(name, counts[name], round(100 * counts[name] / whole, 1),
              _list("memories_memory", group=group, **{column: name}, **extra))
        for name in order
        if counts.get(name)
    ]  # fmt: skip


def _room_rows(actor: Actor, rooms: list[Group]) -> list[dict[str, Any]]:
    """Give the groups entered with how many live and waiting memories each holds, in one query."""
    keys = [room.key for room in rooms]
    rows = Memory.objects.filter(group__in=keys, state=State.LIVE).order_by().values("group")
    counted = rows.annotate(live=Count("key"), waiting=Count("key", filter=Q(trust="candidate")))
    by_key: dict[int, dict[str, Any]] = {row["group"]: dict(row) for row in counted}
    return [
        {
            "slug": room.slug,
            "title": room.title,
            "private": room.private,
            "live": by_key.get(room.key, {}).get("live", 0),
            "waiting": by_key.get(room.key, {}).get("waiting", 0),
        }
        for room in rooms
    ]


def _last_writes(actor: Actor, group: str) -> list[dict[str, Any]]:
    rows = visible_log(actor, AuditEntry.objects.order_by("-key").exclude(memory_id=None))
    if group:
        rows = rows.filter(group__in=list(Group.objects.filter(slug=group).values_list("id", flat=True)))
    entries = list(rows[:LAST_WRITES])
    ids = {entry.memory_id for entry in entries if entry.memory_id}
    memories = {memory.id: memory for memory in Memory.objects.filter(id__in=ids).select_related("group")}
    return [{"entry": entry, "memory": memories.get(entry.memory_id)} for entry in entries if entry.memory_id]
