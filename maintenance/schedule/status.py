"""Counts of memories together with the schedule's status; the memories package cannot import maintenance."""

from typing import Annotated

from access.answers import ShownAs
from maintenance.jobs import HEARTBEAT
from maintenance.schedule import JobStatus, job_statuses
from memories.review.stats import Stats


class StatsOut(Stats):
    """Counts of one group, or of all that the caller may see, with a line for each job, without the texts of errors."""

    schedule: Annotated[dict[str, str], ShownAs(lambda *_: describe_schedule())]


def further_statistics() -> dict[str, dict[str, str]]:
    """What the command `stats` adds to the counts."""
    return {"schedule": describe_schedule()}


def describe_schedule() -> dict[str, str]:
    """A line for each job but the heartbeat: its last run, its next run, and any problem."""
    return {job.name: _describe_job(job) for job in job_statuses() if job.name != HEARTBEAT}


def _describe_job(job: JobStatus) -> str:
    """A job's status in one line: "last run 2026-03-01T12:00Z, next 2026-03-02T12:00Z, failed 2×"."""
    parts = [f"last run {job.last_run:%Y-%m-%dT%H:%MZ}" if job.last_run else "never ran"]
    if job.next_run:
        parts.append(f"next {job.next_run:%Y-%m-%dT%H:%MZ}")
    if job.failures:
        parts.append(f"failed {job.failures}×")
    if job.state in ("running", "paused", "overdue"):
        parts.append(job.state)
    return ", ".join(parts)
