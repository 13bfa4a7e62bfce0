"""`manage.py schedule`: show the scheduled jobs; pause, resume or run one."""

from collections.abc import Callable
from typing import Any, Final

from django.core.management.base import CommandError

from access.actor import Actor
from access.management.command import CommandAnswer, option
from access.tokens import operator
from maintenance.schedule import JobStatus, list_schedule, pause_job, resume_job, run_now
from maintenance.schedule.wording import (
    format_duration,
    format_interval,
    format_moment,
    format_next_run,
    format_state,
)
from memories.management.output import FaceCommand, in_lines, table_text

EXAMPLES: Final = """\
examples:
  loci schedule                 every job: interval, last run, next run, state
  loci schedule pause cycle     it stays paused across restarts
  loci schedule resume cycle
  loci schedule run cycle       run it here and now, due or not
  loci schedule --json

Times are UTC. The settings maintenance.cycle_hours and maintenance.backup_days set the intervals; 0 means never.
"""
HEADER: Final = ("job", "every", "last run", "took", "next run", "state")
CHANGES: dict[str, Callable[[Actor, str], JobStatus]] = {
    "pause": pause_job,
    "resume": resume_job,
    "run": run_now,
}
MESSAGES: Final = {
    "pause": "The job '{name}' is paused; 'loci schedule resume {name}' lets it run again.",
    "resume": "The job '{name}' is resumed; next run: {next}.",
    "run": "The job '{name}' ran in {took}.",
}


class Command(FaceCommand):
    """Shows and changes the schedule as the operator of this machine."""

    help = "Show the scheduled jobs; pause, resume or run one."
    examples = EXAMPLES
    options = (
        option("action", nargs="?", default="list", choices=["list", *CHANGES], help="default: list"),
        option("name", nargs="?", metavar="NAME", help="the job to pause, resume or run"),
    )

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        action, name = options["action"], options["name"]
        if (action == "list") is not (name is None):
            hint = "'list' takes no name." if name else f"Name the job: loci schedule {action} NAME"
            raise CommandError(hint, returncode=2)
        if action == "list":
            jobs = list_schedule(operator())
            has_run = any(job.last_run or job.failures for job in jobs)
            note = "" if has_run else "Nothing has run yet: the worker started by 'loci up' runs the jobs."
            table = table_text([_job_row(job) for job in jobs], header=HEADER)
            return CommandAnswer({"jobs": jobs}, in_lines(table, note))
        job = CHANGES[action](operator(), name)
        took, following = format_duration(job.took_s), format_moment(job.next_run)
        return CommandAnswer(job, MESSAGES[action].format(name=name, took=took, next=following))


def _job_row(job: JobStatus) -> list[str]:
    took = format_duration(job.took_s)
    return [
        job.name,
        format_interval(job),
        format_moment(job.last_run),
        took,
        format_next_run(job),
        format_state(job),
    ]
