"""Taking a run back: every field that it changed gets its value from before, where nobody changed it since."""

from collections import defaultdict
from collections.abc import Sequence
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
from maintenance.cycle.recorder import from_json, model_of, unpacked
from maintenance.dry_run import tried
from maintenance.models import Run, RunChange, RunStatus
from memories.models import Link, LinkStatus, Memory, Piece
from memories.queries.snapshot import as_json
from memories.store.search_columns import refresh_around
from memories.store.tombstones import find_tombstone
from memories.types import State
from storage.bulk_update import write_columns

CHANGES_AT_ONCE = 50  # in one transaction, which ends with the first batch of decay: that is many rows
ENDED = (RunStatus.DONE, RunStatus.STOPPED, RunStatus.FAILED)
# Somebody decided since that the row counts no more, and may have put another in its place.
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
    """What undo_run() did or, as a dry run, would do: rows set back, rows deleted that the run had made, rows left."""

    run: UUID
    restored: int
    deleted: int
    kept: tuple[SkippedRow, ...]
    earlier: tuple[UUID, ...] = ()
    dry_run: bool = False


def find_run(actor: Actor, id_: str | UUID) -> Run:
    """Give the run of this id, or of the only one whose id begins or ends so, that the actor may see.

    Raises:
        NotFound: there is none. InvalidInput: there are several. NotPermitted: the actor may not read.
    """
    if not actor.may(READ):
        raise NotPermitted("You may not read here.", hint="Use a token with the scope 'read'.")
    rows = Run.objects.select_related("group")
    if not actor.all_groups:
        rows = rows.filter(group__in=list(actor.roles))
    said = str(id_).strip().lower().replace("-", "")
    named = [run for run in rows if said and (run.id.hex.startswith(said) or run.id.hex.endswith(said))]
    if not named:
        raise NotFound(
            "There is no run of that id that you may see.", hint="`loci runs` lists them.", field="id"
        )
    if len(named) > 1:
        raise InvalidInput(
            f"{len(named)} runs have '{id_}' in their id.", hint="Give more of it.", field="id"
        )
    return named[0]


def undo_run(
    actor: Actor,
    id_: str | UUID,
    *,
    with_later: bool = False,
    force: bool = False,
) -> UndoResult:
    """Take a run back, its last change first, in short transactions; one that was interrupted goes on.

    A row that was changed since is left and listed; with `force` the fields that the run changed are set back there
    too, unless it was retracted, superseded or merged. A withdrawn text never comes back. Rows that a later run changed
    as well want that run taken back first: `with_later` does it.

    Raises:
        Conflict: the run, or a later one that goes first, is at work; it is taken back already; later ones touched
            its rows.
        NotPermitted: the actor may not curate what it, or a later one that goes first, touched.
    """
    run = find_run(actor, id_)
    _check(actor, run)
    later = later_runs(run)
    for other in later if with_later else ():
        _check(actor, other)
    if later and not (with_later or force):
        names = ", ".join(str(other.id) for other in later)
        raise Conflict(
            f"Later runs changed the same memories: {names}.",
            hint="Take them back first, or repeat with --with-later, which does it.",
        )
    return replace(_undo_all(actor, [*later, run] if with_later else [run], force=force), run=run.id)


def preview_undo(
    actor: Actor, id_: str | UUID, *, with_later: bool = False, force: bool = False
) -> UndoResult:
    """Give what undo_run() would do, found out on a copy of the store.

    Raises:
        As undo_run() does.
    """
    _check(actor, find_run(actor, id_))  # before the whole store is copied for somebody who may not
    done = tried(lambda: undo_run(actor, id_, with_later=with_later, force=force))
    return replace(done, dry_run=True)


def _check(actor: Actor, run: Run) -> None:
    allowed = actor.may(CURATE, run.group_id) if run.group_id else actor.all_groups and actor.may(CURATE)
    if not allowed:
        raise NotPermitted(
            "You may not take this run back.",
            hint="It takes the right to curate every group that it went over.",
        )
    if run.status == RunStatus.UNDONE:
        raise Conflict("This run was taken back already.", hint="Nothing was done.")
    if run.status not in ENDED:
        raise Conflict(
            "This run is not at its end yet.", hint="Let it finish, `loci compact` goes on with it."
        )
    if "expired" in run.cursor:
        raise Conflict(
            "What this run changed is no longer kept.",
            hint="maintenance.runs_days says how long runs can be undone.",
        )


