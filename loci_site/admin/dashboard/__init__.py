"""The dashboard: figures, growth and use of memory, what needs attention, the last writes, and health."""

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
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.day_range import UTC_DAYS
from access.audit.operations import Operation
from access.audit_search import visible_log
from access.connect import base_url
from access.groups import entered_groups
from access.models import AuditEntry, Group
from loci_site.admin.dashboard.charts import (
    Chart,
    Column,
    Series,
    draw_chart,
    last_days,
    last_weeks,
    stack_slices,
    sum_by_week,
)
from loci_site.admin.dashboard.counts import (
    GROWTH_WEEKS,
    RECALL_DAYS,
    VisibleCensus,
    current_census,
    live_by_group,
    visible_census,
)
from loci_site.admin.dashboard.todo import Figure, first_steps, list_url, needs_attention
from loci_site.hooks.stats import card_stats
from loci_site.server.health import database_check, lesser_checks
from maintenance.models import Run
from memories.embedding import model_status
from memories.models import Memory
from memories.queries.visibility import as_q, listed_by
from memories.types import State, Trust, Type

_LAST_WRITES = 8
_MAX_GROUPS = 10
_CYCLE_WEEKS = 12
_MAX_RUNS = 2_000  # read for the maintenance chart, newest first
# A run's counts, by what they mean for memories.
RETIRED = ("expired", "forgotten", "put_to_sleep", "compacted")
CREATED = ("promoted", "summaries")
_TO_REVIEW = ("duplicates_found", "conflicts_found")
DECAYED = ("decayed",)


@dataclass(frozen=True)
class _Share:
    """A part of a whole, with its percentage for the bar."""

    label: str
    value: int
    percent: float
    link: str


