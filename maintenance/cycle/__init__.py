"""The maintenance cycle: one run over the groups, step by step, in batches of one short transaction each.

A killed run resumes after its last batch. A second run right after the first changes nothing.
"""

import logging
import time
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q
from django.utils import timezone

from access import audit
from access.actor import CURATE, Actor
from access.audit.operations import BATCHES, Operation
from access.errors import InvalidInput, NotPermitted
from access.groups import hold_groups
from access.models import CleanupRule, Group, RowChange
from maintenance.cycle.compaction import Compact
from maintenance.cycle.conversations import SummariseConversations
from maintenance.cycle.decay import Decay
from maintenance.cycle.expiry import Cleanup, Expire
from maintenance.cycle.find_pairs import FindPairs
from maintenance.cycle.promotion import Promote
from maintenance.cycle.recorder import Recorder, step_change
from maintenance.cycle.step import NOT_ADMITTED, Batch, Step, Turn
from maintenance.models import Run, RunStatus
from memories.decay import UNUSED_BELOW
from memories.models import Memory
from memories.types import State
from storage.changes import changing
from storage.progress import Progress, ignore_progress

log = logging.getLogger(__name__)
SHARE_FLOOR = 1  # memories that may go to sleep in any group, even if its share is less
_CAP_DAYS = 7  # the share is of all runs of so many days
STEP_S = 1800  # of one step in one group; what is left is done by the next run
_ALL_DONE = "all done"  # in the place of a step, where a group has none left
KINDS: dict[str, tuple[Step, ...]] = {
    # What goes behind a summary does not decay, also not in the same run.
    "cycle": (Compact(), Decay(), Promote(), Expire(), Cleanup(), FindPairs(), SummariseConversations()),
    "cleanup": (Cleanup(),),
}
MAX_ERROR_CHARS = 2000
# After a batch the run sleeps as long as it held the write lock, so that writers get half of the time. SQLite does not
# queue writers: they retry now and then, and a run without pauses would starve them.
LONGEST_REST_S = 0.25


@dataclass(frozen=True)
class RunPlan:
    """Options of a run. `now` is the run's current time; `max_seconds` ends it early, to be resumed.

    `max_share` caps the share of a group's live memories that may go to sleep within _CAP_DAYS. `deletes`: what is not
    used is forgotten, whatever the group's rule. A resumed run keeps the last ones set.
    """

    kind: str = "cycle"
    group: Group | None = None
    now: datetime | None = None
    max_share: float | None = None
    deletes: bool = False
    max_seconds: float | None = None
    report: Progress = ignore_progress  # the group and step, groups done and in all


class _CapReached(Exception):
    """The batch would put more memories to sleep than may."""


def run_cycle(actor: Actor, plan: RunPlan | None = None) -> Run:
    """Perform one run, or resume an interrupted one of this kind and group; return it.

    The caller holds the job's lock: two simultaneous runs over the same groups are safe but waste work.
    1. compact · 2. decay · 3. promote · 4. expire · 5. clean up · 6. duplicates and conflicts
    · 7. summaries of conversations; group by group.
    What fails, takes too long or reaches the cap ends its step in its group alone; the run says so and ends as stopped, or
    as failed.

    Raises:
        NotPermitted: the actor may not curate the group, or all groups if the plan names none.
        InvalidInput: the kind is unknown.
    """
    plan = plan or RunPlan()
    check_plan(actor, plan)
    unfinished = Run.objects.filter(
        kind=plan.kind, group=plan.group, status=RunStatus.RUNNING, dry_run=False
    ).first()
    run = unfinished or _create_run(actor, plan)
    # What a run that was interrupted for days retires is retired today: history and retention go by these times.
    run.now = max(run.now or timezone.now(), plan.now or timezone.now())
    if plan.max_share is not None:
        run.cursor["max_share"] = plan.max_share  # also applies when the run is resumed
    if plan.deletes:
        run.cursor["deletes"] = True
    run.save(update_fields=["cursor", "now"])
    worker = _CycleWorker(replace(actor, run=run.id), run, plan, time.monotonic())
    if worker.work():
        failed = RunStatus.FAILED if run.cursor.get("failed") else RunStatus.STOPPED
        _finish_run(worker.actor, run, failed if run.error else RunStatus.DONE, error=run.error)
    return run


