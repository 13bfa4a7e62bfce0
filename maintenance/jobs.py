"""Background jobs: each runs once at a time in the whole installation, and says when it ran and what went wrong."""

import logging
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from access.actor import ALL_SCOPES, Actor, Via
from maintenance.models import JobLock

log = logging.getLogger(__name__)
HELD_AT_MOST = timedelta(minutes=10)  # a worker that died keeps its job no longer
MAX_ERROR_CHARS = 2000
HEARTBEAT = "heartbeat"  # the job that does nothing but show that a worker lives


@dataclass(frozen=True)
class Job:
    """Work that is done every so often by whichever worker is free. `is_due` may say cheaply that there is none."""

    name: str
    every: timedelta
    work: Callable[[Actor], object]
    is_due: Callable[[], bool] | None = None
    held_at_most: timedelta = HELD_AT_MOST


def job_actor(name: str) -> Actor:
    """Give the Actor of a job: it may do everything, and is no person."""
    return Actor(name=f"job/{name}", via=Via.JOB, scopes=ALL_SCOPES, all_groups=True)


def run_job(job: Job) -> bool:
    """Do the job unless it is paused, under way elsewhere or not due; say whether it was done.

    What it raises is kept in its row, and raised on.
    """
    if job.is_due is not None and not job.is_due():
        return False
    holder = _holder()
    if not take_lock(job.name, holder=holder, at_most=job.held_at_most):
        return False
    try:
        done: Any = job.work(job_actor(job.name))
    except Exception as error:
        release_lock(job.name, holder=holder, error=f"{type(error).__name__}: {error}")
        raise
    release_lock(job.name, holder=holder)
    if done is not None:
        log.info("%s: %s", job.name, done)
    return True


def take_lock(name: str, *, holder: str, at_most: timedelta) -> bool:
    """Take a job's lock for `at_most`; False where somebody holds it or a person paused the job."""
    now = timezone.now()
    JobLock.objects.get_or_create(name=name)
    is_free = Q(held_until=None) | Q(held_until__lte=now)
    taken = JobLock.objects.filter(is_free, name=name, paused_at=None).update(
        holder=holder, held_until=now + at_most, last_started=now
    )
    return taken == 1


def release_lock(name: str, *, holder: str, error: str = "") -> bool:
    """Give a lock back with how it ended; False where it ran out and is somebody else's by now."""
    given = JobLock.objects.filter(name=name, holder=holder).update(
        holder="", held_until=None, last_finished=timezone.now(), last_error=error[:MAX_ERROR_CHARS]
    )
    return given == 1


def last_finished(name: str) -> datetime | None:
    """Say when a job last came to its end; None where it never did."""
    return JobLock.objects.filter(name=name).values_list("last_finished", flat=True).first()


def _holder() -> str:
    return f"{socket.gethostname()[:60]}/{os.getpid()}/{threading.get_ident()}"