def dashboard_context(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The template's context; `?group=` narrows the dashboard to one group. Called by unfold."""
    actor = actor_of(request)
    groups = {group.slug: group for group in entered_groups(actor)}
    group = groups.get(request.GET.get("group", ""))
    chosen = group.slug if group else ""
    census = current_census()
    seen = visible_census(census, actor, group=group.key if group else None) if census else None
    # /health without its test write.
    checks = {"database": database_check(), **lesser_checks(has_database=True)}
    return context | {
        "title": gettext("Dashboard"),
        "census": census,
        "chosen": chosen,
        "needs": needs_attention(seen, actor, group),
        "steps": first_steps(actor, seen) if group is None else [],
        "health": [(name, check.ok, check.detail) for name, check in checks.items()],
        "model": model_status(),
        "cycle": _maintenance_chart(actor, group),
        "hooks": card_stats(actor, chosen),
        "writes": last_writes(actor, group),
        "log_url": reverse("admin:access_auditentry_changelist"),
        "token_url": reverse("admin:access_apitoken_add"),
        "add_url": reverse("admin:memories_memory_add"),
        "server": base_url(),
        **(_counted_context(seen, groups, chosen) if seen else {}),
    }


def _counted_context(seen: VisibleCensus, groups: Mapping[str, Group], chosen: str) -> dict[str, Any]:
    return {
        "is_empty": not seen.sum(),
        "figures": _headline_figures(seen, chosen, len(groups)),
        "charts": [_growth_chart(seen, chosen), _recall_chart(seen, chosen)],
        "types": _list_shares(seen, "type", Type.values, chosen),
        "trusts": _list_shares(seen, "trust", Trust.values, chosen),
        "states": _list_shares(seen, "state", State.values, chosen),
        "group_rows": _list_group_rows(seen, groups),
        "more_groups": max(0, len(groups) - _MAX_GROUPS),
    }


def _headline_figures(seen: VisibleCensus, group: str, group_count: int) -> list[Figure]:
    live, pinned = seen.sum(state=State.LIVE), seen.sum(pinned=True)
    answered, empty = (sum(seen.recalls(abstained=abstained).values()) for abstained in (False, True))
    recalls = answered + empty
    share = gettext("in {recall_days} days").format(recall_days=RECALL_DAYS)
    if recalls:
        share = gettext("{empty:.0%} found nothing").format(empty=empty / recalls)
    memories = list_url("memories_memory", group=group, state__exact="live")
    return [
        Figure(gettext("Live memories"), live, memories, "neurology", gettext("{seen:,} including old versions").format(seen=seen.sum())),
        Figure(gettext("Relations"), seen.relations(), list_url("relations_relation", group=group), "share", gettext("between entities")),
        Figure(gettext("Recalls in {recall_days} days").format(recall_days=RECALL_DAYS), recalls, list_url("memories_recalllog", group=group), "manage_search", share),
        Figure(gettext("Groups"), group_count, list_url("access_group"), "meeting_room", ngettext("{pinned:,} pinned memory", "{pinned:,} pinned memories", pinned).format(pinned=pinned)),
    ]  # fmt: skip


def _growth_chart(seen: VisibleCensus, group: str) -> Chart:
    mondays = last_weeks(timezone.now().date(), GROWTH_WEEKS)
    stored = sum_by_week(seen.stored(), mondays)
    # Bars link to the audit log, which is indexed by time; memories would have to be read one by one.
    columns = [
        Column(_short_date(day), _list_url_between("access_auditentry", day, 6, operation=Operation.STORE))
        for day in mondays
    ]
    return draw_chart(
        "growth",
        gettext("Stored per week"),
        [Series(gettext("stored"), "tone", stored)],
        columns,
        summary=gettext("Stored in {growth_weeks} weeks: {stored:,}; this week: {stored2:,}.").format(
            growth_weeks=GROWTH_WEEKS, stored=sum(stored), stored2=stored[-1]
        ),
        link=list_url("memories_memory", group=group),
    )


def _recall_chart(seen: VisibleCensus, group: str) -> Chart:
    days = last_days(timezone.now().date(), RECALL_DAYS)
    answered, empty = seen.recalls(abstained=False), seen.recalls(abstained=True)
    series = [
        Series(gettext("answered"), "tone", [answered.get(day, 0) for day in days]),
        Series(gettext("found nothing"), "amber", [empty.get(day, 0) for day in days]),
    ]
    made = sum(map(sum, (s.values for s in series)))
    share = f"{sum(series[1].values) / made:.0%}" if made else gettext("none")
    return draw_chart(
        "recalls",
        gettext("Recalls per day"),
        series,
        [
            Column(_short_date(day), _list_url_between("memories_recalllog", day, 0, group=group))
            for day in days
        ],
        summary=gettext(
            "Recalls in {recall_days} days: {made:,}; {share} of them found nothing relevant."
        ).format(recall_days=RECALL_DAYS, made=made, share=share),
        link=list_url("memories_recalllog", group=group),
    )


def _maintenance_chart(actor: Actor, group: Group | None) -> Chart:
    mondays = last_weeks(timezone.now().date(), _CYCLE_WEEKS)
    since = timezone.now() - timedelta(weeks=_CYCLE_WEEKS)
    runs = Run.objects.filter(started_at__gte=since, dry_run=False)
    if group is not None:
        runs = runs.filter(group=group)
    elif not actor.all_groups:
        runs = runs.filter(group__in=list(actor.roles))
    rows = list(runs.order_by("-key").values_list("started_at", "counts")[:_MAX_RUNS])
    named = (
        (gettext("retired"), "amber", RETIRED),
        (gettext("created"), "green", CREATED),
        (gettext("to review"), "blue", _TO_REVIEW),
    )
    series = [Series(name, tone, _sum_runs_by_week(rows, kinds, mondays)) for name, tone, kinds in named]
    retired, created, to_review = (sum(each.values) for each in series)
    decayed = sum(_sum_runs_by_week(rows, DECAYED, mondays))
    return draw_chart(
        "cycle",
        gettext("Maintenance per week"),
        series,
        [Column(_short_date(day), list_url("maintenance_run")) for day in mondays],
        summary=ngettext(
            "{runs:,} run in {weeks} weeks: {retired:,} retired, {created:,} created, {to_review:,} links to review,"
            " {decayed:,} lost confidence.",
            "{runs:,} runs in {weeks} weeks: {retired:,} retired, {created:,} created, {to_review:,} links to review,"
            " {decayed:,} lost confidence.",
            len(rows),
        ).format(
            runs=len(rows),
            weeks=_CYCLE_WEEKS,
            retired=retired,
            created=created,
            to_review=to_review,
            decayed=decayed,
        ),
        link=list_url("maintenance_run"),
    )


def _sum_runs_by_week(rows: list[tuple[Any, ...]], kinds: tuple[str, ...], mondays: list[date]) -> list[int]:
    """Weekly sums of some of the runs' counts; `rows` are (started_at, counts)."""
    by_day: dict[date, int] = {}
    for started_at, counts in rows:
        day = started_at.date()
        by_day[day] = by_day.get(day, 0) + sum(int(counts.get(kind, 0)) for kind in kinds)
    return sum_by_week(by_day, mondays)


def _list_url_between(page: str, day: date, more_days: int, **filters: str) -> str:
    """URL of an admin list narrowed to the rows from `day` to `more_days` later: days of UTC, which the census counts."""
    last = day + timedelta(days=more_days)
    return list_url(page, at_from=f"{day}", at_to=f"{last}", at_zone=UTC_DAYS, **filters)


def _short_date(day: date) -> str:
    """A date without its year: 3 Nov."""
    return date_format(day, gettext("j M"))


def _list_shares(seen: VisibleCensus, column: str, order: list[str], group: str) -> list[_Share]:
    """The shares of a column's values, in this order: of live memories, or of all if the column is the state."""
    live = {"state": State.LIVE} if column != "state" else {}
    counts = seen.by(column, **live)
    whole = sum(counts.values())
    extra = {"state__exact": "live"} if live else {}
    return [
        _Share(name, counts[name], round(100 * counts[name] / whole, 1),
              list_url("memories_memory", group=group, **{f"{column}__exact": name}, **extra))
        for name in order
        if counts.get(name)
    ]  # fmt: skip


def _list_group_rows(seen: VisibleCensus, groups: Mapping[str, Group]) -> list[dict[str, Any]]:
    """The largest groups with their live memories, those waiting for approval, and the slices of their types."""
    counts = live_by_group(seen.census)
    pairs = [(group, counts.get(group.key, Counter[str]())) for group in groups.values()]
    shown = sorted(pairs, key=lambda pair: (-sum(pair[1].values()), pair[0].slug))[:_MAX_GROUPS]
    live = {group.slug: sum(own[name] for name in Type.values) for group, own in shown}
    most = max(live.values(), default=0)
    return [
        {
            "slug": group.slug,
            "title": group.title,
            "private": group.private,
            "live": live[group.slug],
            "waiting": own[Trust.CANDIDATE],
            "slices": stack_slices({name: own[name] for name in Type.values if own[name]}, whole=most),
        }
        for group, own in shown
    ]


def last_writes(actor: Actor, group: Group | None) -> list[dict[str, Any]]:
    """The newest audit entries about memories, each with its memory if the actor may list it."""
    rows = visible_log(actor, AuditEntry.objects.order_by("-key").exclude(memory_id=None))
    if group is not None:
        rows = rows.filter(group=group.id)
    entries = list(rows[:_LAST_WRITES])
    ids = {entry.memory_id for entry in entries if entry.memory_id}
    visible = Memory.objects.filter(as_q(listed_by(actor, None)) & Q(id__in=ids)).select_related("group")
    memories: dict[UUID | None, Memory] = {memory.id: memory for memory in visible}
    return [{"entry": entry, "memory": memories.get(entry.memory_id)} for entry in entries]
