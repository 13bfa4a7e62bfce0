"""Undo of a run: each field that it changed gets its old value back, unless somebody changed it since."""

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils import timezone

from access import audit
from access.actor import CURATE, READ, Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from maintenance.cycle.edited_versions import edited_versions, with_edited_versions
from maintenance.cycle.recorder import model_for_table, unpack_batch, values_from_json
from maintenance.dry_run import run_on_copy
from maintenance.models import Run, RunChange, RunStatus
from memories.models import Link, LinkStatus, Memory, Piece
from memories.queries.snapshot import as_json
from memories.store.search_columns import refresh_around
from memories.store.withdrawn.marks import find_withdrawn
from memories.types import State
from storage.bulk.update import write_columns

CHANGES_AT_ONCE = 50  # per transaction; one ends at the first batch change, which covers many rows
ENDED = (RunStatus.DONE, RunStatus.STOPPED, RunStatus.FAILED)
# Somebody decided since that the row no longer counts, and may have replaced it.
DECIDED = (State.RETRACTED, State.SUPERSEDED, State.MERGED)


@dataclass(frozen=True)
class SkippedRow:
    """A row that was left as it is, and why."""

    table: str
    row: int
    id: str
    why: str


@dataclass(frozen=True)
class UndoResult:
    """What undo_run() did or, as a dry run, would do.

    `restored` counts rows set back, `deleted` rows that the run had created; `kept` are the rows left as they are,
    `earlier` the later runs that were undone first, and `versions` the memories that edits made since of those that the
    run changed: they had its values and were set back as well.
    """

    run: UUID
    restored: int
    deleted: int
    kept: tuple[SkippedRow, ...]
    earlier: tuple[UUID, ...] = ()
    versions: tuple[UUID, ...] = ()
    dry_run: bool = False


def find_run(actor: Actor, id_: str | UUID) -> Run:
    """The visible run of this id, or the only one whose id begins or ends with it.

    Raises:
        NotFound: there is none. InvalidInput: there are several. NotPermitted: the actor may not read.
    """
    if not actor.may(READ):
        raise NotPermitted("You may not read here.", hint="Use a token with the scope 'read'.")
    rows = Run.objects.select_related("group")
    if not actor.all_groups:
        rows = rows.filter(group__in=list(actor.roles))
    part = str(id_).strip().lower().replace("-", "")
    matches = [run for run in rows if part and (run.id.hex.startswith(part) or run.id.hex.endswith(part))]
    if not matches:
        raise NotFound(
            f"No run with the id '{id_}' exists, or you may not see it.",
            hint="`loci runs` lists them.",
            field="id",
        )
    if len(matches) > 1:
        raise InvalidInput(
            f"{len(matches)} runs match the id '{id_}'.", hint="Use more characters of the id.", field="id"
        )
    return matches[0]


def undo_run(
    actor: Actor,
    id_: str | UUID,
    *,
    with_later: bool = False,
    force: bool = False,
) -> UndoResult:
    """Undo a run, last change first, in short transactions; an interrupted undo resumes.

    Rows that changed since are skipped and listed. With `force` the fields that the run changed are set back there
    too, unless the row was retracted, superseded or merged. A withdrawn text never comes back. If later runs changed
    the same rows, those must be undone first; `with_later` does that.

    Raises:
        Conflict: the run, or a later one to undo first, has not ended or is undone already; or later runs changed its
            rows.
        NotPermitted: the actor may not curate the groups of the run or of such a later one.
    """
    run = find_run(actor, id_)
    check_undoable(actor, run)
    later = find_later_runs(run)
    for other in later if with_later else ():
        check_undoable(actor, other)
    if later and not (with_later or force):
        names = ", ".join(str(other.id) for other in later)
        raise Conflict(
            f"Later runs changed the same memories: {names}.",
            hint="Undo them first, or repeat with --with-later, which undoes them too.",
        )
    results = [
        revert_changes(replace(actor, run=one.id), one, force=force)
        for one in ([*later, run] if with_later else [run])
    ]
    return UndoResult(
        run.id,
        restored=sum(result.restored for result in results),
        deleted=sum(result.deleted for result in results),
        kept=tuple(row for result in results for row in result.kept),
        earlier=tuple(result.run for result in results[:-1]),
        versions=tuple(dict.fromkeys(id_ for result in results for id_ in result.versions)),
    )


