"""The scheduled jobs and their status; administrators pause, resume and request them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import Actor, require_admin_of_all
from access.additions import additions, late
from access.audit.operations import Operation
from access.audit.retention import has_unlinked, link_heads
from access.errors import Conflict, InvalidInput, LociError, NotFound, Unavailable
from access.sign_in.lockouts import tidy_access
from maintenance.jobs import HEARTBEAT, Job, do_job, is_held, next_run
from maintenance.models import JobLock


def _added_waits(name: str) -> bool:
    return bool(additions(name)[0]())


def _do_added(name: str, actor: Actor) -> str | None:
    done: str | None = additions(name)[1](actor)
    return done


_LATE_PERIODS = 2  # a job is overdue after that many periods without a run

# A new job is one line. `every` zero: the job runs only on request.
# What a job does is imported when it runs: a list of jobs needs none of it.
JOBS: tuple[Job, ...] = (
    Job(HEARTBEAT, every=timedelta(seconds=20), work=lambda actor: None),
    Job(
        "embed_owed",
        every=timedelta(seconds=30),
        work=late("maintenance.embeddings.backfill.embed_owed", seconds=60),
        is_due=late("maintenance.embeddings.backfill.is_owed"),
    ),
    Job(
        "backup",
        every=timedelta(days=settings.LOCI.maintenance.backup_days),
        work=late("maintenance.backups.backup_job"),
    ),
    Job(
        "purge_backups",
        every=timedelta(minutes=5),
        work=late("maintenance.backups.purge.purge_backups"),
        is_due=late("maintenance.backups.purge.is_purge_owed"),
    ),
    Job(
        "cycle",
        every=timedelta(hours=settings.LOCI.maintenance.cycle_hours),
        work=late("maintenance.cycle.job.run_scheduled_cycle"),
    ),
    Job("retention", every=timedelta(days=1), work=late("maintenance.retention.enforce_retention")),
    Job("link_heads", every=timedelta(minutes=1), work=link_heads, is_due=has_unlinked),
    Job("guard_scan", every=timedelta(0), work=late("maintenance.doctor.guard_scan.scan_stored")),
    Job("tidy_access", every=timedelta(days=1), work=tidy_access),
    # Of apps above: whether work waits, and the work.
    *(
        Job(
            name,
            every=timedelta(seconds=seconds),
            work=partial(_do_added, name),
            is_due=partial(_added_waits, name),
        )
        for name, seconds in (("import", 10), ("notify", 20), ("embed_chunks", 10))
    ),
)


@dataclass(frozen=True)
class JobStatus:
    """The status of a job. `state` is one of idle, due, running, paused, asked, failing, overdue and off.

    `since` is when it started running, was paused or requested, began to fail or became overdue, and `by` the worker or
    person; `next_run` is None if the job is paused, or runs only on request or when there is work.
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
        """True if it is overdue, or failed and is not paused."""
        return self.state == "overdue" or (self.failures > 0 and self.state != "paused")


def list_schedule(actor: Actor) -> list[JobStatus]:
    """The status of every job, with its last error.

    Raises:
        NotPermitted: the actor may not administer every group.
    """
    require_admin_of_all(actor, "see and change the schedule")
    return job_statuses()


def job_statuses() -> list[JobStatus]:
    """The status of every job, in one query. An error's text may contain file names: show it to admins only."""
    now = timezone.now()
    rows = JobLock.objects.in_bulk([job.name for job in JOBS])
    return [job_status(job, rows.get(job.name), now=now) for job in JOBS]


def job_status(job: Job, row: JobLock | None, *, now: datetime) -> JobStatus:
    """The status of a job; `row` is None if no worker has seen the job yet."""
    row = row or JobLock(name=job.name, expected_since=now)
    state, since, by = next(_matching_states(job, row, now))
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


def _matching_states(job: Job, row: JobLock, now: datetime) -> Iterator[tuple[str, datetime | None, str]]:
    """The states that apply to a job, each with since when and by whom; the most important comes first."""
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
    seen = max(row.last_finished or row.expected_since, row.expected_since)
    if job.is_due is None and now - seen > job.every * _LATE_PERIODS:
        yield "overdue", seen + job.every, ""
    moment = next_run(job, row)
    is_next = job.is_due is None and moment is not None and moment <= now
    yield "due" if is_next else "idle", None, ""


