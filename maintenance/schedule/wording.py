"""Job statuses in words, shared by the command and the browser."""

from datetime import datetime
from typing import Final

from django.utils import timezone
from django.utils.translation import gettext, gettext_noop, ngettext

from maintenance.schedule import JobStatus

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
