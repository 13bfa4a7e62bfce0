"""How a job stands, in the words that the command and the browser share."""

from datetime import datetime
from typing import Final

from maintenance.schedule import JobStatus

UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))

# What each job does, for who looks at the schedule.
MEANINGS: Final = {
    "heartbeat": "Shows that the worker is alive.",
    "embed_owed": "Gives vectors to memories that were stored without one.",
    "backup": "Makes a verified backup; the oldest give way.",
    "purge_backups": "Takes what was purged out of the backups that still hold it.",
    "cycle": "Decays, summarises, promotes and tidies; each run can be taken back as a whole.",
    "retention": "Removes what is past the time it is kept, such as old recalls.",
    "tidy_access": "Removes what has ended: sessions, codes, attempts.",
    "import": "Looks through and imports the files that people sent.",
}


def duration(seconds: float | None) -> str:
    """Give a length of time in its largest whole unit, else rounded; "-" for none."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    for size, unit in UNITS:
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.1f} min"


def moment(at: datetime | None) -> str:
    """Give a moment (UTC) to the second, "-" for none."""
    return f"{at:%Y-%m-%d %H:%M:%S}" if at else "-"


def every_words(job: JobStatus) -> str:
    """Say how often it runs."""
    return duration(job.every_s) if job.every_s else "never"


def next_words(job: JobStatus) -> str:
    """Say when it runs next."""
    if job.state in ("due", "overdue", "asked"):
        return "next tick"
    if job.state == "idle" and job.next_run is None:
        return "when needed"
    return moment(job.next_run)


def state_words(job: JobStatus) -> str:
    """Say how a job stands, in one line."""
    times = "once" if job.failures == 1 else f"{job.failures} times"
    failed = f"failed {times}: {job.error}" if job.failures else ""
    words = {
        "running": f"running since {moment(job.since)}",
        "paused": f"paused by {job.by}",
        "asked": f"asked for by {job.by}",
        "failing": failed,
        "overdue": f"overdue since {moment(job.since)}",
        "off": "runs only when asked for",
    }.get(job.state, job.state)
    return f"{words}; {failed}" if failed and job.state != "failing" else words
