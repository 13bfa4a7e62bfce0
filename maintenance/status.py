"""Counts of memories together with how what looks after them stands; the two rooms know nothing of each other."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from maintenance.jobs import HEARTBEAT
from maintenance.schedule import JobStatus, standings
from memories.browse.stats import Stats


def counted_json(stats: Stats) -> dict[str, Any]:
    """Give counts as JSON values, with a line about each job: for every reader, so without the errors' texts."""
    return asdict(stats) | {"schedule": schedule_lines()}


def schedule_lines() -> dict[str, str]:
    """Say of each job when it ran, when it runs next, and whether something is wrong with it."""
    return {job.name: _line(job) for job in standings() if job.name != HEARTBEAT}


def _line(job: JobStatus) -> str:
    said = [f"last run {_at(job.last_run)}" if job.last_run else "never ran"]
    if job.next_run:
        said.append(f"next {_at(job.next_run)}")
    if job.failures:
        said.append(f"failed {job.failures}×")
    if job.state in ("running", "paused", "overdue"):
        said.append(job.state)
    return ", ".join(said)


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%MZ}"
