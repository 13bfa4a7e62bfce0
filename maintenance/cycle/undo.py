"""Undo of a run: each field that it changed gets its old value back, unless it was changed since."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from access import audit
from access.actor import CURATE, Actor
from access.answers import Answer, ShownAs
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.models import RowChange
from access.visibility import check_may_read
from maintenance.cycle.recorder import changes_of_run
from maintenance.dry_run import run_on_copy
from maintenance.models import Run, RunStatus
from memories.lifecycle.undo.large import in_parts, reverse_batch
from memories.lifecycle.undo.reverse import Reversed, StayingRow, Terms, reverse
from memories.lifecycle.undo.rows import rows_of
from memories.models import Memory
from memories.types import State
from storage.changes import changing, new_change

ENDED = (RunStatus.DONE, RunStatus.STOPPED, RunStatus.FAILED)


@dataclass(frozen=True)
class UndoResult(Answer):
    """What undo_run() did or, as a dry run, would do.

    `restored` counts rows set back, `deleted` rows that the run had created; `kept` are the rows left as they are,
    `earlier` the later runs that were undone first, and `versions` the memories that edits made since of those that the
    run changed: they had its values and were set back as well.
    """

    run: UUID
    restored: int
    deleted: int
    kept: tuple[StayingRow, ...]
    earlier: tuple[UUID, ...] = ()
    versions: Annotated[
        tuple[UUID, ...],
        ShownAs(about="Versions written since by edits of the run's memories: set back as well."),
    ] = ()
    dry_run: bool = False


def visible_runs(actor: Actor) -> QuerySet[Run]:
    """All runs for a superuser, else those of the actor's groups. Raises NotPermitted if the actor may not read."""
    check_may_read(actor)
    rows = Run.objects.select_related("group")
    return rows if actor.all_groups else rows.filter(group__in=list(actor.roles))


def find_run(actor: Actor, id_: str | UUID) -> Run:
    """The visible run of this id, or the only one whose id begins or ends with it.

    Raises:
        NotFound: there is none. InvalidInput: there are several. NotPermitted: the actor may not read.
    """
    rows = visible_runs(actor)
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
    _check_undoable(actor, run)
    later = find_later_runs(run)
    for other in later if with_later else ():
        _check_undoable(actor, other)
    if later and not (with_later or force):
        names = ", ".join(str(other.id) for other in later)
        raise Conflict(
            f"Later runs changed the same memories: {names}.",
            hint="Undo them first, or repeat with --with-later, which undoes them too.",
        )
    runs, done = ([*later, run] if with_later else [run]), Reversed()
    for one in runs:
        done.add(take_back(replace(actor, run=one.id), one, force=force))
    versions = tuple(dict.fromkeys(done.carried))
    earlier = tuple(one.id for one in runs[:-1])
    return UndoResult(run.id, done.restored, done.hidden, tuple(done.kept), earlier, versions)


def preview_undo(
    actor: Actor, id_: str | UUID, *, with_later: bool = False, force: bool = False
) -> UndoResult:
    """What undo_run() would do, tried on a copy of the store; raises as it does."""
    _check_undoable(actor, find_run(actor, id_))  # before the whole store is copied
    done = run_on_copy(lambda: undo_run(actor, id_, with_later=with_later, force=force))
    return replace(done, dry_run=True)


def _check_undoable(actor: Actor, run: Run) -> None:
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
    own, found = _read_changed_rows(run), list[Run]()
    memories = Memory._meta.db_table
    own[memories] = _with_edited_versions(own[memories], run)
    later = Run.objects.filter(key__gt=run.key, undone_at=None).exclude(status=RunStatus.UNDONE)
    for other in later.select_related("group").order_by("key"):
        touched = _read_changed_rows(other)
        if any(own[table] & rows for table, rows in touched.items()):
            found.insert(0, other)
            for table, rows in touched.items():
                own[table] |= rows
    return found


def _with_edited_versions(keys: Collection[int], run: Run) -> set[int]:
    """Keys of memories, and of the versions that edits made of them since the run started."""
    found = set(keys)
    replaced = Memory.objects.filter(
        state=State.SUPERSEDED, superseded_by__isnull=False, retired_at__gte=run.started_at
    )
    for old, new in replaced.order_by("key").values_list("key", "superseded_by"):
        if old in found and new is not None:
            found.add(new)
    return found


def standing_changes(run: Run) -> QuerySet[RowChange]:
    """What the run did to rows and was not taken back."""
    return RowChange.objects.filter(change__in=changes_of_run(run.id), undone_by=None)


def _read_changed_rows(run: Run) -> dict[str, set[int]]:
    """Keys of the rows that the run changed, by table; a defaultdict, without undone changes."""
    rows: dict[str, set[int]] = defaultdict(set)
    for change in standing_changes(run).iterator():
        rows[change.kept].update((change.vals or {})["pk"] if change.op == "b" else [change.row])
    return rows


def take_back(actor: Actor, run: Run, *, force: bool) -> Reversed:
    """Reverse all changes of one run that still stand, and mark it as undone; `actor` carries the run's id.

    Raises:
        Conflict: another process undid the run at the same time; each change was taken back once.
    """
    changes = frozenset(changes_of_run(run.id))
    terms = Terms(f"run {run.id} was undone", partial=True, force=force, right=CURATE, besides=changes)
    done = Reversed()
    with changing(new_change()):
        # Before a summary is hidden, nothing is behind it any more that its withdrawal would reach.
        for batch in standing_changes(run).filter(op="b").order_by("-key"):
            done.add(reverse_batch(batch, terms))
        for part in in_parts(rows_of(changes)):
            done.add(reverse(actor, part, terms))
        with transaction.atomic():
            standing = Run.objects.filter(pk=run.pk).exclude(status=RunStatus.UNDONE)
            if not standing.update(status=RunStatus.UNDONE, undone_at=timezone.now(), undone_by=actor.name):
                raise Conflict("This run was undone by another actor at the same time.", hint="It is undone.")
            payload = {"restored": done.restored, "deleted": done.hidden, "kept": len(done.kept)}
            audit.append(
                actor,
                Operation.RUN,
                group=run.group.id if run.group else None,
                subject=f"{run.kind} undone",
                payload=payload,
            )
    return done
