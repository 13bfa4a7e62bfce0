"""The worker's only task, which runs a job of maintenance.schedule if it is due, and what the worker starts besides its pool."""

import logging
import threading
import time
import warnings
from datetime import timedelta
from typing import Any

from celery.beat import EmbeddedService
from celery.signals import worker_init, worker_ready, worker_shutting_down
from celery.worker import state
from django.db import DatabaseError, close_old_connections, connections

from loci_site.server.process import end_with_thread, prefer_other_processes, take_short_turns
from loci_site.worker import app
from maintenance.jobs import HEARTBEAT, Job, run_job
from maintenance.schedule import JOBS
from memories.embedding import unload
from memories.embedding.concurrency import ENDING, spare_a_core

log = logging.getLogger(__name__)

# A message expires before the next one is sent, so that no backlog builds up.
_EXPIRES_SHARE = 0.9

_JOB_BY_NAME = {job.name: job for job in JOBS}
QUEUED = [job for job in JOBS if job.name != HEARTBEAT]


@app.task(name="loci.run")  # type: ignore[untyped-decorator]  # Celery has no types
def run(name: str) -> None:
    close = connections.close_all
    try:
        if run_job(_JOB_BY_NAME[name]):
            unload()
        else:
            close = close_old_connections  # it only looked, and a new connection takes longer than that
    finally:
        close()


def schedule_of(job: Job) -> dict[str, Any]:
    """The entry of a job in the schedule of Celery's clock."""
    return {
        "task": run.name,
        "args": [job.name],
        "schedule": job.tick.total_seconds(),
        "options": _message_options(job),
    }


def _message_options(job: Job) -> dict[str, float]:
    """Celery's options for a job's messages: the seconds after which they expire."""
    return {"expires": (job.tick / timedelta(seconds=1)) * _EXPIRES_SHARE}


app.conf.beat_schedule = {job.name: schedule_of(job) for job in QUEUED}


@worker_init.connect  # type: ignore[untyped-decorator]  # Celery has no types
def yield_to_answers(**_: Any) -> None:
    """Leave the processor to the web processes."""
    take_short_turns()
    prefer_other_processes()
    spare_a_core()


@worker_ready.connect  # type: ignore[untyped-decorator]  # Celery has no types
def begin(**_: Any) -> None:
    """Start the clock and the heartbeat, and queue jobs that were missed while no worker ran."""
    # Eight lines each time that Redis was down; our messages are acknowledged before the work. Celery enables all its
    # warnings at start, so this filter comes after.
    warnings.filterwarnings("ignore", message="\\s*In Celery 5.1 we introduced an optional breaking change")
    clock = EmbeddedService(app, thread=True)
    clock.start()
    end_with_thread(clock, is_ending=_is_stopping)
    for job in set(JOBS) - set(QUEUED):
        threading.Thread(target=_keep_running, args=(job,), name=f"loci-{job.name}", daemon=True).start()
    for queued in QUEUED:  # now instead of at its next tick
        run.apply_async(args=[queued.name], **_message_options(queued))


def _keep_running(job: Job) -> None:
    """Run a short job at each of its ticks, however long the jobs in the pool take."""
    while not _is_stopping():
        try:
            run_job(job)
        except DatabaseError as error:  # the next tick tries again
            log.warning("%s: %s", job.name, type(error).__name__)
        finally:
            close_old_connections()
        time.sleep(job.tick.total_seconds())


@worker_shutting_down.connect  # type: ignore[untyped-decorator]  # Celery has no types
def stop_embedding(**_: Any) -> None:
    """Make a job that embeds stop after the current text; otherwise `up` waits for it and then kills the worker."""
    ENDING.set()


def _is_stopping() -> bool:
    return any(flag is not None and flag is not False for flag in (state.should_stop, state.should_terminate))