def check_plan(actor: Actor, plan: RunPlan) -> None:
    """Raise NotPermitted or InvalidInput if the actor may not perform this run, or its kind is unknown."""
    if plan.kind not in KINDS:
        raise InvalidInput(
            f"Unknown kind of run '{plan.kind}'.", hint=f"Use {' or '.join(KINDS)}.", field="kind"
        )
    is_allowed = actor.may(CURATE, plan.group.key) if plan.group else actor.all_groups and actor.may(CURATE)
    if not is_allowed:
        raise NotPermitted(
            "You may not run maintenance here.",
            hint="Needs the right to curate the group, or all groups if none is named.",
        )


def _create_run(actor: Actor, plan: RunPlan) -> Run:
    """A new run, with the marks that each step left in the last run that still holds."""
    # The marks of a run before the undo of an earlier one pass over what that undo brought back.
    undone_since = Run.objects.filter(key__lt=OuterRef("key"), undone_at__gt=OuterRef("started_at"))
    finished = Run.objects.filter(
        kind=plan.kind, status__in=[RunStatus.DONE, RunStatus.STOPPED, RunStatus.FAILED]
    )
    earlier = finished.filter(~Exists(undone_since)).first()
    marks = earlier.cursor.get("marks", {}) if earlier else {}
    return Run.objects.create(
        kind=plan.kind,
        group=plan.group,
        actor=actor.name,
        now=plan.now or timezone.now(),
        started_at=timezone.now(),
        cursor={"marks": marks},
    )


def _finish_run(actor: Actor, run: Run, status: RunStatus, *, error: str = "") -> None:
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


def compute_cap(share: float, live: int) -> int:
    """The number of a group's `live` memories that may go to sleep within _CAP_DAYS; 0 if `share` is 0."""
    if share == 0:
        return 0
    return max(SHARE_FLOOR, int(share * live + 1e-9))  # 0.29 * 100 is 28.99…


def _last_key(change: int) -> int:
    """The key of the last row that was kept of a change; 0 if there is none."""
    return RowChange.objects.filter(change=change).aggregate(last=Max("key"))["last"] or 0


