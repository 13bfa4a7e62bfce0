"""Background jobs: each runs once at a time in the whole installation, when its own row says that it is due.

A message only asks "is it due?". So a lost one, a machine that slept and a second clock make no difference: the next
message finds the job due, or done.
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
LONGEST_TICK = timedelta(minutes=1)  # how often it is asked whether a job is due, at least
HELD = timedelta(minutes=2)  # a worker that died keeps its job no longer; one at work renews its hold
RENEWALS = 4  # in the time of a hold
HELD_IN_REASON = timedelta(hours=1)  # an end further ahead was written while the machine's clock was wrong
LEAST_LONGEST_WAIT, LONGEST_WAIT = timedelta(minutes=10), timedelta(hours=1)  # after failures in a row
MAX_ERROR_CHARS = 2000
DIED = "The process that did it ended in the middle."
HEARTBEAT = "heartbeat"  # the job that does nothing but show that a worker lives


@dataclass(frozen=True)
class Job:
    """Work that is done every so often by whichever worker is free; `every` zero: only when a person asks.

    `is_due` may say cheaply that there is nothing to do. `held` is how long the job stays taken where its process died.
    Not `is_counted`: part of the work, done for somebody; when the job is due, and whether it fails, stays as it was.
    """

    name: str
    every: timedelta
    work: Callable[[Actor], object]
    is_due: Callable[[], bool] | None = None
    held: timedelta = HELD
    is_counted: bool = True

    @property
    def tick(self) -> timedelta:
        """How often to ask whether it is due."""
        return min(self.every, LONGEST_TICK) if self.every else LONGEST_TICK


def job_actor(name: str) -> Actor:
    """Give the Actor of a job: it may do everything, and is no person."""
    return Actor(name=f"job/{name}", via=Via.JOB, scopes=ALL_SCOPES, all_groups=True)


def run_job(job: Job) -> bool:
    """Do the job if it is due; say whether it was done. What it raises is kept in its row, and raised on."""
    now = timezone.now()
    row = JobLock.objects.filter(name=job.name).first() or JobLock(name=job.name, expected_since=now)
    row = _with_death_noted(job, row)
    if not is_due(job, row, now=now):
        return False
    return do_job(job, actor=job_actor(job.name), seen=row)


def do_job(job: Job, *, actor: Actor, seen: JobLock | None = None) -> bool:
    """Do the job now unless it is paused or under way elsewhere; say whether it was done.

    With `seen`, also not where somebody began it since that row was read.
    """
    holder = _holder()
    if not take_lock(job.name, holder=holder, at_most=job.held, seen=seen, is_counted=job.is_counted):
        return False
    try:
        with _renewing(job.name, holder=holder, at_most=job.held):
            done: Any = job.work(actor)
    except Exception as error:
        _end(job, holder, error=f"{type(error).__name__}: {error}")
        raise
    except BaseException:  # Ctrl-C is no fault of the job
        _let_go(job.name, holder=holder)
        raise
    if not _end(job, holder):
        log.warning("%s: was held by another process before it ended", job.name)
    if done is not None:
        log.info("%s: %s", job.name, done)
    return True


def is_due(job: Job, row: JobLock, *, now: datetime) -> bool:
    """Say whether the job is to be done now, as its row stands."""
    if row.paused_at is not None or is_held(row, now=now):
        return False
    if row.asked_at is not None:
        return True
    moment = next_run(job, row)
    # Ticks come a little early and late: half of one must not cost a whole one.
    if moment is None or (now < moment - job.tick / 2 and not _is_ahead(row, now=now)):
        return False
    return job.is_due is None or job.is_due()


def next_run(job: Job, row: JobLock) -> datetime | None:
    """Give when the job is due; None where it runs only when asked for."""
    if not job.every:
        return None
    if row.failures and row.last_failed is not None:
        return row.last_failed + wait_after(row.failures, job)
    return row.expected_since if row.last_finished is None else row.last_finished + job.every


def wait_after(failures: int, job: Job) -> timedelta:
    """Give the wait after so many failures in a row: a tick, doubling, to the job's period (10 min to 1 h) at most."""
    longest = min(max(job.every, LEAST_LONGEST_WAIT), LONGEST_WAIT)
    return min(job.tick * (1 << min(failures - 1, 20)), longest)


def is_held(row: JobLock, *, now: datetime) -> bool:
    """Say whether somebody is doing the job."""
    is_in_time = row.held_until is not None and now < row.held_until <= now + HELD_IN_REASON
    return is_in_time and not _has_died(row.holder)