def preview_undo(
    actor: Actor, id_: str | UUID, *, with_later: bool = False, force: bool = False
) -> UndoResult:
    """What undo_run() would do, tried on a copy of the store; raises as it does."""
    check_undoable(actor, find_run(actor, id_))  # before the whole store is copied
    done = run_on_copy(lambda: undo_run(actor, id_, with_later=with_later, force=force))
    return replace(done, dry_run=True)


def check_undoable(actor: Actor, run: Run) -> None:
    """Raise NotPermitted or Conflict if the actor cannot undo the run."""
    allowed = actor.may(CURATE, run.group_id) if run.group_id else actor.all_groups and actor.may(CURATE)
    if not allowed:
        raise NotPermitted(
            "You may not undo this run.",
            hint="Needs the right to curate every group that the run covered.",
        )
    if run.status == RunStatus.UNDONE:
        raise Conflict("This run was already undone.", hint="Nothing was changed.")
    if run.status not in ENDED:
        raise Conflict("This run has not ended yet.", hint="Let it finish; `loci compact` resumes it.")
    if "expired" in run.cursor:
        raise Conflict(
            "The changes of this run have been deleted.",
            hint="The setting maintenance.runs_days says how long runs can be undone.",
        )


def find_later_runs(run: Run) -> list[Run]:
    """Later runs, newest first, that changed the same rows and are not undone.

    Rows of a run found here count too, so the result is what has to be undone before `run`; and so do the versions
    that edits made of its memories since.
    """
    own, found = read_changed_rows(run), list[Run]()
    memories = Memory._meta.db_table
    own[memories] = with_edited_versions(own[memories], run)
    later = Run.objects.filter(key__gt=run.key, undone_at=None).exclude(status=RunStatus.UNDONE)
    for other in later.select_related("group").order_by("key"):
        touched = read_changed_rows(other)
        if any(own[table] & rows for table, rows in touched.items()):
            found.insert(0, other)
            for table, rows in touched.items():
                own[table] |= rows
    return found


def read_changed_rows(run: Run) -> dict[str, set[int]]:
    """Keys of the rows that the run changed, by table; a defaultdict, without undone changes."""
    rows: dict[str, set[int]] = defaultdict(set)
    for change in run.changes.filter(undone_at=None).only("table", "row", "is_batch", "after").iterator():
        rows[change.table].update((change.after or {})["pk"] if change.is_batch else [change.row])
    return rows


def revert_changes(actor: Actor, run: Run, *, force: bool) -> UndoResult:
    """Revert all changes of one run that still stand, and mark it as undone; `actor` carries the run's id.

    Raises:
        Conflict: another process undid the run at the same time; each change was reverted once.
    """
    reverter = RunReverter(run, force=force)
    while revert_next(actor, run, reverter):
        pass
    with transaction.atomic():
        standing = Run.objects.filter(pk=run.pk).exclude(status=RunStatus.UNDONE)
        if not standing.update(status=RunStatus.UNDONE, undone_at=timezone.now(), undone_by=actor.name):
            raise Conflict("This run was undone by somebody else at the same time.", hint="It is undone.")
        audit.append(
            actor,
            Operation.RUN,
            group=run.group.id if run.group else None,
            subject=f"{run.kind} undone",
            payload={
                "restored": reverter.restored,
                "deleted": reverter.deleted,
                "kept": len(reverter.skipped),
            },
        )
    return UndoResult(
        run.id,
        reverter.restored,
        reverter.deleted,
        tuple(reverter.skipped),
        versions=tuple(reverter.versions),
    )


