"""The cycle as a job: one at a time in the whole installation, whoever starts it."""

from dataclasses import replace
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from access.actor import Actor
from access.errors import Conflict
from maintenance.cycle import RunPlan, check_plan, run_cycle
from maintenance.jobs import Job, do_job
from maintenance.models import JobLock, Run, RunStatus
from memories.search.base import search_index

_CYCLE_JOB = "cycle"


def run_scheduled_cycle(actor: Actor) -> Run:
    """Adapt the search indexes, resume interrupted runs, then run over all groups; the worker's scheduled job."""
    if not connection.in_atomic_block:
        search_index().tend()
    for run in (
        Run.objects.filter(status=RunStatus.RUNNING, dry_run=False).select_related("group").order_by("key")
    ):
        run_cycle(actor, RunPlan(kind=run.kind, group=run.group))
    return run_cycle(actor)


def run_alone(actor: Actor, plan: RunPlan) -> Run:
    """Run now, under the same lock as the scheduled cycle.

    A run over one group, or of another kind, does not count for the schedule: the cycle stays due as it was.

    Raises:
        Conflict: the cycle is running elsewhere, or paused; nothing was done.
        NotPermitted, InvalidInput: as run_cycle().
    """
    check_plan(actor, plan)  # first, so that a refusal does not count as a failure of the job
    runs: list[Run] = []
    job = Job(
        _CYCLE_JOB,
        every=timedelta(0),
        work=lambda job_actor: runs.append(run_cycle(job_actor, plan)),
        is_counted=plan.kind == "cycle" and plan.group is None,
    )
    if not do_job(job, actor=actor):
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