def pause_job(actor: Actor, name: str) -> JobStatus:
    """Prevent a job from running, across restarts, until it is resumed; a run in progress ends as usual.

    Raises:
        NotPermitted: the actor may not administer every group.
        NotFound: there is no such job.
        InvalidInput: it is the heartbeat.
        Conflict: it is already paused.
    """
    job = _find_job(actor, name)
    if name == HEARTBEAT:
        raise InvalidInput(
            "The heartbeat cannot be paused: it shows that a worker is alive.",
            hint="Name another job.",
            field="name",
        )
    with transaction.atomic():
        JobLock.objects.get_or_create(name=name)
        paused = JobLock.objects.filter(name=name, paused_at=None).update(
            paused_at=timezone.now(), paused_by=actor.name, asked_at=None, asked_by=""
        )
        if not paused:
            raise Conflict(f"The job '{name}' is already paused.", hint="Resume it to let it run.")
        _log_action(actor, name, "pause")
    return _read_status(job)


def resume_job(actor: Actor, name: str) -> JobStatus:
    """Lift a job's pause; if the job is due, it runs at the next tick.

    Raises:
        NotPermitted, NotFound: as pause_job().
        Conflict: it is not paused.
    """
    job = _find_job(actor, name)
    with transaction.atomic():
        resumed = JobLock.objects.filter(name=name).exclude(paused_at=None)
        if not resumed.update(paused_at=None, paused_by="", expected_since=timezone.now()):
            raise Conflict(f"The job '{name}' is not paused.", hint="There is nothing to resume.")
        _log_action(actor, name, "resume")
    return _read_status(job)


def request_run(actor: Actor, name: str) -> JobStatus:
    """Have a worker do the job at its next tick, due or not.

    Raises:
        NotPermitted, NotFound: as pause_job().
        Conflict: it is paused, running or already requested.
    """
    job = _find_job(actor, name)
    with transaction.atomic():
        row, _ = JobLock.objects.get_or_create(name=name)
        _check_free(row)
        if row.asked_at is not None:
            raise Conflict(
                f"'{row.asked_by}' has already requested the job '{name}'.",
                hint="A worker starts it within a minute.",
            )
        JobLock.objects.filter(name=name).update(asked_at=timezone.now(), asked_by=actor.name)
        _log_action(actor, name, "ask")
    return _read_status(job)


def run_now(actor: Actor, name: str) -> JobStatus:
    """Do the job in this process, due or not, as this actor; other processes cannot start it meanwhile.

    Raises:
        NotPermitted, NotFound: as pause_job().
        Conflict: it is paused or running.
        Unavailable: it failed.
    """
    job = _find_job(actor, name)
    with transaction.atomic():
        row, _ = JobLock.objects.get_or_create(name=name)
        _check_free(row)
        _log_action(actor, name, "run")
    try:
        if not do_job(job, actor=actor):
            row.refresh_from_db()
            _check_free(row)
            raise Conflict(
                f"Another process has started the job '{name}'.", hint="Try again when it has ended."
            )
    except LociError:
        raise
    except Exception as error:
        raise Unavailable(
            f"The job '{name}' failed ({type(error).__name__}: {error}).",
            hint="'loci schedule' shows the error; the log has details.",
        ) from error
    return _read_status(job)


def _check_free(row: JobLock) -> None:
    if row.paused_at is not None:
        raise Conflict(
            f"The job '{row.name}' is paused by '{row.paused_by}'.", hint=f"loci schedule resume {row.name}"
        )
    if is_held(row, now=timezone.now()):
        raise Conflict(
            f"The job '{row.name}' has been running since {row.last_started:%Y-%m-%d %H:%M:%S} UTC ({row.holder}).",
            hint="Try again when it has ended.",
        )


def _read_status(job: Job) -> JobStatus:
    return job_status(job, JobLock.objects.get(name=job.name), now=timezone.now())


def _find_job(actor: Actor, name: str) -> Job:
    require_admin_of_all(actor, "see and change the schedule")
    for job in JOBS:
        if job.name == name:
            return job
    choices = ", ".join(job.name for job in JOBS)
    raise NotFound(f"There is no job '{name}'.", hint=f"The jobs are {choices}.", field="name")


def _log_action(actor: Actor, name: str, action: str) -> None:
    audit.append(actor, Operation.SCHEDULE, subject=f"job:{name}", payload={"action": action})