def revert_next(actor: Actor, run: Run, reverter: "RunReverter") -> bool:
    """Revert the next changes in one transaction, which reads them too; False if there are none left."""
    with transaction.atomic():
        changes = read_next_changes(run)
        for change in changes:
            reverter.revert(change)
        refresh_around(reverter.take_moved())
        RunChange.objects.filter(pk__in=[c.pk for c in changes]).update(undone_at=timezone.now())
        audit.append_many(actor, reverter.take_events())
    return bool(changes)


def read_next_changes(run: Run) -> list[RunChange]:
    """The last changes that still stand, as many as one transaction reverts."""
    standing = run.changes.filter(undone_at=None).order_by("-key")
    kinds = list(standing.values_list("pk", "is_batch")[:CHANGES_AT_ONCE])
    end = next((at for at, (_, is_batch) in enumerate(kinds, start=1) if is_batch), len(kinds))
    return list(standing.filter(pk__in=[key for key, _ in kinds[:end]]))


class RunReverter:
    """Reverts a run's changes one by one and counts them."""

    def __init__(self, run: Run, *, force: bool) -> None:
        self.run = run
        self.force = force
        self.restored = self.deleted = 0
        self.skipped: list[SkippedRow] = []
        self.versions: list[UUID] = []
        self._moved: list[int] = []
        self._events: list[audit.AuditEvent] = []
        self._staying: dict[int, bool] = {}

    def take_moved(self) -> list[Memory]:
        """The memories restored since the last call; the contexts of their neighbours must be refreshed."""
        keys, self._moved = self._moved, []
        return list(Memory.objects.filter(key__in=keys))

    def take_events(self) -> list[audit.AuditEvent]:
        """The audit events queued since the last call."""
        events, self._events = self._events, []
        return events

    def revert(self, change: RunChange) -> None:
        """Revert one change, or record why it was skipped."""
        model = model_for_table(change.table)
        if change.before is None:
            self._delete(model, change)
        elif change.is_batch:
            self._restore_batch(model, change)
        else:
            self._restore(model, change.row, change.before, change.after or {})

    def _restore(self, model: type[Model], row: int, before: dict[str, Any], after: dict[str, Any]) -> None:
        rows = model._base_manager.filter(pk=row)
        if model is Memory and before.get("state") == State.LIVE and (why := why_not_live(row)):
            self._skip(model, row, why)
            return
        expected = {} if self.force else values_from_json(model, after)
        try:
            with transaction.atomic():
                is_restored = rows.filter(**expected).update(**values_from_json(model, before)) == 1
        except IntegrityError:
            self._skip(model, row, "the same text is live again")
            return
        if is_restored:
            self.restored += 1
            if model is Memory:
                self._note_restored(row, before, after)
        else:
            self._skip(model, row, "changed since" if rows.exists() else "deleted since")

    def _restore_batch(self, model: type[Model], change: RunChange) -> None:
        before, after = unpack_batch(change.before or {}), unpack_batch(change.after or {})
        names = list(after[0][1])
        found = model._base_manager.in_bulk([key for key, _ in after])
        fitting: dict[int, dict[str, Any]] = {}
        for (key, old), (_, new) in zip(before, after, strict=True):
            row = found.get(key)
            if row is None or not (self.force or all(as_json(getattr(row, n)) == new[n] for n in names)):
                self._skip(model, key, "deleted since" if row is None else "changed since")
            else:
                fitting[key] = values_from_json(model, old)
            if isinstance(row, Memory):
                self._restore_versions(row, old, new)
        columns = {name: [values[name] for values in fitting.values()] for name in names}
        self.restored += write_columns(model, list(fitting), columns)

    def _restore_versions(self, memory: Memory, old: dict[str, Any], new: dict[str, Any]) -> None:
        """Set back the versions that edits made of the memory since, as far as they still have the run's values."""
        for version in edited_versions(memory, self.run):
            values = {name: as_json(getattr(version, name)) for name in new}
            if values == old:
                continue
            if not self.force and values != new:
                self._skip(Memory, version.pk, "changed since")
                continue
            write_columns(Memory, [version.pk], {n: [v] for n, v in values_from_json(Memory, old).items()})
            self.versions.append(version.id)
            fields = {name: [values[name], old[name]] for name in new}
            self._events.append(make_undo_event(version, fields))

    def _delete(self, model: type[Model], change: RunChange) -> None:
        row = model._base_manager.filter(pk=change.row).first()
        if row is None:
            self._skip(model, change.row, "deleted since")
        elif has_changed(row, change):
            self._skip(model, change.row, "changed since")
        elif referrer := find_referrer(row):
            self._skip(model, change.row, f"still referenced ({referrer})")
        elif isinstance(row, Link) and self._stays(row.source_id):
            self._skip(model, change.row, "its memory stays")
        else:
            if isinstance(row, Memory):
                self._events.append(make_undo_event(row, {"state": [row.state, None]}))
            row.delete()
            self.deleted += 1

    def _stays(self, key: int) -> bool:
        """True if a memory that the run created cannot be deleted; its links to its sources then stay too."""
        if key not in self._staying:
            table = Memory._meta.db_table
            created = self.run.changes.filter(table=table, row=key, before__isnull=True).first()
            row = Memory.objects.filter(pk=key).first()
            self._staying[key] = (
                created is not None
                and row is not None
                and (has_changed(row, created) or bool(find_referrer(row, besides=self.run)))
            )
        return self._staying[key]

    def _note_restored(self, key: int, before: dict[str, Any], after: dict[str, Any]) -> None:
        self._moved.append(key)
        memory = Memory.objects.select_related("group").get(pk=key)
        fields = {
            name: [after.get(name), value] for name, value in before.items() if name != "superseded_by_id"
        }
        self._events.append(make_undo_event(memory, fields))

    def _skip(self, model: type[Model], row: int, why: str) -> None:
        found = model._base_manager.filter(pk=row).first()
        self.skipped.append(SkippedRow(model._meta.db_table, row, str(getattr(found, "id", "")), why))