def later_runs(run: Run) -> list[Run]:
    """Give the later runs, newest first, that changed rows which this run or one of them changed, and still stand."""
    own, found = _touched(run), list[Run]()
    later = Run.objects.filter(key__gt=run.key, undone_at=None).exclude(status=RunStatus.UNDONE)
    for other in later.select_related("group").order_by("key"):
        touched = _touched(other)
        if any(own[table] & rows for table, rows in touched.items()):
            found.insert(0, other)
            for table, rows in touched.items():
                own[table] |= rows
    return found


def _touched(run: Run) -> dict[str, set[int]]:
    rows: dict[str, set[int]] = defaultdict(set)
    for change in run.changes.filter(undone_at=None).only("table", "row", "is_batch", "after").iterator():
        rows[change.table].update((change.after or {})["pk"] if change.is_batch else [change.row])
    return rows


def _undo_all(actor: Actor, runs: Sequence[Run], *, force: bool) -> UndoResult:
    restored = deleted = 0
    kept: list[SkippedRow] = []
    for run in runs:
        one = _undo_one(replace(actor, run=run.id), run, force=force)
        restored, deleted, kept = restored + one.restored, deleted + one.deleted, [*kept, *one.kept]
    return UndoResult(runs[-1].id, restored, deleted, tuple(kept), tuple(run.id for run in runs[:-1]))


def _undo_one(actor: Actor, run: Run, *, force: bool) -> UndoResult:
    tally = _Tally(run, force=force)
    while changes := _last_changes(run):
        with transaction.atomic():
            for change in changes:
                tally.take_back(change)
            refresh_around(tally.moved())
            RunChange.objects.filter(pk__in=[c.pk for c in changes]).update(undone_at=timezone.now())
            audit.append_many(actor, tally.events())
    with transaction.atomic():
        now = timezone.now()
        Run.objects.filter(pk=run.pk).update(status=RunStatus.UNDONE, undone_at=now, undone_by=actor.name)
        audit.append(
            actor,
            Operation.RUN,
            group=run.group.id if run.group else None,
            subject=f"{run.kind} undone",
            payload={"restored": tally.restored, "deleted": tally.deleted, "kept": len(tally.kept)},
        )
    return UndoResult(run.id, tally.restored, tally.deleted, tuple(tally.kept))


def _last_changes(run: Run) -> list[RunChange]:
    """Give the last changes that stand, as many as one transaction takes back."""
    standing = run.changes.filter(undone_at=None).order_by("-key")
    kinds = list(standing.values_list("pk", "is_batch")[:CHANGES_AT_ONCE])
    end = next((at for at, (_, is_batch) in enumerate(kinds, start=1) if is_batch), len(kinds))
    return list(standing.filter(pk__in=[key for key, _ in kinds[:end]]))


