"""Retention: destroy expired data for good. A job of its own, because nothing can undo it."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from access.actor import Actor, require_admin_of_all
from access.audit.retention import drop_log
from access.models import AuditEntry, RowChange
from maintenance.cycle.recorder import changes_of_run
from maintenance.dry_run import run_on_copy
from maintenance.models import Run, RunStatus
from memories.language.cleaning import format_count
from memories.lifecycle.purge import purge_ended
from memories.models import IndexChange, IndexState, Link, LinkKind, Memory, RecallLog
from memories.review.proposals import close_overdue
from memories.search.schema import begin_purge, end_purge
from memories.types import State
from storage.bulk import batches
from storage.changes import new_change
from storage.postgresql.months import drop_month, is_parted, make_months, old_months
from storage.progress import Progress, ignore_progress

BATCH_ROWS = 500  # small rows per transaction: a few ms of write lock
BATCH_MEMORIES = 200  # examined together
_MEMORIES_AT_ONCE = 10  # destroyed in one transaction
# A worker runs this daily. If more time has passed since the last run, the clock may be wrong, and nothing brings back what
# is destroyed: what became due only after this time waits for one more run.
_MAX_STEP = timedelta(days=2)
_LAST_RUN = "retention_run"  # in index_state: the moment of the last run
# Other processes follow index_change; one that was away for longer finds the list cut and reloads everything.
CHANGES_KEPT = 10_000
_CHANGES_KEPT_FOR = timedelta(hours=24)
_CHANGES_SEEN = "changes_seen"  # in index_state: the newest change of a day ago, as "seq moment"
# A version in one of these states keeps its whole chain: it is live, or it stops a withdrawn text from returning.
_KEEPING = (State.LIVE, State.RETRACTED)
ENDED = (RunStatus.DONE, RunStatus.FAILED, RunStatus.STOPPED, RunStatus.UNDONE)
EXPIRED = "expired"  # in a run's cursor: when its changes were destroyed; undo checks for it


@dataclass
class _StepReport:
    """Rows destroyed by one step, by kind; `held` counts expired rows that are still needed, by reason."""

    step: str
    destroyed: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    batches: int = 0
    seconds: float = 0.0
    longest_batch_s: float = 0.0

    def add(self, counts: Mapping[str, int], *, took_s: float) -> None:
        for name, count in counts.items():
            self.destroyed[name] = self.destroyed.get(name, 0) + count
        self.batches += 1
        self.longest_batch_s = max(self.longest_batch_s, took_s)


@dataclass(frozen=True)
class RetentionReport:
    """What retention destroyed step by step, or would destroy in a dry run. `waits`: why the rest of it waits for the next run."""

    now: datetime
    steps: tuple[_StepReport, ...]
    dry_run: bool = False
    closed_proposals: int = 0
    waits: str = ""

    @property
    def total(self) -> int:
        """Rows destroyed in all steps."""
        return sum(count for step in self.steps for count in step.destroyed.values())

    def __str__(self) -> str:
        counts = [f"{count} {name}" for step in self.steps for name, count in step.destroyed.items() if count]
        parts = [f"destroyed {', '.join(counts)}"] if counts else []
        if self.closed_proposals:
            parts.append(f"closed {format_count(self.closed_proposals, 'proposal')}")
        return "; ".join([*(parts or ["nothing had expired"]), *filter(None, [self.waits])])


@dataclass(frozen=True)
class _RetentionPass:
    """One call of enforce_retention(): the actor, the moment of the limits, the limits in days, and the progress callback."""

    actor: Actor
    now: datetime
    limits: Any  # settings.LOCI.maintenance
    is_trial: bool
    report: Progress

    def before(self, days: float) -> datetime:
        return self.now - timedelta(days=days)


def enforce_retention(
    actor: Actor,
    *,
    now: datetime | None = None,
    dry_run: bool = False,
    report: Progress = ignore_progress,
) -> RetentionReport:
    """Destroy expired data: changes of old runs, forgotten memories, recalls, index changes, log rows.

    First it closes the proposals that have expired or are stale.

    Works in short transactions; if the process is killed, the next call continues, and a repeated call finds nothing. A
    dry run does the same on a copy of the store. `report` receives (step, done, total). `now`: a moment that the caller
    vouches for; None: the clock's, which is not trusted for more than _MAX_STEP after the last run.

    Raises:
        NotPermitted: the actor does not administer all groups.
        Conflict: the audit log is broken within the rows to drop; the steps before it are done.
    """
    require_admin_of_all(actor, "destroy expired data")
    if dry_run:
        return replace(run_on_copy(lambda: _enforce(actor, now, report, is_trial=True)), dry_run=True)
    return _enforce(actor, now, report)


def _enforce(
    actor: Actor, now: datetime | None, report: Progress, *, is_trial: bool = False
) -> RetentionReport:
    clock = now or timezone.now()
    trusted = clock if now is not None else min(clock, last_run(clock) + _MAX_STEP)
    this_pass = _RetentionPass(actor, trusted, settings.LOCI.maintenance, is_trial, report)
    begin_purge(connection)  # from now on the database overwrites deleted data in its file
    closed = close_overdue(actor, now=trusted)
    steps = []
    for step in STEPS:
        began = time.perf_counter()
        done = step(this_pass)
        done.seconds = round(time.perf_counter() - began, 3)
        done.longest_batch_s = round(done.longest_batch_s, 4)
        steps.append(done)
    IndexState.objects.update_or_create(name=_LAST_RUN, defaults={"value": clock.isoformat()})
    if any(step.destroyed for step in steps):
        # A caller's transaction holds the pages until it ends.
        transaction.on_commit(lambda: end_purge(connection))
    waits = f"what became due after {trusted:%Y-%m-%d %H:%M} waits for the next run: the clock says {clock:%Y-%m-%d %H:%M}"
    return RetentionReport(
        trusted, tuple(steps), closed_proposals=closed, waits=waits if trusted < clock else ""
    )


def last_run(clock: datetime) -> datetime:
    """The moment of the last run by the clock of then; before the first one, of the newest row in the audit log."""
    mark = IndexState.objects.filter(name=_LAST_RUN).first()
    if mark is not None:
        return datetime.fromisoformat(mark.value)
    return AuditEntry.objects.order_by("-key").values_list("at", flat=True).first() or clock


def _expire_run_changes(this_pass: _RetentionPass) -> _StepReport:
    """Destroy what is kept of changes that are too old to be taken back; runs and their counts stay."""
    step = _StepReport("runs")
    before = this_pass.before(this_pass.limits.runs_days)
    old = RowChange.objects.filter(change__lt=new_change(before.timestamp()))
    _destroy_rows(this_pass, step, "row changes", old)
    ended = Coalesce("finished_at", "started_at")
    runs = Run.objects.annotate(ended=ended).filter(status__in=ENDED, ended__lt=before)
    for run in runs.exclude(cursor__has_key=EXPIRED).order_by("key"):
        run.cursor = {**run.cursor, EXPIRED: this_pass.now.isoformat()}
        run.save(update_fields=["cursor"])
    return step


def _expire_memories(this_pass: _RetentionPass) -> _StepReport:
    """Purge expired forgotten memories with every copy of their texts; those that are still needed are held."""
    step = _StepReport("memories")
    gone_at = Coalesce("state_changed_at", "retired_at", "updated_at")
    rows = Memory.objects.annotate(gone_at=gone_at).filter(
        state=State.FORGOTTEN, gone_at__lt=this_pass.before(this_pass.limits.retention_days)
    )
    keys = list(rows.order_by("key").values_list("key", flat=True))
    done = 0
    for some in batches(keys, BATCH_MEMORIES):
        for memories in batches(releasable(some, step), _MEMORIES_AT_ONCE):
            _purge(this_pass, memories, step)
        done += len(some)
        this_pass.report("memories", done, len(keys))
    return step


def _purge(this_pass: _RetentionPass, memories: Sequence[Memory], step: _StepReport) -> None:
    began = time.perf_counter()
    reason = f"past its retention of {this_pass.limits.retention_days} days"
    done = purge_ended(this_pass.actor, memories, reason=reason)
    counts = {
        "memories": done.memories,
        "pieces": done.pieces,
        "links": done.links,
        "log payloads": done.log_payloads,
    }
    counts |= {"recalls": done.recall_logs} | done.cleared
    step.add({name: count for name, count in counts.items() if count}, took_s=time.perf_counter() - began)
    if done.spared:
        why = "another memory that counts is part of it"
        step.held[why] = step.held.get(why, 0) + len(done.spared)


def releasable(keys: Sequence[int], step: _StepReport) -> Iterator[Memory]:
    """The forgotten memories of these keys that nothing needs; the others are counted in `step.held`, by reason."""
    memories = list(Memory.objects.filter(key__in=keys).select_related("group", "thread").order_by("key"))
    roots = {memory.root_key for memory in memories}
    chain = Memory.objects.filter(Q(key__in=roots) | Q(root__in=roots))
    held_roots = {
        "another version is live or retracted": _roots(chain.filter(state__in=_KEEPING)),
        "a live memory was derived from it": _sources_of_live(roots),
        "a run that can be undone forgot it": _roots_forgotten_by_runs(chain),
    }
    for memory in memories:
        reason = next((why for why, held in held_roots.items() if memory.root_key in held), None)
        if reason is None:
            yield memory
        else:
            step.held[reason] = step.held.get(reason, 0) + 1


def _roots(rows: QuerySet[Memory]) -> set[int]:
    return {root or key for key, root in rows.values_list("key", "root")}


def _sources_of_live(roots: Iterable[int]) -> set[int]:
    """Those of the roots that a live memory was derived from or has as evidence."""
    targets = dict[int, set[int]]()
    links = Link.objects.filter(kind__in=[LinkKind.DERIVED, LinkKind.EVIDENCE], target__in=roots)
    for source, target in links.values_list("source", "target"):
        targets.setdefault(source, set()).add(target)
    live = _roots(Memory.objects.filter(Q(key__in=targets) | Q(root__in=targets), state=State.LIVE))
    return {target for source in live for target in targets.get(source, ())}


def _roots_forgotten_by_runs(chain: QuerySet[Memory]) -> set[int]:
    """Roots of the versions that a run forgot, where what it changed is still kept for undoing it."""
    rows = {row.key: row for row in chain}
    kept = RowChange.objects.filter(kept=Memory._meta.db_table, row__in=rows, undone_by=None)
    forgot = kept.filter(vals__state__1=State.FORGOTTEN)
    by_runs = AuditEntry.objects.filter(
        change__in=forgot.values("change"), run__in=Run.objects.values("id")
    ).values("change")
    found = forgot.filter(change__in=by_runs).values_list("row", flat=True)
    return {rows[row].root_key for row in found}


def _expire_recalls(this_pass: _RetentionPass) -> _StepReport:
    """Delete the log of old recalls; where it has partitions, whole months at once, and make the coming ones."""
    step, table = _StepReport("recalls"), RecallLog._meta.db_table
    before = this_pass.before(this_pass.limits.recall_log_days)
    if not this_pass.is_trial and is_parted(
        table
    ):  # dropping a month locks the log for as long as a trial lasts
        make_months(table, "at", this_pass.now)
        for month in old_months(table, before):
            began = time.perf_counter()
            if rows := drop_month(table, month):
                step.add({"recalls": rows}, took_s=time.perf_counter() - began)
    return _destroy_rows(this_pass, step, "recalls", RecallLog.objects.filter(at__lt=before))


def _expire_index_changes(this_pass: _RetentionPass) -> _StepReport:
    """Delete index changes that every follower has read: older than a day and not among the newest."""
    step = _StepReport("index changes")
    newest = IndexChange.objects.aggregate(seq=Max("seq"))["seq"] or 0
    mark = IndexState.objects.filter(name=_CHANGES_SEEN).first()
    seq, _, at = (mark.value if mark else "").partition(" ")
    is_old = bool(at) and datetime.fromisoformat(at) <= this_pass.now - _CHANGES_KEPT_FOR
    if is_old:
        rows = IndexChange.objects.filter(seq__lte=min(int(seq), newest - CHANGES_KEPT))
        _destroy_rows(this_pass, step, "index changes", rows)
    if is_old or mark is None:
        # The rows have no timestamp: a mark made today tells tomorrow which of them are a day old.
        IndexState.objects.update_or_create(
            name=_CHANGES_SEEN, defaults={"value": f"{newest} {this_pass.now.isoformat()}"}
        )
    return step


def has_changes(run: Run) -> bool:
    """True if something is kept of what the run changed."""
    return RowChange.objects.filter(change__in=changes_of_run(run.id)).exists()


def _expire_log(this_pass: _RetentionPass) -> _StepReport:
    """Drop old rows of the audit log, up to the start of the first run that can still be undone."""
    step = _StepReport("audit log")
    if this_pass.limits.log_days == 0:
        return step
    undoable = Run.objects.exclude(status=RunStatus.UNDONE).exclude(cursor__has_key=EXPIRED)
    first = next((run.started_at for run in undoable.order_by("started_at") if has_changes(run)), None)
    before = min(filter(None, (this_pass.before(this_pass.limits.log_days), first)))
    began = time.perf_counter()
    done = 0

    def add_batch(rows: int) -> None:
        nonlocal began, done
        done += rows
        step.add({"log rows": rows}, took_s=time.perf_counter() - began)
        this_pass.report("audit log", done, done)
        began = time.perf_counter()

    drop_log(this_pass.actor, before=before, on_rows=add_batch)
    return step


def _destroy_rows(
    this_pass: _RetentionPass, step: _StepReport, name: str, rows: QuerySet[Any]
) -> _StepReport:
    """Delete the rows, one transaction per batch; no other row may refer to them."""
    total, done = rows.count(), 0
    while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH_ROWS]):
        began = time.perf_counter()
        deleted = rows.model._base_manager.filter(pk__in=keys).delete()[0]
        step.add({name: deleted}, took_s=time.perf_counter() - began)
        done += len(keys)
        this_pass.report(step.step, done, total)
    return step


# Runs first: memories that only they could restore are then releasable.
STEPS: tuple[Callable[[_RetentionPass], _StepReport], ...] = (
    _expire_run_changes,
    _expire_memories,
    _expire_recalls,
    _expire_index_changes,
    _expire_log,
)