def make_undo_event(memory: Memory, fields: dict[str, Any]) -> audit.AuditEvent:
    """The audit event of an undone change; `fields` is `{name: [before, after]}`."""
    return audit.AuditEvent(
        Operation.RUN, memory.id, memory.group.id, "undone", {"changes": fields, "action": "undo"}
    )


def why_not_live(key: int) -> str:
    """Why a memory may not become live again, whatever the run did to it; empty if it may."""
    memory = Memory.objects.select_related("group").filter(pk=key).first()
    if memory is None:
        return ""
    if memory.state in DECIDED:
        return f"{memory.state} since"
    return "its text was withdrawn" if find_withdrawn(memory.group, memory.scope, memory.content) else ""


def has_changed(row: Model, created: RunChange) -> bool:
    """True if a row no longer holds the values recorded when the run created it."""
    return any(as_json(getattr(row, name)) != value for name, value in (created.after or {}).items())


def find_referrer(row: Model, *, besides: Run | None = None) -> str:
    """The verbose name of a model with rows that refer to this one; empty if there are none. Pieces do not count.

    `besides` leaves out the links that this run created and nobody decided about.
    """
    for relation in row._meta.related_objects:
        if relation.related_model is Piece:
            continue
        rows = relation.related_model._base_manager.filter(**{relation.field.name: row.pk})
        if besides is not None and relation.related_model is Link:
            rows = rows.exclude(run=besides.id, status=LinkStatus.OPEN)
        if rows.exists():
            return str(relation.related_model._meta.verbose_name)
    return ""
