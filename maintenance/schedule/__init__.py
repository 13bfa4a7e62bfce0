"""What Loci does of itself, how often, and how it stands; people pause it, resume it and ask for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import ADMIN, Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, LociError, NotFound, NotPermitted, Unavailable
from access.sign_in.expired_rows import tidy_access
from maintenance.backups import backup_job
from maintenance.backups.purge import is_purge_owed, purge_backups
from maintenance.cycle.job import scheduled_cycle
from maintenance.embeddings.backfill import embed_owed, is_owed
from maintenance.jobs import HEARTBEAT, Job, do_job, is_held, next_run
from maintenance.models import JobLock
from maintenance.retention import enforce_retention
from maintenance.schedule.extensions import do_waiting, is_waiting

LATE_PERIODS = 2  # a job that has not run for longer is overdue

# A new job is one line. `every` zero: it never runs of itself.
JOBS: tuple[Job, ...] = (
    Job(HEARTBEAT, every=timedelta(seconds=20), work=lambda actor: None),
    Job("embed_owed", every=timedelta(seconds=30), work=embed_owed, is_due=is_owed),
    Job("backup", every=timedelta(days=settings.LOCI.maintenance.backup_days), work=backup_job),
    Job("purge_backups", every=timedelta(minutes=5), work=purge_backups, is_due=is_purge_owed),
    Job("cycle", every=timedelta(hours=settings.LOCI.maintenance.cycle_hours), work=scheduled_cycle),
    Job("retention", every=timedelta(days=1), work=enforce_retention),
    Job("tidy_access", every=timedelta(days=1), work=tidy_access),
    Job(
        "import",
        every=timedelta(seconds=10),
        work=lambda actor: do_waiting("import", actor),
        is_due=lambda: is_waiting("import"),
    ),
)


@dataclass(frozen=True)
class JobStatus:
    """How a job stands. `state` is one of idle, due, running, paused, asked, failing, overdue and off.

    `since` says from when on it is running, paused, asked for or failing; `next_run` is None where it is paused, runs
    only when asked for, or when there is something to do.
    """

    name: str
    every_s: float
    state: str
    since: datetime | None
    last_run: datetime | None
    took_s: float | None
    next_run: datetime | None
    failures: int
    error: str
    by: str

    @property
    def needs_care(self) -> bool:
        """True where it should have run and did not, or failed."""
        return self.state == "overdue" or (self.failures > 0 and self.state != "paused")


def list_schedule(actor: Actor) -> list[JobStatus]:
    """List every job as it stands, with its last error.

    Raises:
        NotPermitted: the actor may not look after the whole store.
    """
    _check(actor)
    return standings()


def standings() -> list[JobStatus]:
    """Give every job as it stands, in one query. An error's text may name files: it is for admins alone."""
    now = timezone.now()
    rows = JobLock.objects.in_bulk([job.name for job in JOBS])
    return [standing_of(job, rows.get(job.name), now=now) for job in JOBS]


def standing_of(job: Job, row: JobLock | None, *, now: datetime) -> JobStatus:
    """Say how a job stands; `row` None where it was never asked whether it is due."""
    row = row or JobLock(name=job.name, expected_since=now)
    state, since, by = next(_states(job, row, now))
    return JobStatus(
        name=job.name,
        every_s=job.every.total_seconds(),
        state=state,
        since=since,
        last_run=row.last_finished,
        took_s=row.last_took_s,
        next_run=None if state == "paused" or (job.is_due and not row.failures) else next_run(job, row),
        failures=row.failures,
        error=row.last_error,
        by=by,
    )


def pause_job(actor: Actor, name: str) -> JobStatus:
    """Keep a job from running, across restarts, until it is resumed; a run under way ends as usual.

    Raises:
        NotPermitted: the actor may not look after the whole store.
        NotFound: there is no such job.
        InvalidInput: it is the heartbeat.
        Conflict: it is paused already.
    """
    job = _job(actor, name)
    if name == HEARTBEAT:
        raise InvalidInput(
            "The heartbeat cannot be paused: it shows that a worker lives.",
            hint="Name another job.",
            field="name",
        )
    with transaction.atomic():
        JobLock.objects.get_or_create(name=name)
        paused = JobLock.objects.filter(name=name, paused_at=None).update(
            paused_at=timezone.now(), paused_by=actor.name, asked_at=None, asked_by=""
        )
        if not paused:
            raise Conflict(f"The job '{name}' is paused already.", hint="Resume it to let it run.")
        _log(actor, name, "pause")
    return _standing(job)


