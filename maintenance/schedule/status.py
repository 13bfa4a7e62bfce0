"""Counts of memories together with the schedule's status; the memories package cannot import maintenance."""

from dataclasses import asdict
from typing import Any

from maintenance.jobs import HEARTBEAT
from maintenance.schedule import JobStatus, job_statuses
from memories.review.stats import Stats


def stats_json(stats: Stats) -> dict[str, Any]:
    """Counts as JSON values, with a line per job; for every reader, so without error texts."""
    return asdict(stats) | further_statistics()


def further_statistics() -> dict[str, dict[str, str]]:
    """What the command `stats` adds to the counts."""
    return {"schedule": describe_schedule()}


def describe_schedule() -> dict[str, str]:
    """A line for each job but the heartbeat: its last run, its next run, and any problem."""
    return {job.name: describe_job(job) for job in job_statuses() if job.name != HEARTBEAT}


def describe_job(job: JobStatus) -> str:
    """A job's status in one line: "last run 2026-03-01T12:00Z, next 2026-03-02T12:00Z, failed 2×"."""
    parts = [f"last run {job.last_run:%Y-%m-%dT%H:%MZ}" if job.last_run else "never ran"]
    if job.next_run:
        parts.append(f"next {job.next_run:%Y-%m-%dT%H:%MZ}")
    if job.failures:
        parts.append(f"failed {job.failures}×")
    if job.state in ("running", "paused", "overdue"):
        parts.append(job.state)
    return ", ".join(parts)
