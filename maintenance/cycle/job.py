"""The cycle as a job: one at a time in the whole installation, whoever starts it."""

from dataclasses import replace
from datetime import timedelta

from django.utils import timezone

from access.actor import Actor
from access.errors import Conflict
from maintenance.cycle import RunPlan, check_plan, run_cycle
from maintenance.jobs import Job, do_job
from maintenance.models import JobLock, Run, RunStatus

CYCLE_JOB = "cycle"


def scheduled_cycle(actor: Actor) -> Run:
    """Finish the runs that were stopped midway, then run over all groups; what the worker does of itself."""
    for run in (
        Run.objects.filter(status=RunStatus.RUNNING, dry_run=False).select_related("group").order_by("key")
    ):
        run_cycle(actor, RunPlan(kind=run.kind, group=run.group))
    return run_cycle(actor)


def run_alone(actor: Actor, plan: RunPlan) -> Run:
    """Run now, under the lock that the scheduled cycle takes as well.

    A run over one group, or of another kind, is not what the schedule waits for: that stays due as it was.

    Raises:
        Conflict: the cycle is at work elsewhere, or paused; nothing was done.
        NotPermitted, InvalidInput: as run_cycle().
    """
    check_plan(actor, plan)  # before it could count as a failure of the job
    runs: list[Run] = []
    job = Job(
        CYCLE_JOB,
        every=timedelta(0),
        work=lambda doer: runs.append(run_cycle(doer, plan)),
        is_counted=plan.kind == "cycle" and plan.group is None,
    )
    if not do_job(job, actor=actor):
        raise Conflict(
            "The cycle is at work elsewhere, or paused.", hint="`loci schedule` says which. Nothing was done."
        )
    return runs[0]


def begin_alone(actor: Actor, plan: RunPlan, *, seconds: float) -> Run:
    """Run for at most `seconds`, as a request can wait; a worker goes on with what is left within a minute.

    Raises:
        As run_alone() does.
    """
    run = run_alone(actor, replace(plan, max_seconds=seconds))
    if run.status == RunStatus.RUNNING:
        JobLock.objects.filter(name=CYCLE_JOB, asked_at=None).update(
            asked_at=timezone.now(), asked_by=actor.name
        )
    return run
