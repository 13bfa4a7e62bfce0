"""The maintenance cycle: one run over the groups, step by step, in batches that are each a short transaction.

A run that was killed goes on where its last batch ended. Running it again at once changes nothing.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import CURATE, Actor
from access.audit.operations import Operation
from access.errors import InvalidInput, NotPermitted
from access.models import Group
from maintenance.cycle.compaction import Compact
from maintenance.cycle.decay import Decay
from maintenance.cycle.expiry import Cleanup, Expire
from maintenance.cycle.find_pairs import FindPairs
from maintenance.cycle.promotion import Promote
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Batch, Step, Turn
from maintenance.models import Run, RunStatus
from memories.models import Memory
from memories.types import State

CYCLE: tuple[Step, ...] = (Decay(), Compact(), Promote(), Expire(), Cleanup(), FindPairs())
CLEANUP: tuple[Step, ...] = (Cleanup(),)
KINDS: dict[str, tuple[Step, ...]] = {"cycle": CYCLE, "cleanup": CLEANUP}
# In a small group half of the live memories is soon reached; so few can be looked through by a person.
CAP_AT_LEAST = 20
MAX_ERROR_CHARS = 2000
# After a batch the run rests as long as it held the write lock, so that writers get half of the time. SQLite does not
# queue them: they ask again now and then, and a run without a rest would starve them.
LONGEST_REST_S = 0.25


@dataclass(frozen=True)
class RunProgress:
    """How far a run is: groups done of how many, the step, and what it has counted."""

    group: str
    groups_done: int
    groups: int
    step: str
    counts: dict[str, int]


@dataclass(frozen=True)
class RunPlan:
    """How a run goes about its work. `now` is what it takes for now; `max_seconds` ends it early, to be resumed.

    A resumed run keeps the share it was given last.
    """

    kind: str = "cycle"
    group: Group | None = None
    now: datetime | None = None
    max_share: float | None = None
    max_seconds: float | None = None
    report: Callable[[RunProgress], None] = lambda progress: None


class _CapReached(Exception):
    """The batch would retire more than the run may."""


def run_cycle(actor: Actor, plan: RunPlan | None = None) -> Run:
    """Do one run, or go on with one of this kind and group that was stopped midway; give it.

    The caller holds the job's lock: two runs over the same groups at once are safe and waste work.
    1. decay · 2. compact · 3. promote · 4. expire · 5. clean up · 6. duplicates and conflicts; the groups one by one.
    A group of which it would retire more than its share is left there, and the run ends as stopped; the others go on.

    Raises:
        NotPermitted: the actor may not curate the group, or every group where none is named.
        InvalidInput: the kind is unknown.
    """
    plan = plan or RunPlan()
    check_plan(actor, plan)
    run = _unfinished(plan) or _begin(actor, plan)
    if plan.max_share is not None:
        run.cursor["max_share"] = plan.max_share  # also for who resumes it
        run.save(update_fields=["cursor"])
    worker = _Worker(replace(actor, run=run.id), run, plan, time.monotonic())
    try:
        is_done = worker.work()
    except Exception as error:
        _finish(
            worker.actor, run, RunStatus.FAILED, error=f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS]
        )
        raise
    if is_done:
        _finish(worker.actor, run, RunStatus.STOPPED if run.error else RunStatus.DONE, error=run.error)
    return run


def check_plan(actor: Actor, plan: RunPlan) -> None:
    """Raise NotPermitted or InvalidInput where the actor may not do this run, or there is none such."""
    if plan.kind not in KINDS:
        raise InvalidInput(
            f"'{plan.kind}' is no kind of run.", hint=f"Use {' or '.join(KINDS)}.", field="kind"
        )
    is_allowed = actor.may(CURATE, plan.group.key) if plan.group else actor.all_groups and actor.may(CURATE)
    if not is_allowed:
        raise NotPermitted(
            "You may not run maintenance here.",
            hint="It takes the right to curate the group, or all groups where none is named.",
        )


def _unfinished(plan: RunPlan) -> Run | None:
    return Run.objects.filter(
        kind=plan.kind, group=plan.group, status=RunStatus.RUNNING, dry_run=False
    ).first()


def _begin(actor: Actor, plan: RunPlan) -> Run:
    """Make the run's row. It knows where each step came to in earlier runs: their marks."""
    earlier = Run.objects.filter(kind=plan.kind, status__in=[RunStatus.DONE, RunStatus.STOPPED]).first()
    marks = earlier.cursor.get("marks", {}) if earlier else {}
    return Run.objects.create(
        kind=plan.kind,
        group=plan.group,
        actor=actor.name,
        now=plan.now or timezone.now(),
        started_at=timezone.now(),
        cursor={"marks": marks},
    )


def _finish(actor: Actor, run: Run, status: RunStatus, *, error: str = "") -> None:
    with transaction.atomic():
        run.status, run.error, run.finished_at = status, error, timezone.now()
        run.cursor = {"marks": run.cursor.get("marks", {})}
        run.save(update_fields=["status", "error", "finished_at", "cursor"])
        audit.append(
            actor,
            Operation.RUN,
            group=run.group.id if run.group else None,
            subject=f"{run.kind} {status}",
            payload={"counts": run.counts, "error": error},
        )


