"""Job statuses in words, for the command, the browser and the statistics."""

from datetime import datetime
from typing import Annotated, Final

from django.utils import timezone
from django.utils.translation import gettext, gettext_noop, ngettext

from access.answers import ShownAs
from maintenance.jobs import HEARTBEAT
from maintenance.schedule import JobStatus, job_statuses
from memories.review.stats import Stats

UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))

# What each job does, as the schedule shows it.
JOB_DESCRIPTIONS: Final = {
    "heartbeat": gettext_noop("Shows that the worker is alive."),
    "embed_owed": gettext_noop("Embeds memories that were stored without a vector."),
    "backup": gettext_noop("Makes a verified backup and deletes the oldest."),
    "purge_backups": gettext_noop("Removes purged memories from the backups that still contain them."),
    "cycle": gettext_noop("Decays, summarises, promotes and cleans up; each run can be undone as a whole."),
    "retention": gettext_noop("Deletes data past its retention time, such as old recalls."),
    "guard_scan": gettext_noop("Looks for sensitive text in what is stored; runs on request."),
    "link_heads": gettext_noop("Links the ends of all chains of the audit log."),
    "tidy_access": gettext_noop("Deletes expired sessions, codes and sign-in attempts."),
    "embed_chunks": gettext_noop("Embeds chunks of files that have no vector yet."),
    "import": gettext_noop("Checks and imports uploaded files."),
    "notify": gettext_noop("Sends mail and calls webhooks when something waits or went wrong."),
}


def format_duration(seconds: float | None) -> str:
    """A duration in its largest whole unit, else rounded: "2 h", "1.3 s", "4 ms"; "-" for None."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    for size, unit in UNITS:
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.1f} min"


def format_moment(at: datetime | None) -> str:
    """A time in the active zone, for commands UTC, to the second; "-" for None."""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S}" if at else "-"


def format_interval(job: JobStatus) -> str:
    """How often the job runs: "1 d", or "never"."""
    return format_duration(job.every_s) if job.every_s else gettext("never")


def format_next_run(job: JobStatus) -> str:
    """When the job runs next: a time, "next tick" or "when needed"."""
    if job.state in ("due", "overdue", "asked"):
        return gettext("next tick")
    if job.state == "idle" and job.next_run is None:
        return gettext("when needed")
    return format_moment(job.next_run)


def format_state(job: JobStatus) -> str:
    """The job's state in one line, with its failures."""
    failed = (
        ngettext("failed once: {error}", "failed {times} times: {error}", job.failures).format(
            times=job.failures, error=job.error
        )
        if job.failures
        else ""
    )
    words = {
        "running": gettext("running since {time}").format(time=format_moment(job.since)),
        "paused": gettext("paused by {name}").format(name=job.by),
        "asked": gettext("requested by {name}").format(name=job.by),
        "failing": failed,
        "overdue": gettext("overdue since {time}").format(time=format_moment(job.since)),
        "off": gettext("runs only on request"),
    }.get(job.state, job.state)
    return f"{words}; {failed}" if failed and job.state != "failing" else words


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