class _Tally:
    """Takes changes back one by one and keeps count."""

    def __init__(self, run: Run, *, force: bool) -> None:
        self.run = run
        self.force = force
        self.restored = self.deleted = 0
        self.kept: list[SkippedRow] = []
        self._moved: list[int] = []
        self._events: list[audit.AuditEvent] = []
        self._staying: dict[int, bool] = {}

    def moved(self) -> list[Memory]:
        """Give the memories whose standing changed since the last call; contexts beside them are to be refreshed."""
        keys, self._moved = self._moved, []
        return list(Memory.objects.filter(key__in=keys))

    def events(self) -> list[audit.AuditEvent]:
        """Give what the log is to say since the last call."""
        events, self._events = self._events, []
        return events

    def take_back(self, change: RunChange) -> None:
        """Set one change back."""
        model = model_of(change.table)
        if change.before is None:
            self._delete(model, change)
        elif change.is_batch:
            self._restore_batch(model, change)
        else:
            self._restore(model, change.row, change.before, change.after or {})

    def _restore(self, model: type[Model], row: int, before: dict[str, Any], after: dict[str, Any]) -> None:
        rows = model._base_manager.filter(pk=row)
        if model is Memory and before.get("state") == State.LIVE and (why := _why_not_live(row)):
            self._keep(model, row, why)
            return
        expected = {} if self.force else from_json(model, after)
        try:
            with transaction.atomic():
                is_restored = rows.filter(**expected).update(**from_json(model, before)) == 1
        except IntegrityError:
            self._keep(model, row, "the same text is live again")
            return
        if is_restored:
            self.restored += 1
            self._note(model, row, before, after)
        else:
            self._keep(model, row, "changed since" if rows.exists() else "gone")

    def _restore_batch(self, model: type[Model], change: RunChange) -> None:
        before, after = unpacked(change.before or {}), unpacked(change.after or {})
        names = list(after[0][1])
        found = model._base_manager.in_bulk([key for key, _ in after])
        fitting: dict[int, dict[str, Any]] = {}
        for (key, old), (_, new) in zip(before, after, strict=True):
            row = found.get(key)
            if row is None or not (self.force or all(as_json(getattr(row, n)) == new[n] for n in names)):
                self._keep(model, key, "gone" if row is None else "changed since")
            else:
                fitting[key] = from_json(model, old)
        columns = {name: [values[name] for values in fitting.values()] for name in names}
        self.restored += write_columns(model, list(fitting), columns)

    def _delete(self, model: type[Model], change: RunChange) -> None:
        row = model._base_manager.filter(pk=change.row).first()
        if row is None:
            self._keep(model, change.row, "gone")
        elif _has_changed(row, change):
            self._keep(model, change.row, "changed since")
        elif tie := _first_tie(row):
            self._keep(model, change.row, f"{tie} hangs on it")
        elif isinstance(row, Link) and self._stays(row.source_id):
            self._keep(model, change.row, "what it belongs to stays")
        else:
            if isinstance(row, Memory):
                self._events.append(_undo_event(row, {"state": [row.state, None]}))
            row.delete()
            self.deleted += 1

    def _stays(self, key: int) -> bool:
        """Say whether a memory that the run made has to be left: what leads from it to its sources is left too."""
        if key not in self._staying:
            table = Memory._meta.db_table
            made = self.run.changes.filter(table=table, row=key, before__isnull=True).first()
            row = Memory.objects.filter(pk=key).first()
            self._staying[key] = (
                made is not None
                and row is not None
                and (_has_changed(row, made) or bool(_first_tie(row, besides=self.run)))
            )
        return self._staying[key]

    def _note(self, model: type[Model], row: int, before: dict[str, Any], after: dict[str, Any]) -> None:
        if model is not Memory:
            return
        self._moved.append(row)
        memory = Memory.objects.select_related("group").get(pk=row)
        said = {
            name: [after.get(name), value] for name, value in before.items() if name != "superseded_by_id"
        }
        self._events.append(_undo_event(memory, said))

    def _keep(self, model: type[Model], row: int, why: str) -> None:
        found = model._base_manager.filter(pk=row).first()
        self.kept.append(SkippedRow(model._meta.db_table, row, str(getattr(found, "id", "")), why))


def _undo_event(memory: Memory, said: dict[str, Any]) -> audit.AuditEvent:
    return audit.AuditEvent(
        Operation.RUN, memory.id, memory.group.id, "undone", {"changes": said, "action": "undo"}
    )


def _why_not_live(key: int) -> str:
    """Say why a memory may not count again, whatever the run did to it; empty where it may."""
    memory = Memory.objects.select_related("group").filter(pk=key).first()
    if memory is None:
        return ""
    if memory.state in DECIDED:
        return f"{memory.state} since"
    return "its text was withdrawn" if find_tombstone(memory.group, memory.content) else ""


def _has_changed(row: Model, made: RunChange) -> bool:
    return any(as_json(getattr(row, name)) != value for name, value in (made.after or {}).items())


def _first_tie(row: Model, *, besides: Run | None = None) -> str:
    """Say what would go with a row or lose its hold; empty where nothing does. Its own pieces go with it.

    `besides` leaves out the links that this run made and nobody decided about.
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
