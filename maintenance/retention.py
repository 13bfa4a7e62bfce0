"""Retention: what is past its time is destroyed. A job of its own, since nothing brings back what it takes."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max, Min, Model, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from access.actor import ADMIN, Actor
from access.audit.retention import drop_log
from access.errors import NotPermitted
from maintenance.models import Run, RunChange, RunStatus
from memories.lifecycle.purge import purge_forgotten
from memories.models import IndexChange, IndexState, Link, LinkKind, Memory, RecallLog
from memories.search.schema import begin_purge, end_purge
from memories.types import State

ROWS_AT_ONCE = 500  # small rows in one transaction: a few ms of write lock
MEMORIES_AT_ONCE = 200  # looked at together; purge_forgotten() writes fewer in a transaction
# Other processes follow index_change; one that was away for longer finds the list cut and reads everything anew.
CHANGES_KEPT = 10_000
CHANGES_KEPT_FOR = timedelta(hours=24)
CHANGES_SEEN = "changes_seen"  # in index_state: the newest change of a day ago, as "seq moment"
# A version in one of these states keeps its whole chain: it counts, or it keeps a withdrawn text from coming back.
KEEPING = (State.LIVE, State.RETRACTED)
ENDED = (RunStatus.DONE, RunStatus.FAILED, RunStatus.STOPPED, RunStatus.UNDONE)
EXPIRED = "expired"  # in a run's cursor: when what it changed was destroyed; undoing looks for it

Report = Callable[[str, int, int], object]


@dataclass
class StepReport:
    """What one step destroyed, by kind; `held` is what is past its time and kept, by why."""

    step: str
    destroyed: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    batches: int = 0
    seconds: float = 0.0
    longest_batch_s: float = 0.0

    def add(self, counts: Mapping[str, int], *, took_s: float) -> None:
        """Count one batch."""
        for name, count in counts.items():
            self.destroyed[name] = self.destroyed.get(name, 0) + count
        self.batches += 1
        self.longest_batch_s = max(self.longest_batch_s, took_s)


@dataclass(frozen=True)
class RetentionReport:
    """What retention destroyed, or as a dry run would destroy, step by step."""

    now: datetime
    steps: tuple[StepReport, ...]
    dry_run: bool = False

    @property
    def total(self) -> int:
        """Rows destroyed in all steps."""
        return sum(count for step in self.steps for count in step.destroyed.values())

    def __str__(self) -> str:
        counts = [f"{count} {name}" for step in self.steps for name, count in step.destroyed.items() if count]
        return f"destroyed {', '.join(counts)}" if counts else "nothing was past its time"


@dataclass(frozen=True)
class RetentionPass:
    """One call: who acts, the moment taken for now, whether it only looks, and who hears of the progress."""

    actor: Actor
    now: datetime
    limits: Any  # settings.LOCI.maintenance
    dry_run: bool
    report: Report

    def before(self, days: float) -> datetime:
        """Give the moment before which things are older than so many days."""
        return self.now - timedelta(days=days)


def enforce_retention(
    actor: Actor,
    *,
    now: datetime | None = None,
    dry_run: bool = False,
    report: Report = lambda step, done, total: None,
) -> RetentionReport:
    """Destroy what is past its time: changes of old runs, forgotten memories, recalls, index changes, log rows.

    Everything goes in short transactions; killed midway, the next call goes on, and a second one finds nothing. A dry
    run counts and writes nothing. `report` hears (step, done, total).

    Raises:
        NotPermitted: the actor may not administrate everything.
        Conflict: the audit log is broken where it would be dropped; what comes before that step is done.
    """
    if not (actor.all_groups and actor.may(ADMIN)):
        raise NotPermitted("Only an admin of everything may destroy what is past its retention.")
    one = RetentionPass(actor, now or timezone.now(), settings.LOCI.maintenance, dry_run, report)
    if not dry_run:
        begin_purge(connection)  # what is deleted from now on is overwritten in the file
    steps = tuple(_timed(step, one) for step in STEPS)
    if not dry_run and any(step.destroyed for step in steps):
        # A caller's transaction holds the pages until its end.
        transaction.on_commit(lambda: end_purge(connection))
    return RetentionReport(one.now, steps, dry_run)


def _timed(step: Callable[[RetentionPass], StepReport], one: RetentionPass) -> StepReport:
    began = time.perf_counter()
    done = step(one)
    done.seconds = round(time.perf_counter() - began, 3)
    done.longest_batch_s = round(done.longest_batch_s, 4)
    return done


def _run_changes(one: RetentionPass) -> StepReport:
    """Destroy what runs keep to be undone, once that is no longer possible; the run and its counts stay."""
    said = StepReport("runs")
    old = Coalesce("finished_at", "started_at")
    runs = Run.objects.annotate(ended=old).filter(
        status__in=ENDED, ended__lt=one.before(one.limits.runs_days)
    )
    keys = list(runs.exclude(cursor__has_key=EXPIRED).order_by("key").values_list("key", flat=True))
    if one.dry_run:
        return _found(said, "run changes", RunChange.objects.filter(run__in=keys).count())
    for number, key in enumerate(keys):
        for batch in _batches(RunChange.objects.filter(run=key), ROWS_AT_ONCE):
            _write(said, partial(_delete, "run changes", RunChange, batch))
        run = Run.objects.get(pk=key)
        run.cursor = {**run.cursor, EXPIRED: one.now.isoformat()}
        run.save(update_fields=["cursor"])
        one.report("runs", number + 1, len(keys))
    return said


def _memories(one: RetentionPass) -> StepReport:
    """Destroy forgotten memories with all that holds their texts. What is still needed is held."""
    said = StepReport("memories")
    gone_at = Coalesce("state_changed_at", "retired_at", "updated_at")
    rows = Memory.objects.annotate(gone_at=gone_at).filter(
        state=State.FORGOTTEN, gone_at__lt=one.before(one.limits.retention_days)
    )
    keys = list(rows.order_by("key").values_list("key", flat=True))
    reason = f"past its retention of {one.limits.retention_days} days"
    for at in range(0, len(keys), MEMORIES_AT_ONCE):
        free = list(_free(keys[at : at + MEMORIES_AT_ONCE], said))
        if free and one.dry_run:
            said.add({"memories": _chain_rows(free)}, took_s=0)
        elif free:
            _write(said, partial(_purge, one, free, reason))
        one.report("memories", min(at + MEMORIES_AT_ONCE, len(keys)), len(keys))
    return said


def _purge(one: RetentionPass, memories: Sequence[Memory], reason: str) -> dict[str, int]:
    counts = Counter[str]()
    for done in purge_forgotten(one.actor, memories, reason=reason):
        counts["memories"] += done.memories
        counts["pieces"] += done.pieces
        counts["links"] += done.links
        counts["log payloads"] += done.log_payloads
        counts["recalls"] += done.recall_logs
        counts.update(done.cleared)
    return dict(+counts)


def _free(keys: Sequence[int], said: StepReport) -> Iterator[Memory]:
    """Give those of the forgotten memories that nothing needs any more; count the others as held, by why."""
    memories = list(Memory.objects.filter(key__in=keys).select_related("group", "thread").order_by("key"))
    roots = {memory.root_key for memory in memories}
    chain = Memory.objects.filter(Q(key__in=roots) | Q(root__in=roots))
    why = {
        "another version counts or was retracted": _roots(chain.filter(state__in=KEEPING)),
        "a memory that counts was made from it": _sources_of_live(roots),
        "it stands for compacted memories": _roots(chain.filter(supersedes__state=State.COMPACTED)),
        "a run that can be undone forgot it": _undoable(chain),
    }
    for memory in memories:
        reason = next((said for said, held in why.items() if memory.root_key in held), None)
        if reason is None:
            yield memory
        else:
            said.held[reason] = said.held.get(reason, 0) + 1


def _roots(rows: QuerySet[Memory]) -> set[int]:
    return {root or key for key, root in rows.values_list("key", "root")}


def _sources_of_live(roots: Iterable[int]) -> set[int]:
    """Give the roots from which a live memory was made, or on which it rests."""
    ties = dict[int, set[int]]()
    links = Link.objects.filter(kind__in=[LinkKind.DERIVED, LinkKind.EVIDENCE], target__in=roots)
    for source, target in links.values_list("source", "target"):
        ties.setdefault(source, set()).add(target)
    live = _roots(Memory.objects.filter(Q(key__in=ties) | Q(root__in=ties), state=State.LIVE))
    return {target for source in live for target in ties.get(source, ())}


def _undoable(chain: QuerySet[Memory]) -> set[int]:
    rows = {key: root or key for key, root in chain.values_list("key", "root")}
    changes = RunChange.objects.filter(
        table=Memory._meta.db_table,
        row__in=rows,
        is_batch=False,
        undone_at=None,
        after__state=State.FORGOTTEN,
    )
    return {rows[row] for row in changes.values_list("row", flat=True)}


def _chain_rows(memories: Sequence[Memory]) -> int:
    roots = {memory.root_key for memory in memories}
    return Memory.objects.filter(Q(key__in=roots) | Q(root__in=roots)).count()


def _recalls(one: RetentionPass) -> StepReport:
    """Destroy what was logged of old recalls."""
    said = StepReport("recalls")
    rows = RecallLog.objects.filter(at__lt=one.before(one.limits.recall_log_days))
    return _destroy_rows(one, said, "recalls", rows)


def _index_changes(one: RetentionPass) -> StepReport:
    """Destroy changes of pieces that every follower has read: neither among the newest nor of the last day."""
    said = StepReport("index changes")
    newest = IndexChange.objects.aggregate(seq=Max("seq"))["seq"] or 0
    mark = IndexState.objects.filter(name=CHANGES_SEEN).first()
    seq, _, at = (mark.value if mark else "").partition(" ")
    is_old = bool(at) and datetime.fromisoformat(at) <= one.now - CHANGES_KEPT_FOR
    if is_old:
        rows = IndexChange.objects.filter(seq__lte=min(int(seq), newest - CHANGES_KEPT))
        _destroy_rows(one, said, "index changes", rows)
    if (is_old or mark is None) and not one.dry_run:
        # The rows themselves bear no time, so a note of today says tomorrow which are a day old.
        IndexState.objects.update_or_create(
            name=CHANGES_SEEN, defaults={"value": f"{newest} {one.now.isoformat()}"}
        )
    return said


def _log(one: RetentionPass) -> StepReport:
    """Drop old rows of the audit log; those that a run which can be undone wrote stay, and what came after them."""
    said = StepReport("audit log")
    if one.limits.log_days == 0:
        return said
    undoable = Run.objects.exclude(status=RunStatus.UNDONE).exclude(cursor__has_key=EXPIRED)
    first = undoable.filter(dry_run=False, changes__isnull=False).aggregate(at=Min("started_at"))["at"]
    before = min(filter(None, (one.before(one.limits.log_days), first)))
    began = time.perf_counter()
    done = 0

    def hear(rows: int) -> None:
        nonlocal began, done
        done += rows
        said.add({"log rows": rows}, took_s=time.perf_counter() - began)
        one.report("audit log", done, done)
        began = time.perf_counter()

    found = drop_log(one.actor, before=before, dry_run=one.dry_run, on_rows=hear)
    return _found(said, "log rows", found.rows) if one.dry_run else said


def _destroy_rows(one: RetentionPass, said: StepReport, name: str, rows: QuerySet[Any]) -> StepReport:
    total = rows.count()
    if one.dry_run:
        return _found(said, name, total)
    done = 0
    for batch in _batches(rows, ROWS_AT_ONCE):
        _write(said, partial(_delete, name, rows.model, batch))
        done += len(batch)
        one.report(said.step, done, total)
    return said


def _found(said: StepReport, name: str, count: int) -> StepReport:
    if count:
        said.destroyed[name] = count
    return said


def _batches(rows: QuerySet[Any], size: int) -> Iterator[list[int]]:
    """Give the keys of what is there, some at a time, until nothing is left; the caller deletes each batch."""
    while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:size]):
        yield keys


def _delete(name: str, model: type[Model], keys: Sequence[int]) -> dict[str, int]:
    """Delete some rows that nothing points to; one transaction."""
    return {name: model._base_manager.filter(pk__in=keys).delete()[0]}


def _write(said: StepReport, batch: Callable[[], Mapping[str, int]]) -> None:
    began = time.perf_counter()
    counts = batch()
    said.add(counts, took_s=time.perf_counter() - began)


# Runs first: what they can no longer bring back is then free to go.
STEPS: tuple[Callable[[RetentionPass], StepReport], ...] = (
    _run_changes,
    _memories,
    _recalls,
    _index_changes,
    _log,
)
