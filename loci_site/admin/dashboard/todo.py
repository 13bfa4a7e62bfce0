"""Figures that need attention, each with the list where a person deals with it, and the first steps of a new store."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from access.actor import CURATE, Actor
from access.models import ApiToken, Group
from loci_site.admin.dashboard.counts import VisibleCensus
from maintenance.backups.folder import backup_paths
from maintenance.models import Run, RunStatus
from maintenance.schedule import job_statuses
from memories.review.queue import (
    CAP,
    CardKind,
    find_disputed,
    find_open_links,
    find_open_proposals,
    may_review,
)
from memories.review.sensitive import find_sensitive
from memories.types import State, Trust

_RECENT_RUNS = timedelta(days=14)
SINGULAR = {
    "proposed changes": gettext_noop("proposed change"),
    "open conflicts": gettext_noop("open conflict"),
    "possible duplicates": gettext_noop("possible duplicate"),
    "pieces without a vector yet": gettext_noop("piece without a vector yet"),
    "failed or overdue jobs": gettext_noop("failed or overdue job"),
    "failed runs": gettext_noop("failed run"),
    "runs stopped at their cap": gettext_noop("run stopped at its cap"),
    "days since the last backup": gettext_noop("day since the last backup"),
}
_LATE_BACKUPS = 2  # a backup is late after this many periods


@dataclass(frozen=True)
class Figure:
    """A count, and the URL of the rows behind it."""

    label: str
    value: int
    link: str
    icon: str = ""
    note: str = ""

    @property
    def text(self) -> str:
        """The label, in the singular for one."""
        return gettext(SINGULAR.get(self.label, self.label) if self.value == 1 else self.label)


def list_url(page: str, **filters: str) -> str:
    """URL of an admin list with the non-empty filters."""
    query = "&".join(f"{name}={value}" for name, value in filters.items() if value)
    return reverse(f"admin:{page}_changelist") + (f"?{query}" if query else "")


def needs_attention(seen: VisibleCensus | None, actor: Actor, group: Group | None) -> list[Figure]:
    """The figures above zero, the most pressing first; `group` narrows those of memories, links and proposals."""
    slug = group.slug if group is not None else ""
    is_operator = actor.is_admin_of_all
    figures = [
        *_run_figures(actor),
        *(_backup_figures() if is_operator else []),
        *(_memory_figures(seen, slug) if seen else []),
        *_review_figures(actor, group),
    ]
    if is_operator:
        count = sum(job.needs_care for job in job_statuses())
        jobs = Figure(
            gettext_noop("failed or overdue jobs"), count, list_url("maintenance_joblock"), "schedule"
        )
        figures.insert(0, jobs)
    if seen:
        figures.append(Figure(gettext_noop("pieces without a vector yet"), seen.owed(), "", "pending"))
    return [figure for figure in figures if figure.value]


def _run_figures(actor: Actor) -> list[Figure]:
    """Runs of the last two weeks that failed or were stopped, in the actor's groups."""
    rows = Run.objects.filter(started_at__gte=timezone.now() - _RECENT_RUNS).order_by()
    if not actor.all_groups:
        rows = rows.filter(group__in=list(actor.roles))
    counts = dict(rows.values_list("status").annotate(count=Count("key")))
    failed, stopped = (list_url("maintenance_run", status__exact=status) for status in ("failed", "stopped"))
    return [
        Figure(gettext_noop("failed runs"), counts.get(RunStatus.FAILED, 0), failed, "error"),
        Figure(
            gettext_noop("runs stopped at their cap"), counts.get(RunStatus.STOPPED, 0), stopped, "front_hand"
        ),
    ]


def _backup_figures() -> list[Figure]:
    """Age of the newest backup in days, if it is late. Without any backup the overdue job says so already."""
    every = settings.LOCI.maintenance.backup_days
    if not every:
        return []
    newest = max((path.stat().st_mtime for path in backup_paths()), default=None)
    if newest is None:
        return []
    age = timezone.now() - datetime.fromtimestamp(newest, tz=timezone.now().tzinfo)
    late = age.days if age > timedelta(days=every * _LATE_BACKUPS) else 0
    url = reverse("admin:maintenance_joblock_backups")
    return [Figure(gettext_noop("days since the last backup"), late, url, "backup")]


