"""The cycle as a job: one at a time in the whole installation, whoever starts it."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from django.db import connection, transaction
from django.utils import timezone

from access.actor import Actor
from access.errors import Conflict
from maintenance.cycle import RunPlan, check_plan, run_cycle
from maintenance.jobs import Job, do_job
from maintenance.models import JobLock, Run, RunStatus
from memories.language.dates.named_days import day_reader, keep_days
from memories.models import Memory
from memories.search.base import search_index
from storage.bulk import write_columns

_CYCLE_JOB = "cycle"
_BATCH_ROWS = 500


class _CycleFailed(Exception):
    """A step failed in a group; the others were done. The text names step, group and error."""


def run_scheduled_cycle(actor: Actor) -> Run:
    """Adapt the search indexes, read days that other rules read, resume interrupted runs, then run over all groups; the worker's scheduled job."""
    if not connection.in_atomic_block:
        search_index().tend()
    _read_days()
    for run in (
        Run.objects.filter(status=RunStatus.RUNNING, dry_run=False).select_related("group").order_by("key")
    ):
        run_cycle(actor, RunPlan(kind=run.kind, group=run.group))
    return _checked(run_cycle(actor))


def _read_days() -> None:
    """Read the days that texts name, of those that an older version wrote, or no store."""
    stale = Memory.objects.exclude(days__startswith=day_reader()).order_by("key")
    while batch := list(stale.only("key", "content", "valid_from", "created_at")[:_BATCH_ROWS]):
        days = [keep_days(row.content, row.moment) for row in batch]
        with transaction.atomic():
            write_columns(Memory, [row.key for row in batch], {"days": days})
        stale = stale.filter(key__gt=batch[-1].key)


def _checked(run: Run) -> Run:
    """The run. Raises _CycleFailed where a step of it failed, so that the schedule and /health show it."""
    if run.status == RunStatus.FAILED:
        raise _CycleFailed(run.error)
    return run


def run_alone(actor: Actor, plan: RunPlan) -> Run:
    """Run now, under the same lock as the scheduled cycle.

    A run over one group, or of another kind, does not count for the schedule: the cycle stays due as it was.

    Raises:
        Conflict: the cycle is running elsewhere, or paused; nothing was done.
        NotPermitted, InvalidInput: as run_cycle().
    """
    check_plan(actor, plan)  # first, so that a refusal does not count as a failure of the job
    runs: list[Run] = []

    def work(job_actor: Actor) -> None:
        runs.append(run_cycle(job_actor, plan))
        _checked(runs[0])

    is_counted = plan.kind == "cycle" and plan.group is None
    with suppress(_CycleFailed):  # the run says so
        if not do_job(Job(_CYCLE_JOB, every=timedelta(0), work=work, is_counted=is_counted), actor=actor):
            raise Conflict(
                "The cycle is running elsewhere, or paused.",
                hint="`loci schedule` shows which. Nothing was done.",
            )
    return runs[0]


def start_alone(actor: Actor, plan: RunPlan, *, seconds: float) -> Run:
    """Run for at most `seconds`, while a request waits; a worker resumes the rest within a minute.

    Raises:
        As run_alone() does.
    """
    run = run_alone(actor, replace(plan, max_seconds=seconds))
    if run.status == RunStatus.RUNNING:
        JobLock.objects.filter(name=_CYCLE_JOB, asked_at=None).update(
            asked_at=timezone.now(), asked_by=actor.name
        )
    return run