def take_lock(
    name: str, *, holder: str, at_most: timedelta, seen: JobLock | None = None, is_counted: bool = True
) -> bool:
    """Take a job's lock for `at_most`; False where somebody holds it, a person paused the job, or it was begun since."""
    now = timezone.now()
    row, _ = JobLock.objects.get_or_create(name=name, defaults={"expected_since": now})
    is_free = Q(held_until=None) | Q(held_until__lte=now) | Q(held_until__gt=now + HELD_IN_REASON)
    if _has_died(row.holder):
        is_free |= Q(holder=row.holder)
    rows = JobLock.objects.filter(is_free, name=name, paused_at=None)
    if seen is not None:
        rows = rows.filter(last_started=seen.last_started)
    answered = {"asked_at": None, "asked_by": ""} if is_counted else {}
    return rows.update(holder=holder, held_until=now + at_most, last_started=now, **answered) == 1


def release_lock(name: str, *, holder: str, error: str = "") -> bool:
    """Give a lock back with how it ended; False where it ran out and is somebody else's by now."""
    now = timezone.now()
    mine = JobLock.objects.filter(name=name, holder=holder)
    if error:
        ended = {"last_failed": now, "last_error": error[:MAX_ERROR_CHARS], "failures": F("failures") + 1}
    else:
        started = mine.values_list("last_started", flat=True).first()
        took_s = (now - started).total_seconds() if started else None
        ended = {"last_finished": now, "last_took_s": took_s, "last_error": "", "failures": 0}
    return mine.update(holder="", held_until=None, **ended) == 1


def last_finished(name: str) -> datetime | None:
    """Say when a job last came to a good end; None where it never did."""
    return JobLock.objects.filter(name=name).values_list("last_finished", flat=True).first()


def _with_death_noted(job: Job, row: JobLock) -> JobLock:
    """Count it as a failure where the last holder died, so that work which kills its process is not begun at once again."""
    now = timezone.now()
    if not row.holder or is_held(row, now=now):
        return row
    log.warning("%s: %s", job.name, DIED)
    JobLock.objects.filter(name=row.name, holder=row.holder, held_until=row.held_until).update(
        holder="",
        held_until=None,
        # Its hold ended before now; to wait from there on loses no time.
        last_failed=min(row.held_until or now, now),
        last_error=DIED,
        failures=F("failures") + 1,
    )
    row.refresh_from_db()
    return row


def _is_ahead(row: JobLock, *, now: datetime) -> bool:
    """Say whether the row speaks of the future: the machine's clock was wrong when it was written."""
    last = row.last_failed if row.failures else row.last_finished
    return last is not None and last > now + HELD


@contextmanager
def _renewing(name: str, *, holder: str, at_most: timedelta) -> Iterator[None]:
    """Keep the lock while the body runs, from a thread of its own."""
    done = threading.Event()
    keeper = threading.Thread(
        target=_renew, args=(name, holder, at_most, done), name=f"loci-hold-{name}", daemon=True
    )
    keeper.start()
    try:
        yield
    finally:
        done.set()
        keeper.join()


def _renew(name: str, holder: str, at_most: timedelta, done: threading.Event) -> None:
    try:
        while not done.wait((at_most / RENEWALS).total_seconds()):
            renew_lock(name, holder=holder, at_most=at_most)
    finally:
        connection.close()


def renew_lock(name: str, *, holder: str, at_most: timedelta) -> None:
    """Push the end of a hold forward; a database that is busy is asked again at the next renewal."""
    try:
        JobLock.objects.filter(name=name, holder=holder).update(held_until=timezone.now() + at_most)
    except DatabaseError as error:
        log.warning("%s: its hold was not renewed (%s)", name, type(error).__name__)


def _end(job: Job, holder: str, *, error: str = "") -> bool:
    return (
        release_lock(job.name, holder=holder, error=error)
        if job.is_counted
        else _let_go(job.name, holder=holder)
    )


def _let_go(name: str, *, holder: str) -> bool:
    return JobLock.objects.filter(name=name, holder=holder).update(holder="", held_until=None) == 1


def _has_died(holder: str) -> bool:
    """Say whether the holder was a process of this machine that is no more; of other machines nobody can tell."""
    host, _, rest = holder.partition("/")
    pid = rest.partition("/")[0]
    if host != _host() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except OSError as refusal:  # "not permitted" comes from another user's process, which lives
        return isinstance(refusal, ProcessLookupError)
    return False


def _host() -> str:
    return socket.gethostname()[:60]


def _holder() -> str:
    return f"{_host()}/{os.getpid()}/{threading.get_ident()}"