def resume_job(actor: Actor, name: str) -> JobStatus:
    """Let a paused job run again; it runs at the next tick where it is due.

    Raises:
        NotPermitted, NotFound: as pause_job().
        Conflict: it is not paused.
    """
    job = _job(actor, name)
    with transaction.atomic():
        resumed = JobLock.objects.filter(name=name).exclude(paused_at=None)
        if not resumed.update(paused_at=None, paused_by="", expected_since=timezone.now()):
            raise Conflict(f"The job '{name}' is not paused.", hint="There is nothing to resume.")
        _log(actor, name, "resume")
    return _standing(job)


def ask_for_run(actor: Actor, name: str) -> JobStatus:
    """Have a worker do the job at its next tick, due or not.

    Raises:
        NotPermitted, NotFound: as pause_job().
        Conflict: it is paused, under way or asked for already.
    """
    job = _job(actor, name)
    with transaction.atomic():
        row, _ = JobLock.objects.get_or_create(name=name)
        _refuse_unless_free(row)
        if row.asked_at is not None:
            raise Conflict(
                f"'{row.asked_by}' has asked for the job '{name}' already.",
                hint="A worker begins it within a minute.",
            )
        JobLock.objects.filter(name=name).update(asked_at=timezone.now(), asked_by=actor.name)
        _log(actor, name, "ask")
    return _standing(job)


def run_now(actor: Actor, name: str) -> JobStatus:
    """Do the job here and now, due or not, as this actor; other processes leave it alone meanwhile.

    Raises:
        NotPermitted, NotFound: as pause_job().
        Conflict: it is paused or under way.
        Unavailable: it failed.
    """
    job = _job(actor, name)
    with transaction.atomic():
        row, _ = JobLock.objects.get_or_create(name=name)
        _refuse_unless_free(row)
        _log(actor, name, "run")
    try:
        if not do_job(job, actor=actor):
            row.refresh_from_db()
            _refuse_unless_free(row)
            raise Conflict(f"The job '{name}' was begun elsewhere.", hint="Try again when it has ended.")
    except LociError:
        raise
    except Exception as error:
        raise Unavailable(
            f"The job '{name}' failed ({type(error).__name__}: {error}).",
            hint="'loci schedule' keeps the error; the log says more.",
        ) from error
    return _standing(job)


def _states(job: Job, row: JobLock, now: datetime) -> Iterator[tuple[str, datetime | None, str]]:
    """Give what can be said of a job with since when and by whom; what matters most comes first."""
    if is_held(row, now=now):
        yield "running", row.last_started, row.holder
    if row.paused_at is not None:
        yield "paused", row.paused_at, row.paused_by
    if row.asked_at is not None:
        yield "asked", row.asked_at, row.asked_by
    if row.failures:
        yield "failing", row.last_failed, ""
    if not job.every:
        yield "off", None, ""
    if job.is_due is None and now - _seen(row) > job.every * LATE_PERIODS:
        yield "overdue", _seen(row) + job.every, ""
    moment = next_run(job, row)
    is_next = job.is_due is None and moment is not None and moment <= now
    yield "due" if is_next else "idle", None, ""


def _seen(row: JobLock) -> datetime:
    return max(row.last_finished or row.expected_since, row.expected_since)


def _refuse_unless_free(row: JobLock) -> None:
    if row.paused_at is not None:
        raise Conflict(
            f"The job '{row.name}' is paused by '{row.paused_by}'.", hint=f"loci schedule resume {row.name}"
        )
    if is_held(row, now=timezone.now()):
        raise Conflict(
            f"The job '{row.name}' is under way since {row.last_started:%Y-%m-%d %H:%M:%S} UTC ({row.holder}).",
            hint="Try again when it has ended.",
        )


def _standing(job: Job) -> JobStatus:
    return standing_of(job, JobLock.objects.get(name=job.name), now=timezone.now())


def _job(actor: Actor, name: str) -> Job:
    _check(actor)
    for job in JOBS:
        if job.name == name:
            return job
    choices = ", ".join(job.name for job in JOBS)
    raise NotFound(f"There is no job '{name}'.", hint=f"The jobs are {choices}.", field="name")


def _check(actor: Actor) -> None:
    if not (actor.all_groups and actor.may(ADMIN)):
        raise NotPermitted(
            "Only who may administer every group can see and change the schedule.", hint="Ask a superuser."
        )


def _log(actor: Actor, name: str, action: str) -> None:
    audit.append(actor, Operation.SCHEDULE, subject=f"job:{name}", payload={"action": action})
