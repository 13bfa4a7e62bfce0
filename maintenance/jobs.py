"""Background jobs: each runs once at a time in the whole installation, when its row says that it is due.

A tick only asks "is it due?". So a missed tick, a machine that slept and a second worker do no harm: the next tick finds
the job due, or done.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, connection
from django.db.models import F, Q
from django.utils import timezone

from access.actor import ALL_SCOPES, Actor, Via
from maintenance.models import JobLock

log = logging.getLogger(__name__)
LONGEST_TICK = timedelta(minutes=1)  # the longest interval between checks whether a job is due
HELD = timedelta(minutes=2)  # a dead worker keeps its lock no longer; a live one renews it
_RENEWALS = 4  # per lock time
_HELD_IN_REASON = timedelta(hours=1)  # a lock that ends later was written while the machine's clock was wrong
LEAST_LONGEST_WAIT, LONGEST_WAIT = timedelta(minutes=10), timedelta(hours=1)  # after failures in a row
MAX_ERROR_CHARS = 2000
DIED = "Its process ended before the job did."
HEARTBEAT = "heartbeat"  # a job without work, which shows that a worker is alive


@dataclass(frozen=True)
class Job:
    """Work done periodically by whichever worker is free; `every` zero: only on request.

    `is_due` is a cheap check whether there is work. `held` is how long the lock outlives a dead process.
    Not `is_counted`: part of the work, done on request; its success or failure does not affect the schedule.
    """

    name: str
    every: timedelta
    work: Callable[[Actor], object]
    is_due: Callable[[], bool] | None = None
    held: timedelta = HELD
    is_counted: bool = True

    @property
    def tick(self) -> timedelta:
        """The interval between checks whether it is due."""
        return min(self.every, LONGEST_TICK) if self.every else LONGEST_TICK


def job_actor(name: str) -> Actor:
    """The Actor of a job: it has every right, and is not a person."""
    return Actor(name=f"job/{name}", via=Via.JOB, scopes=ALL_SCOPES, all_groups=True)


def run_job(job: Job) -> bool:
    """Do the job if it is due; whether it was done. Its exception is recorded in its row and raised again."""
    now = timezone.now()
    row = JobLock.objects.filter(name=job.name).first() or JobLock(name=job.name, expected_since=now)
    row = _record_death(job, row)
    if not is_due(job, row, now=now):
        return False
    return do_job(job, actor=job_actor(job.name), seen=row)


def do_job(job: Job, *, actor: Actor, seen: JobLock | None = None) -> bool:
    """Do the job now unless it is paused or running elsewhere; whether it was done.

    With `seen`, it is not done either if it was started since that row was read.
    """
    holder = holder_id()
    if not take_lock(job.name, holder=holder, at_most=job.held, seen=seen, is_counted=job.is_counted):
        return False
    try:
        with _keep_lock(job.name, holder=holder, at_most=job.held):
            done: Any = job.work(actor)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        release_lock(job.name, holder=holder, error=message, is_counted=job.is_counted)
        raise
    except BaseException:  # Ctrl-C is not a failure of the job
        release_lock(job.name, holder=holder, is_counted=False)
        raise
    if not release_lock(job.name, holder=holder, is_counted=job.is_counted):
        log.warning("%s: another process took its lock before it ended", job.name)
    if done is not None:
        log.info("%s: %s", job.name, done)
    return True


def is_due(job: Job, row: JobLock, *, now: datetime) -> bool:
    """True if the job should run now, going by its row."""
    if row.paused_at is not None or is_held(row, now=now):
        return False
    if row.asked_at is not None:
        return True
    moment = next_run(job, row)
    # Ticks come a little early or late: half a tick of tolerance keeps a job from missing a whole one.
    if moment is None or (now < moment - job.tick / 2 and not _is_in_future(row, now=now)):
        return False
    return job.is_due is None or job.is_due()


def next_run(job: Job, row: JobLock) -> datetime | None:
    """When the job is due; None if it runs only on request."""
    if not job.every:
        return None
    if row.failures and row.last_failed is not None:
        return row.last_failed + wait_after(row.failures, job)
    return row.expected_since if row.last_finished is None else row.last_finished + job.every


def wait_after(failures: int, job: Job) -> timedelta:
    """The wait after so many failures in a row: a tick, doubling, up to the job's period (10 min to 1 h)."""
    longest = min(max(job.every, LEAST_LONGEST_WAIT), LONGEST_WAIT)
    return min(job.tick * (1 << min(failures - 1, 20)), longest)


