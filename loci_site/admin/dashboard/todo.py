"""What an operator should look at, each with the page where a person deals with it, and the first steps of a new store."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from access.actor import WRITE, Actor
from access.models import ApiToken
from loci_site.server.health import lesser_checks
from maintenance.backups.folder import backup_paths
from maintenance.models import Run, RunStatus
from maintenance.schedule import job_statuses
from memories.review.queue import CardKind

_RECENT_RUNS = timedelta(days=14)
SINGULAR = {
    "failed or overdue jobs": gettext_noop("failed or overdue job"),
    "failed runs": gettext_noop("failed run"),
    "runs stopped at their cap": gettext_noop("run stopped at its cap"),
    "days since the last backup": gettext_noop("day since the last backup"),
}
_LATE_BACKUPS = 2  # a backup is late after this many periods


@dataclass(frozen=True)
class Figure:
    """A count, and the URL of the rows behind it; `note` says more."""

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


def needs_care() -> list[Figure]:
    """What an operator should look at, each with its page; empty if all is well."""
    since = timezone.now() - _RECENT_RUNS
    runs = dict(
        Run.objects.filter(started_at__gte=since).order_by().values_list("status").annotate(Count("key"))
    )
    failed, stopped = (list_url("maintenance_run", status__exact=status) for status in ("failed", "stopped"))
    jobs = sum(job.needs_care for job in job_statuses())
    checks = lesser_checks(has_database=True)  # that of the schedule says what the jobs say
    figures = [
        Figure(gettext_noop("failed or overdue jobs"), jobs, list_url("maintenance_joblock"), "schedule"),
        Figure(gettext_noop("failed runs"), runs.get(RunStatus.FAILED, 0), failed, "error"),
        Figure(
            gettext_noop("runs stopped at their cap"), runs.get(RunStatus.STOPPED, 0), stopped, "front_hand"
        ),
        *_backup_figures(),
        *(
            Figure(name, 1, reverse("admin:maintenance_joblock_doctor"), "stethoscope", check.detail)
            for name, check in checks.items()
            if not check.ok and name != "schedule"
        ),
    ]
    return [figure for figure in figures if figure.value]


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


def review_url(kind: CardKind) -> str:
    """URL of the Review with the cards of a kind."""
    return f"{reverse('review')}?{urlencode({'kind': str(kind)})}"


@dataclass(frozen=True)
class _FirstStep:
    text: str
    link: str
    is_done: bool


def first_steps(actor: Actor, *, is_empty: bool) -> list[_FirstStep]:
    """The steps of the actor, which tick themselves off; empty once all are done."""
    used, new_memory = ApiToken.objects.exclude(last_used_at=None), reverse("admin:memories_memory_add")
    used = used if actor.is_admin_of_all else used.filter(user=actor.user_id)
    steps = [_FirstStep(gettext("Connect an agent"), reverse("people:connect-client"), used.exists())]
    if actor.may_somewhere(WRITE):
        steps.append(_FirstStep(gettext("Store a memory"), new_memory, not is_empty))
    if actor.is_admin_of_all:
        invited = User.objects.filter(is_active=True).order_by()[:2].count() > 1
        backups = reverse("admin:maintenance_joblock_backups")
        steps += [
            _FirstStep(gettext("Invite your team"), reverse("admin:auth_user_add"), invited),
            _FirstStep(gettext("Make a backup"), backups, any(True for _ in backup_paths())),
        ]
    return [] if all(step.is_done for step in steps) else steps