@dataclass
class _Worker:
    """Walks the groups and steps of one run and writes where it is with each batch."""

    actor: Actor
    run: Run
    plan: RunPlan
    began: float

    def work(self) -> bool:
        """Do what is left; False where the time that was given ended first."""
        groups = self._groups()
        for number, group in enumerate(groups):
            self._enter(group)
            try:
                if not self._work_on(group, number, len(groups)):
                    return False
            except _CapReached as reached:
                self._leave(str(reached))
        return True

    def _work_on(self, group: Group, number: int, groups: int) -> bool:
        for at, step in enumerate(KINDS[self.run.kind]):
            if at < self.run.cursor["step"]:
                continue
            self._report(group, number, groups, step)
            if not self._do(step, group):
                return False
            # Written with the next batch: doing a step again that had come to its end finds nothing.
            self.run.cursor |= {"step": at + 1, "at": None}
        return True

    def _leave(self, why: str) -> None:
        """Go on with the next group; the run keeps why, also where it is resumed."""
        self.run.cursor |= {"step": len(KINDS[self.run.kind]), "at": None}
        self.run.error = "\n".join(filter(None, [self.run.error, why]))[:MAX_ERROR_CHARS]
        self.run.save(update_fields=["cursor", "error"])

    def _groups(self) -> Sequence[Group]:
        if self.run.group is not None:
            return [self.run.group]
        first = self.run.cursor.get("group", 0)
        return list(Group.objects.filter(key__gte=first).order_by("key"))

    def _enter(self, group: Group) -> None:
        """Go to a group's first step, unless the run was stopped midway in this group."""
        if self.run.cursor.get("group") != group.key:
            live = Memory.objects.filter(group=group, state=State.LIVE).count()
            self.run.cursor |= {"group": group.key, "step": 0, "at": None, "live": live, "retired": 0}

    def _do(self, step: Step, group: Group) -> bool:
        cursor = self.run.cursor["at"]
        mark = self.run.cursor["marks"].get(step.name, {}).get(str(group.key))
        turn = Turn(self.actor, group, self.run.now or timezone.now(), settings.LOCI.maintenance, mark)
        while not self._is_over_time():
            began = time.perf_counter()
            batch = step.next_batch(turn, cursor)
            if batch is None:
                return True
            self._write(step, group, batch, began=began)
            cursor = batch.cursor
        return False

    def _is_over_time(self) -> bool:
        limit = self.plan.max_seconds
        return limit is not None and time.monotonic() - self.began > limit

    def _write(self, step: Step, group: Group, batch: Batch, *, began: float) -> None:
        """Write a batch, what undoing it needs, the log and the place to go on from: all or nothing."""
        recorder = Recorder(self.actor, self.run, step.name)
        with transaction.atomic():
            locked = time.perf_counter()  # waiting for other writers is over
            counts = Counter(dict(batch.write(recorder)))
            self._check_cap(recorder.retired, group)
            recorder.flush()
            self.run.cursor["at"] = batch.cursor
            if batch.mark is not None:
                self.run.cursor["marks"].setdefault(step.name, {})[str(group.key)] = batch.mark
            now = time.perf_counter()
            self._count(step, counts, lock_s=now - locked, took_s=now - began)
            self.run.save(update_fields=["cursor", "counts", "steps"])
        time.sleep(min(time.perf_counter() - locked, LONGEST_REST_S))

    def _check_cap(self, retired: int, group: Group) -> None:
        """Raise where this run would retire more of the group than its share."""
        share = self.run.cursor.get("max_share", settings.LOCI.maintenance.max_share)
        self.run.cursor["retired"] += retired
        cap = max(CAP_AT_LEAST, int(share * self.run.cursor["live"]))
        if retired and share < 1 and self.run.cursor["retired"] > cap:
            raise _CapReached(
                f"It would retire more than {cap} of the {self.run.cursor['live']} memories of '{group.slug}' "
                f"(maintenance.max_share {share:g}). Look at a dry run; allow more with --max-share."
            )

    def _count(self, step: Step, counts: Counter[str], *, lock_s: float, took_s: float) -> None:
        total = Counter(self.run.counts)
        total.update(counts)
        self.run.counts = dict(total)
        said = next((s for s in self.run.steps if s["step"] == step.name), None)
        if said is None:
            said = {"step": step.name, "batches": 0, "counts": {}, "seconds": 0.0, "longest_lock_s": 0.0}
            self.run.steps.append(said)
        said["batches"] += 1
        said["counts"] = dict(Counter(said["counts"]) + counts)
        said["seconds"] = round(said["seconds"] + took_s, 4)
        said["longest_lock_s"] = max(said["longest_lock_s"], round(lock_s, 4))

    def _report(self, group: Group, number: int, groups: int, step: Step) -> None:
        self.plan.report(RunProgress(group.slug, number, groups, step.name, dict(self.run.counts)))
