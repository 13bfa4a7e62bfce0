"""What the worker takes from the queue: one task, which does a job of maintenance.schedule where it is due."""

from datetime import timedelta
from typing import Any

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
