"""The first page of the admin: what is remembered, how it grows and is used, what waits for somebody, and health."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from access.actor import Actor
from access.admin.caller import actor_of
from access.audit.operations import Operation
from access.connect import base_url
from access.groups import entered_groups
from access.models import AuditEntry, Group
from loci_site.admin.dashboard.charts import (
    Chart,
    Column,
    Series,
    draw,
    in_weeks,
    last_days,
    last_weeks,
    slices,
)
from loci_site.admin.dashboard.counts import (
    GROWTH_WEEKS,
    RECALL_DAYS,
    VisibleCensus,
    current_census,
    live_by_group,
    seen_by,
)
from loci_site.admin.dashboard.todo import Figure, list_of, needs
from loci_site.server.health import database_check, lesser_checks
from maintenance.models import Run
from memories.admin.log import visible_log
from memories.embedding import model_status
from memories.models import Memory
from memories.queries.visibility import as_q, listed_by
from memories.types import State, Trust, Type

LAST_WRITES = 8
MAX_ROOMS = 10
CYCLE_WEEKS = 12
MAX_RUNS = 2_000  # of the cycle's weeks; newer ones first
# What a run counts, by what it means for memories.
RETIRED = ("expired", "forgotten", "compacted")
MADE = ("promoted", "summaries")
FOUND = ("duplicates_found", "conflicts_found")


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
    rooms = {room.slug: room for room in entered_groups(actor)}
    room = rooms.get(request.GET.get("group", ""))
    chosen = room.slug if room else ""
    census = current_census()
    seen = seen_by(census, actor, room=room.key if room else None) if census else None
    return context | {
        "title": "Dashboard",
        "census": census,
        "chosen": chosen,
        "needs": needs(seen, actor, chosen),
        "health": _health(),
        "model": model_status(),
        "cycle": _cycle(actor, room),
        "writes": _last_writes(actor, room),
        "log_url": reverse("admin:access_auditentry_changelist"),
        "token_url": reverse("admin:access_apitoken_add"),
        "add_url": reverse("admin:memories_memory_add"),
        "server": base_url(),
        **(_counted(seen, rooms, chosen) if seen else {}),
    }


def _counted(seen: VisibleCensus, rooms: Mapping[str, Group], chosen: str) -> dict[str, Any]:
    """Give what the census tells."""
    held = live_by_group(seen.census)
    listed = sorted(
        ((room, held.get(room.key, Counter())) for room in rooms.values()),
        key=lambda pair: (-sum(pair[1].values()), pair[0].slug),
    )
    return {
        "is_empty": not seen.sum(),
        "figures": _figures(seen, chosen, len(rooms)),
        "charts": [_growth(seen, chosen), _recalls(seen, chosen)],
        "types": _shares(seen, "type", Type.values, chosen),
        "trusts": _shares(seen, "trust", Trust.values, chosen),
        "states": _shares(seen, "state", State.values, chosen),
        "rooms": _room_rows(listed[:MAX_ROOMS]),
        "more_rooms": max(0, len(listed) - MAX_ROOMS),
    }


def _figures(seen: VisibleCensus, group: str, groups: int) -> list[Figure]:
    live, pinned = seen.sum(state=State.LIVE), seen.sum(pinned=True)
    answered, empty = (sum(seen.recalls(abstained=nothing).values()) for nothing in (False, True))
    share = (
        f"{empty / (answered + empty):.0%} found nothing" if answered + empty else f"in {RECALL_DAYS} days"
    )
    memories = list_of("memories_memory", group=group, state__exact="live")
    return [
        Figure("Live memories", live, memories, "neurology", f"{seen.sum():,} with history"),
        Figure("Relations", seen.relations(), list_of("relations_relation", group=group), "share", "between entities"),
        Figure(f"Recalls in {RECALL_DAYS} days", answered + empty, list_of("memories_recalllog", group=group), "manage_search", share),
        Figure("Groups", groups, list_of("access_group"), "meeting_room", f"{pinned:,} memories pinned"),
    ]  # fmt: skip


def _growth(seen: VisibleCensus, group: str) -> Chart:
    mondays = last_weeks(timezone.now().date(), GROWTH_WEEKS)
    stored = in_weeks(seen.stored(), mondays)
    # The log is found by its time; memories would have to be read one by one.
    columns = [
        Column(_shown(day), _between("access_auditentry", day, 6, operation=Operation.STORE))
        for day in mondays
    ]
    return draw(
        "growth",
        "Stored, by week",
        [Series("stored", "tone", stored)],
        columns,
        summary=f"Stored in {GROWTH_WEEKS} weeks: {sum(stored):,}; this week: {stored[-1]:,}.",
        link=list_of("memories_memory", group=group),
    )


def _recalls(seen: VisibleCensus, group: str) -> Chart:
    days = last_days(timezone.now().date(), RECALL_DAYS)
    answered, empty = seen.recalls(abstained=False), seen.recalls(abstained=True)
    series = [
        Series("answered", "tone", [answered.get(day, 0) for day in days]),
        Series("found nothing", "amber", [empty.get(day, 0) for day in days]),
    ]
    made = sum(map(sum, (s.values for s in series)))
    share = f"{sum(series[1].values) / made:.0%}" if made else "none"
    return draw(
        "recalls",
        "Recalls, by day",
        series,
        [Column(_shown(day), _between("memories_recalllog", day, 0, group=group)) for day in days],
        summary=f"Recalls in {RECALL_DAYS} days: {made:,}; {share} of them found nothing relevant.",
        link=list_of("memories_recalllog", group=group),
    )


def _cycle(actor: Actor, room: Group | None) -> Chart:
    """Draw what the runs of each week did."""
    mondays = last_weeks(timezone.now().date(), CYCLE_WEEKS)
    since = timezone.now() - timedelta(weeks=CYCLE_WEEKS)
    runs = Run.objects.filter(started_at__gte=since, dry_run=False)
    if room is not None:
        runs = runs.filter(group=room)
    elif not actor.all_groups:
        runs = runs.filter(group__in=list(actor.roles))
    rows = list(runs.order_by("-key").values_list("started_at", "counts")[:MAX_RUNS])
    named = (("retired", "amber", RETIRED), ("made", "green", MADE), ("to be reviewed", "blue", FOUND))
    series = [Series(name, tone, _weekly(rows, kinds, mondays)) for name, tone, kinds in named]
    decayed = sum(_weekly(rows, ("decayed",), mondays))
    return draw(
        "cycle",
        "Maintenance, by week",
        series,
        [Column(_shown(day), list_of("maintenance_run")) for day in mondays],
        summary=f"Runs in {CYCLE_WEEKS} weeks: {len(rows):,}. They retired {sum(series[0].values):,} memories, "
        f"made {sum(series[1].values):,}, found {sum(series[2].values):,} ties to be reviewed and let {decayed:,} fade.",
        link=list_of("maintenance_run"),
    )


def _weekly(rows: list[tuple[Any, ...]], kinds: tuple[str, ...], mondays: list[date]) -> list[int]:
    by_day: dict[date, int] = {}
    for started_at, counts in rows:
        day = started_at.date()
        by_day[day] = by_day.get(day, 0) + sum(int(counts.get(kind, 0)) for kind in kinds)
    return in_weeks(by_day, mondays)


def _between(page: str, day: date, more: int, **narrow: str) -> str:
    return list_of(page, at_from=f"{day}", at_to=f"{day + timedelta(days=more)}", **narrow)


def _shown(day: date) -> str:
    return f"{day.day} {day:%b}"


def _shares(seen: VisibleCensus, column: str, order: list[str], group: str) -> list[Share]:
    """Give the parts of a whole in order: of live memories, and by state of all."""
    live = {"state": State.LIVE} if column != "state" else {}
    counts = seen.by(column, **live)
    whole = sum(counts.values())
    extra = {"state__exact": "live"} if live else {}
    return [
        Share(name, counts[name], round(100 * counts[name] / whole, 1),
              list_of("memories_memory", group=group, **{f"{column}__exact": name}, **extra))
        for name in order
        if counts.get(name)
    ]  # fmt: skip


def _room_rows(rooms: list[tuple[Group, Counter[str]]]) -> list[dict[str, Any]]:
    """Give groups with how many live and waiting memories each holds, and the types of these."""
    most = max((sum(own[name] for name in Type.values) for _, own in rooms), default=0)
    return [
        {
            "slug": room.slug,
            "title": room.title,
            "private": room.private,
            "live": sum(own[name] for name in Type.values),
            "waiting": own[Trust.CANDIDATE],
            "slices": slices({name: own[name] for name in Type.values if own[name]}, whole=most),
        }
        for room, own in rooms
    ]


def _health() -> list[tuple[str, bool, str]]:
    """Say of each part of Loci whether it works; what /health says, without its trial write."""
    checks = {"database": database_check(), **lesser_checks(has_database=True)}
    return [(name, check.ok, check.detail) for name, check in checks.items()]


def _last_writes(actor: Actor, room: Group | None) -> list[dict[str, Any]]:
    rows = visible_log(actor, AuditEntry.objects.order_by("-key").exclude(memory_id=None))
    if room is not None:
        rows = rows.filter(group=room.id)
    entries = list(rows[:LAST_WRITES])
    ids = {entry.memory_id for entry in entries if entry.memory_id}
    shown = Memory.objects.filter(as_q(listed_by(actor, None)) & Q(id__in=ids)).select_related("group")
    memories: dict[UUID | None, Memory] = {memory.id: memory for memory in shown}
    return [{"entry": entry, "memory": memories.get(entry.memory_id)} for entry in entries]
