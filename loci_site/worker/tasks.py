"""The worker's only task, which runs a job of maintenance.schedule if it is due."""

import warnings
from datetime import timedelta
from typing import Any

from celery.signals import worker_ready, worker_shutting_down
from celery.worker import state

from loci_site.server.parent_watch import end_with_child
from loci_site.worker import app
from maintenance.jobs import Job, run_job
from maintenance.schedule import JOBS
from memories.embedding.concurrency import ENDING

# A message expires before the next one is sent, so that no backlog builds up.
EXPIRES_SHARE = 0.9

JOB_BY_NAME = {job.name: job for job in JOBS}


@app.task(name="loci.run")  # type: ignore[untyped-decorator]  # Celery has no types
def run(name: str) -> None:
    """Run the job of this name if it is due."""
    run_job(JOB_BY_NAME[name])


def send_all() -> None:
    """Queue every job now instead of at its next tick, so that missed ones run at once."""
    for job in JOBS:
        run.apply_async(args=[job.name], **message_options(job))


def schedule_of(job: Job) -> dict[str, Any]:
    """The entry of a job in the schedule of Celery's clock."""
    return {
        "task": run.name,
        "args": [job.name],
        "schedule": job.tick.total_seconds(),
        "options": message_options(job),
    }


def message_options(job: Job) -> dict[str, float]:
    """Celery's options for a job's messages: the seconds after which they expire."""
    return {"expires": (job.tick / timedelta(seconds=1)) * EXPIRES_SHARE}


app.conf.beat_schedule = {job.name: schedule_of(job) for job in JOBS}


@worker_ready.connect  # type: ignore[untyped-decorator]  # Celery has no types
def begin(sender: Any, **_: Any) -> None:
    """Queue jobs that were missed while no worker ran, and end the worker when its clock ends."""
    # Eight lines each time that Redis was down; our messages are acknowledged before the work. Celery enables all its
    # warnings at start, so this filter comes after.
    warnings.filterwarnings("ignore", message="\\s*In Celery 5.1 we introduced an optional breaking change")
    if (clock := sender.controller.beat) is not None:
        end_with_child(clock, is_ending=is_stopping)
    send_all()


@worker_shutting_down.connect  # type: ignore[untyped-decorator]  # Celery has no types
def stop_embedding(**_: Any) -> None:
    """Make a job that embeds stop after the current text; otherwise `up` waits for it and then kills the worker."""
    ENDING.set()


def is_stopping() -> bool:
    """True if Celery has begun to shut down."""
    return any(flag is not None and flag is not False for flag in (state.should_stop, state.should_terminate))