def _memory_figures(seen: VisibleCensus, group: str) -> list[Figure]:
    def trust_figure(label: str, trust: Trust, icon: str) -> Figure:
        count = seen.sum(state=State.LIVE, trust=trust)
        filters = {"group": group, "state__exact": "live", "trust__exact": str(trust)}
        return Figure(label, count, list_url("memories_memory", **filters), icon)

    return [
        trust_figure(gettext_noop("waiting for approval"), Trust.CANDIDATE, "hourglass_top"),
        trust_figure(gettext_noop("quarantined"), Trust.QUARANTINED, "gpp_maybe"),
    ]


def _review_figures(actor: Actor, group: Group | None) -> list[Figure]:
    """Proposals and links as the Review counts them: for a curator of the groups that they curate, else of those they enter."""
    curated = actor.keys_where(CURATE) if may_review(actor) else []
    if group is not None:
        groups: list[int] | None = [group.key]
        is_curator = curated is None or group.key in curated
    elif curated != []:
        groups, is_curator = curated, True
    else:
        groups, is_curator = None if actor.all_groups else [*actor.roles], False
    slug = group.slug if group is not None else ""

    counts = _count_review(actor, groups)

    def figure(label: str, kind: CardKind, icon: str, elsewhere: str = "") -> Figure:
        if kind.is_link:
            elsewhere = list_url("memories_link", status__exact="open", kind__exact=kind)
        return Figure(label, counts[kind], review_url(kind, slug) if is_curator else elsewhere, icon)

    listed = list_url("memories_memory", group=slug, doubt="open")
    return [
        figure(gettext_noop("disputed"), CardKind.DISPUTED, "help", listed),
        figure(gettext_noop("proposed changes"), CardKind.PROPOSAL, "edit_note"),
        figure(gettext_noop("sensitive texts"), CardKind.SENSITIVE, "policy"),
        figure(gettext_noop("open conflicts"), CardKind.CONFLICT, "compare_arrows"),
        figure(gettext_noop("possible duplicates"), CardKind.DUPLICATE, "content_copy"),
    ]


def _count_review(actor: Actor, groups: list[int] | None) -> dict[CardKind, int]:
    """The proposals and links of these groups that have a card in the Review, at most CAP of each; None: all groups."""
    found = {
        CardKind.PROPOSAL: len(find_open_proposals(groups)),
        CardKind.DISPUTED: len(find_disputed(groups)),
        CardKind.SENSITIVE: len(find_sensitive(groups, limit=CAP)),
        CardKind.CONFLICT: len(find_open_links(actor, CardKind.CONFLICT, groups)),
        CardKind.DUPLICATE: len(find_open_links(actor, CardKind.DUPLICATE, groups)),
    }
    return {kind: min(count, CAP) for kind, count in found.items()}


def review_url(kind: CardKind, group: str) -> str:
    """URL of the Review with the cards of a kind."""
    filters = {"kind": str(kind)} | ({"group": group} if group else {})
    return f"{reverse('review')}?{urlencode(filters)}"


@dataclass(frozen=True)
class _FirstStep:
    text: str
    link: str
    is_done: bool


def first_steps(actor: Actor, seen: VisibleCensus | None) -> list[_FirstStep]:
    """The steps of the actor, which tick themselves off; empty once all are done, or while the memories are counted."""
    if seen is None:
        return []
    used, new_memory = ApiToken.objects.exclude(last_used_at=None), reverse("admin:memories_memory_add")
    used = used if actor.is_admin_of_all else used.filter(user=actor.user_id)
    steps = [
        _FirstStep(gettext("Connect an agent"), reverse("people:connect-client"), used.exists()),
        _FirstStep(gettext("Store a memory"), new_memory, bool(seen.sum())),
    ]
    if actor.is_admin_of_all:
        invited = User.objects.filter(is_active=True).order_by()[:2].count() > 1
        backups = reverse("admin:maintenance_joblock_backups")
        steps += [
            _FirstStep(gettext("Invite your team"), reverse("admin:auth_user_add"), invited),
            _FirstStep(gettext("Make a backup"), backups, any(True for _ in backup_paths())),
        ]
    return [] if all(step.is_done for step in steps) else steps