@dataclass
class _CycleWorker:
    """Walks the groups and steps of one run, and saves its position with each batch."""

    actor: Actor
    run: Run
    plan: RunPlan
    began: float

    def work(self) -> bool:
        """Do the remaining work; False if the time limit ended it early."""
        groups = self._remaining_groups()
        for number, group in enumerate(groups):
            if self.run.cursor.get("group") != group.key:  # else the run was interrupted in this group
                self.run.cursor |= {"group": group.key, "step": ""}
            if not self._work_on_group(group, number, len(groups)):
                return False
        return True

    def _remaining_groups(self) -> Sequence[Group]:
        if self.run.group is not None:
            return [self.run.group]
        first = self.run.cursor.get("group", 0)
        return list(Group.objects.filter(key__gte=first).order_by("key"))

    def _work_on_group(self, group: Group, number: int, groups: int) -> bool:
        names = [*(step.name for step in KINDS[self.run.kind]), _ALL_DONE]
        if (
            self.run.cursor["step"] not in names
        ):  # the group begins, or was interrupted before the steps were others
            self.run.cursor |= {"step": names[0], "at": None, "did": None}
        for at, step in enumerate(KINDS[self.run.kind]):
            if at < names.index(self.run.cursor["step"]):
                continue
            self.plan.report(f"{group.slug}: {step.name}", number, groups)
            try:
                if not self._do_step(step, group):
                    return False
            except _CapReached as reached:
                self._note(str(reached))
            except Exception as error:
                log.exception("the step %s failed in the group %s", step.name, group.slug)
                self.run.cursor["failed"] = True
                self._note(f"'{group.slug}', {step.name}: {type(error).__name__}: {error}")
            self._end_step(step, group, then=names[at + 1])
        return True

    def _end_step(self, step: Step, group: Group, *, then: str) -> None:
        """Move on to the next step, and log what this one changed in the group: one row for all its batches."""
        did = self.run.cursor.get("did")
        self.run.cursor |= {"step": then, "at": None, "did": None}
        if not did or not did["counts"].keys() - NOT_ADMITTED:
            return  # saved with the next batch: repeating a step that changed nothing changes nothing
        change, counts = step_change(self.run.id, step.name), did["counts"]
        with changing(change), transaction.atomic():
            audit.append(
                self.actor,
                BATCHES.get(step.name, Operation.RUN),
                group=group.id,
                subject=", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items()),
                payload={
                    "run": str(self.run.id), "step": step.name, **counts, "changes": [did["after"], _last_key(change)],
                },
            )  # fmt: skip
            self.run.save(update_fields=["cursor"])

    def _note(self, why: str) -> None:
        """Keep why a step ended in a group; a resumed run has it too."""
        self.run.error = "\n".join(filter(None, [self.run.error, why]))[:MAX_ERROR_CHARS]
        self.run.save(update_fields=["cursor", "error"])

    def _do_step(self, step: Step, group: Group) -> bool:
        cursor = self.run.cursor["at"]
        mark = self.run.cursor["marks"].get(step.name, {}).get(str(group.key))
        turn = Turn(
            self.actor, group, self.run.now or timezone.now(), settings.LOCI.maintenance, mark,
            deletes=self.run.cursor.get("deletes", False) or group.cleanup == CleanupRule.DELETE,
        )  # fmt: skip
        ends = time.monotonic() + STEP_S
        while not self._is_over_time():
            if time.monotonic() > ends:
                self._note(f"'{group.slug}', {step.name}: not done within {STEP_S} s; the next run goes on")
                return True
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
        """Write a batch, its undo information, its audit events and the run's position: all or nothing."""
        recorder = Recorder(self.actor, self.run, step.name)
        change = step_change(self.run.id, step.name)
        before = deepcopy((self.run.cursor, self.run.counts, self.run.steps))
        try:
            with changing(change), transaction.atomic():
                hold_groups([group.key])
                locked = time.perf_counter()  # the wait for other writers is over
                did = self.run.cursor.get("did") or {"counts": {}, "after": _last_key(change)}
                counts = Counter(dict(batch.write(recorder)))
                if recorder.unused:
                    self._check_cap(group)
                recorder.flush()
                total = dict(Counter(did["counts"]) + counts)
                self.run.cursor |= {"at": batch.cursor, "did": did | {"counts": total}}
                if batch.mark is not None:
                    self.run.cursor["marks"].setdefault(step.name, {})[str(group.key)] = batch.mark
                now = time.perf_counter()
                self._count(step, counts, lock_s=now - locked, took_s=now - began)
                self.run.save(update_fields=["cursor", "counts", "steps"])
        except BaseException:  # what was rolled back is neither counted nor marked as done
            self.run.cursor, self.run.counts, self.run.steps = before
            raise
        time.sleep(min(time.perf_counter() - locked, LONGEST_REST_S))

    def _check_cap(self, group: Group) -> None:
        """Raise _CapReached if more unused memories of the group were put away in _CAP_DAYS than may, over all runs."""
        share = self.run.cursor.get("max_share", settings.LOCI.maintenance.max_share)
        since = (self.run.now or timezone.now()) - timedelta(days=_CAP_DAYS)
        rows = Memory.objects.filter(group=group)
        put_away = Q(state=State.DORMANT) | Q(state=State.FORGOTTEN, confidence__lt=UNUSED_BELOW)
        asleep = rows.filter(put_away, state_changed_at__gt=since).count()
        live = rows.filter(state=State.LIVE, summary=None).count() + asleep
        cap = compute_cap(share, live)
        if share < 1 and asleep > cap:
            raise _CapReached(
                f"More than {cap} of the {live} memories of '{group.slug}' would be put away within {_CAP_DAYS} days "
                f"(maintenance.max_share {share:g}). Check a dry run; allow more with --max-share."
            )

    def _count(self, step: Step, counts: Counter[str], *, lock_s: float, took_s: float) -> None:
        self.run.counts = dict(Counter(self.run.counts) + counts)
        entry = next((s for s in self.run.steps if s["step"] == step.name), None)
        if entry is None:
            entry = {"step": step.name, "batches": 0, "counts": {}, "seconds": 0.0, "longest_lock_s": 0.0}
            self.run.steps.append(entry)
        entry["batches"] += 1
        entry["counts"] = dict(Counter(entry["counts"]) + counts)
        entry["seconds"] = round(entry["seconds"] + took_s, 4)
        entry["longest_lock_s"] = max(entry["longest_lock_s"], round(lock_s, 4))