def is_held(row: JobLock, *, now: datetime) -> bool:
    """True if a process is doing the job."""
    is_in_time = row.held_until is not None and now < row.held_until <= now + _HELD_IN_REASON
    return is_in_time and not _has_died(row.holder)


def _is_in_future(row: JobLock, *, now: datetime) -> bool:
    """True if the row's last run is in the future: the machine's clock was wrong when it was written."""
    last = row.last_failed if row.failures else row.last_finished
    return last is not None and last > now + HELD


def take_lock(
    name: str, *, holder: str, at_most: timedelta, seen: JobLock | None = None, is_counted: bool = True
) -> bool:
    """Take a job's lock for `at_most`; False if it is held or paused, or the job was started since `seen`."""
    now = timezone.now()
    row, _ = JobLock.objects.get_or_create(name=name, defaults={"expected_since": now})
    is_free = Q(held_until=None) | Q(held_until__lte=now) | Q(held_until__gt=now + _HELD_IN_REASON)
    if _has_died(row.holder):
        is_free |= Q(holder=row.holder)
    rows = JobLock.objects.filter(is_free, name=name, paused_at=None)
    if seen is not None:
        rows = rows.filter(last_started=seen.last_started)
    answered = {"asked_at": None, "asked_by": ""} if is_counted else {}
    return rows.update(holder=holder, held_until=now + at_most, last_started=now, **answered) == 1


def release_lock(name: str, *, holder: str, error: str = "", is_counted: bool = True) -> bool:
    """Release a lock and record the result; False if the lock expired and another process has it.

    Without `is_counted` no result is recorded.
    """
    now = timezone.now()
    mine = JobLock.objects.filter(name=name, holder=holder)
    result: dict[str, Any] = {}
    if is_counted and error:
        result = {"last_failed": now, "last_error": error[:MAX_ERROR_CHARS], "failures": F("failures") + 1}
    elif is_counted:
        started = mine.values_list("last_started", flat=True).first()
        took_s = (now - started).total_seconds() if started else None
        result = {"last_finished": now, "last_took_s": took_s, "last_error": "", "failures": 0}
    return mine.update(holder="", held_until=None, **result) == 1


@contextmanager
def _keep_lock(name: str, *, holder: str, at_most: timedelta) -> Iterator[None]:
    """Renew the lock during the block, from another thread."""
    done = threading.Event()

    def renew() -> None:
        try:
            while not done.wait((at_most / _RENEWALS).total_seconds()):
                renew_lock(name, holder=holder, at_most=at_most)
        finally:
            connection.close()

    keeper = threading.Thread(target=renew, name=f"loci-hold-{name}", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        done.set()
        keeper.join()


def renew_lock(name: str, *, holder: str, at_most: timedelta) -> None:
    """Extend a lock to `at_most` from now; if the database is busy, the next renewal tries again."""
    try:
        JobLock.objects.filter(name=name, holder=holder).update(held_until=timezone.now() + at_most)
    except DatabaseError as error:
        log.warning("%s: its lock was not renewed (%s)", name, type(error).__name__)


def last_finished(name: str) -> datetime | None:
    """When a job last succeeded; None if it never did."""
    return JobLock.objects.filter(name=name).values_list("last_finished", flat=True).first()


def _record_death(job: Job, row: JobLock) -> JobLock:
    """Record a failure if the last holder died, so that work which kills its process is not retried at once."""
    now = timezone.now()
    if not row.holder or is_held(row, now=now):
        return row
    log.warning("%s: %s", job.name, DIED)
    JobLock.objects.filter(name=row.name, holder=row.holder, held_until=row.held_until).update(
        holder="",
        held_until=None,
        # Its lock ended before now; waiting from then on loses no time.
        last_failed=min(row.held_until or now, now),
        last_error=DIED,
        failures=F("failures") + 1,
    )
    row.refresh_from_db()
    return row


def _has_died(holder: str) -> bool:
    """True if the holder was a process of this machine that no longer exists; False for other machines' processes."""
    host, _, rest = holder.partition("/")
    pid = rest.partition("/")[0]
    if host != _host_name() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except OSError as refusal:  # "not permitted" comes from another user's live process
        return isinstance(refusal, ProcessLookupError)
    return False


def holder_id() -> str:
    """This thread as a lock holder: host/process/thread."""
    return f"{_host_name()}/{os.getpid()}/{threading.get_ident()}"


def _host_name() -> str:
    return socket.gethostname()[:60]
