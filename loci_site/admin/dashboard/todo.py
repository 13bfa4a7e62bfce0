"""What asks for a person, or has not been done yet: each with the list where it is settled."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import Count
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from access.actor import ADMIN, Actor
from loci_site.admin.dashboard.counts import VisibleCensus
from maintenance.backups.folder import backup_paths
from maintenance.models import Run, RunStatus
from maintenance.schedule import job_statuses
from memories.types import State, Trust

RUNS_LOOKED_AT = timedelta(days=14)
SINGULAR = {
    "open conflicts": "open conflict",
    "possible duplicates": "possible duplicate",
    "pieces without a vector yet": "piece without a vector yet",
    "jobs that failed or are overdue": "job that failed or is overdue",
    "runs that failed": "run that failed",
    "runs that stopped at their cap": "run that stopped at its cap",
}
LATE_BACKUPS = 2  # periods without one


@dataclass(frozen=True)
class Figure:
    """A count that leads to the rows behind it."""

    label: str
    value: int
    link: str
    icon: str = ""
    note: str = ""

    @property
    def said(self) -> str:
        """Give the label as it is said of this many."""
        return SINGULAR.get(self.label, self.label) if self.value == 1 else self.label


def list_of(page: str, **narrow: str) -> str:
    """Give the address of a list of the admin, narrowed."""
    query = "&".join(f"{name}={value}" for name, value in narrow.items() if value)
    return reverse(f"admin:{page}_changelist") + (f"?{query}" if query else "")


def needs(seen: VisibleCensus | None, actor: Actor, group: str) -> list[Figure]:
    """Give what needs somebody, the most pressing first; nothing that is nought."""
    found = [*_jobs(actor), *_runs(actor), *_backups(actor), *(_memories(seen, group) if seen else [])]
    return [figure for figure in found if figure.value]


def _memories(seen: VisibleCensus, group: str) -> list[Figure]:
    def trusted(trust: str) -> int:
        return seen.sum(state=State.LIVE, trust=trust)

    def listed(trust: str) -> str:
        return list_of("memories_memory", group=group, state__exact="live", trust__exact=trust)

    def links(kind: str) -> str:
        return list_of("memories_link", status__exact="open", kind__exact=kind)

    return [
        Figure("waiting for approval", trusted(Trust.CANDIDATE), listed("candidate"), "hourglass_top"),
        Figure("quarantined", trusted(Trust.QUARANTINED), listed("quarantined"), "gpp_maybe"),
        Figure("disputed", trusted(Trust.DISPUTED), listed("disputed"), "help"),
        Figure("open conflicts", seen.open_links("conflict"), links("conflict"), "compare_arrows"),
        Figure("possible duplicates", seen.open_links("duplicate"), links("duplicate"), "content_copy"),
        Figure("pieces without a vector yet", seen.owed(), "", "pending"),
    ]


def _looks_after_all(actor: Actor) -> bool:
    return actor.all_groups and actor.may(ADMIN)


def _jobs(actor: Actor) -> list[Figure]:
    """The jobs that failed or are overdue, for those who can do something about it."""
    if not _looks_after_all(actor):
        return []
    bad = sum(job.needs_care for job in job_statuses())
    return [Figure("jobs that failed or are overdue", bad, list_of("maintenance_joblock"), "schedule")]


def _runs(actor: Actor) -> list[Figure]:
    """Runs that ended badly lately."""
    rows = Run.objects.filter(started_at__gte=timezone.now() - RUNS_LOOKED_AT).order_by()
    if not actor.all_groups:
        rows = rows.filter(group__in=list(actor.roles))
    counts = dict(rows.values_list("status").annotate(count=Count("key")))
    return [
        Figure("runs that failed", counts.get(RunStatus.FAILED, 0), _runs_that("failed"), "error"),
        Figure("runs that stopped at their cap", counts.get(RunStatus.STOPPED, 0), _runs_that("stopped"), "front_hand"),
    ]  # fmt: skip


def _runs_that(status: str) -> str:
    return list_of("maintenance_run", status__exact=status)


def _backups(actor: Actor) -> list[Figure]:
    """Say how many days old the newest backup is, where it is too old; a new store has some days."""
    every = settings.LOCI.maintenance.backup_days
    if not (_looks_after_all(actor) and every and connection.vendor == "sqlite"):
        return []
    newest = max((path.stat().st_mtime for path in backup_paths()), default=None)
    if newest is None:
        return []  # the job is overdue then, which is said already
    age = timezone.now() - datetime.fromtimestamp(newest, tz=timezone.now().tzinfo)
    late = age.days if age > timedelta(days=every * LATE_BACKUPS) else 0
    return [Figure("days since the last backup", late, _backup_page(), "backup")]


def _backup_page() -> str:
    try:
        return reverse("admin:maintenance_backups")
    except NoReverseMatch:
        return list_of("maintenance_joblock")
