"""What the worker takes from the queue: one task, which does a job of maintenance.schedule where it is due."""

import warnings
from datetime import timedelta
from typing import Any

from celery.signals import worker_ready
from celery.worker import state

from loci_site.server.parent_watch import end_with_child
from loci_site.worker import app
from maintenance.jobs import Job, run_job
from maintenance.schedule import JOBS

# A message that nobody took before the next one comes is dropped, so that no backlog runs at once.
EXPIRES_SHARE = 0.9

_BY_NAME = {job.name: job for job in JOBS}


@app.task(name="loci.run")  # type: ignore[untyped-decorator]  # Celery has no types
def run(name: str) -> None:
    """Do the job of this name where it is due."""
    run_job(_BY_NAME[name])


def send_all() -> None:
    """Ask of every job whether it is due, without waiting for the clock: what was missed is made up at once."""
    for job in JOBS:
        run.apply_async(args=[job.name], **_options(job))


def schedule_of(job: Job) -> dict[str, Any]:
    """Give a job's place in the schedule of Celery's clock."""
    return {
        "task": run.name,
        "args": [job.name],
        "schedule": job.tick.total_seconds(),
        "options": _options(job),
    }


def _options(job: Job) -> dict[str, float]:
    return {"expires": (job.tick / timedelta(seconds=1)) * EXPIRES_SHARE}


app.conf.beat_schedule = {job.name: schedule_of(job) for job in JOBS}


@worker_ready.connect  # type: ignore[untyped-decorator]  # Celery has no types
def begin(sender: Any, **_: Any) -> None:
    """Make up at once what was missed while no worker was there, and watch the clock."""
    # Said in eight lines each time that Redis was away; our messages are acknowledged before the work. Celery, when it
    # starts, asks for all its warnings, so this comes after.
    warnings.filterwarnings("ignore", message="\\s*In Celery 5.1 we introduced an optional breaking change")
    if (clock := sender.controller.beat) is not None:
        end_with_child(clock, is_ending=_is_ending)
    send_all()


def _is_ending() -> bool:
    return any(flag is not None and flag is not False for flag in (state.should_stop, state.should_terminate))
