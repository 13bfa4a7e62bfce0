"""What the worker does of itself, and how often. A new job is one line in JOBS."""

from datetime import timedelta
from typing import Any

from loci_site.celery import app
from maintenance.backfill import embed_owed, is_owed
from maintenance.jobs import HEARTBEAT, Job, run_job

# A message that nobody took before the next one comes is dropped, so that no backlog runs at once.
EXPIRES_SHARE = 0.9

JOBS = (
    Job(HEARTBEAT, every=timedelta(seconds=20), work=lambda actor: None),
    Job("embed_owed", every=timedelta(seconds=30), work=embed_owed, is_due=is_owed),
)
_BY_NAME = {job.name: job for job in JOBS}


@app.task(name="loci.run")  # type: ignore[untyped-decorator]  # Celery has no types
def run(name: str) -> None:
    """Do the job of this name, once."""
    run_job(_BY_NAME[name])


def schedule_of(job: Job) -> dict[str, Any]:
    """Give a job's place in the schedule of Celery's clock."""
    seconds = job.every.total_seconds()
    options = {"expires": seconds * EXPIRES_SHARE}
    return {"task": run.name, "args": [job.name], "schedule": seconds, "options": options}


app.conf.beat_schedule = {job.name: schedule_of(job) for job in JOBS}
