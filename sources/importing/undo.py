"""Undo of a whole import, by the run id of its report: what it wrote is hidden, unless it was built on since."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.db import transaction

from access import audit
from access.actor import WRITE, Actor
from access.answers import Answer
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound
from access.models import AuditEntry
from memories.lifecycle.undo.large import in_parts
from memories.lifecycle.undo.reverse import Reversed, Terms, reverse
from memories.lifecycle.undo.rows import changes_of, rows_of, rows_of_log
from storage.changes import changing, new_change
from storage.ids import new_id

_UNDO_SUBJECT: Final = "undo:"  # of the log row of an undone import, before its run's id
REASON: Final = "the import was undone"
# Of 0.3.0, whose changes are read from the log.
WRITES: Final = (Operation.STORE, Operation.REINFORCE, Operation.MERGE, Operation.SUPERSEDE, Operation.TRUST)


@dataclass(frozen=True)
class KeptWrite(Answer):
    """Something that an undo left as it is, and why."""

    id: str
    why: str


@dataclass(frozen=True)
class UndoneImport(Answer):
    """What an undo took back: rows that the import had made, rows that it had changed, and those that it left."""

    run: UUID
    hidden: int
    restored: int
    kept: tuple[KeptWrite, ...]
    dry_run: bool = False

    def as_text(self) -> str:
        """One or more lines."""
        kept = "".join(f"\n  {each.id} stays: {each.why}" for each in self.kept[:20])
        done = "Nothing was changed. It would be undone" if self.dry_run else "Undone"
        return f"{done}: {self.hidden} hidden, {self.restored} restored; {len(self.kept)} stay.{kept}"


def undo_import(
    actor: Actor,
    run: str | UUID,
    *,
    on_progress: Callable[[int], object] | None = None,
    dry_run: bool = False,
) -> UndoneImport:
    """Take back everything that an import wrote, the last first, in short transactions; a repeated call does the rest.

    Memories are hidden as if they had never been stored, and the same file can be imported again. What was changed,
    used or decided about since stays, and is listed. A dry run does the same in one transaction and rolls it back.

    Raises:
        InvalidInput, NotFound: the id names no import. Conflict: it is undone already.
    """
    try:
        id_ = run if isinstance(run, UUID) else UUID(run.strip())
    except ValueError:
        raise InvalidInput(f"'{str(run)[:40]}' is not an id of an import.", field="run") from None
    entries = AuditEntry.objects.filter(origin=audit.OWN, run=id_).select_related("payload_row")
    if not entries.filter(operation=Operation.IMPORT).exists():
        raise NotFound("No import has this id.", hint="The report of an import names it.", field="run")
    if is_undone(str(id_)):
        raise Conflict("This import is undone already.", field="run")
    changes = changes_of(entries)
    rows = rows_of(changes) or rows_of_log(list(entries.filter(operation__in=WRITES).order_by("key")))
    undoing, done = replace(actor, run=new_id()), Reversed()
    terms = Terms(REASON, partial=True, right=WRITE, besides=changes)
    with changing(new_change()), transaction.atomic() if dry_run else nullcontext():
        taken = 0
        for part in in_parts(rows):
            done.add(reverse(undoing, part, terms))
            taken += len(part)
            if on_progress is not None:
                on_progress(taken)
        with transaction.atomic():
            payload = {"hidden": done.hidden, "restored": done.restored, "kept": len(done.kept)}
            audit.append(undoing, Operation.IMPORT, subject=f"{_UNDO_SUBJECT}{id_}", payload=payload)
        if dry_run:
            transaction.set_rollback(True)
    kept = tuple(KeptWrite(each.id, each.why) for each in done.kept)
    return UndoneImport(id_, done.hidden, done.restored, kept, dry_run)


def is_undone(run: str) -> bool:
    """True if an import was undone."""
    rows = AuditEntry.objects.filter(origin=audit.OWN, operation=Operation.IMPORT)
    return bool(run) and rows.filter(subject=f"{_UNDO_SUBJECT}{run}").exists()
