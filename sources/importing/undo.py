"""Undo of a whole import, by the run id of its report: what it wrote is hidden, unless somebody built on it since."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from access import audit
from access.actor import WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, LociError, NotFound
from access.models import AuditEntry
from memories.lifecycle.target import change_fields, find_version
from memories.lifecycle.undo.relations_and_checkpoints import undo_relation
from memories.lifecycle.undo.reversals import changed_since
from memories.lifecycle.undo.write import (
    PastWrite,
    hidden_values,
    refuse_changed,
    refuse_held,
    refuse_used,
)
from memories.lifecycle.undo.write_undo import undo_proposal, undo_reinforce, undo_store
from memories.models import Memory, Proposal, ProposalStatus
from memories.queries.versions import head_of
from memories.review.proposals import find_proposal
from memories.store.derived import find_reach, withdraw_derived
from memories.store.policy import Change
from memories.types import State
from sources.importing.relations import UNDO_SUBJECT, is_undone
from storage.ids import new_id

REASON: Final = "the import was undone"
ROWS_AT_ONCE: Final = 200
WRITES_AT_ONCE: Final = 25
# Relations first, since they lead to entities; then what was confirmed or reworded; new memories last.
ORDER: Final = (Operation.PROPOSE, Operation.RELATE, Operation.REINFORCE, Operation.MERGE, Operation.STORE)


@dataclass(frozen=True)
class KeptWrite:
    """Something that an undo left as it is, and why."""

    id: str
    why: str


@dataclass
class UndoneImport:
    """What an undo took back: writes by operation, and those that it kept."""

    run: UUID
    undone: Counter[str] = field(default_factory=Counter)
    kept: list[KeptWrite] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """All of it as JSON values."""
        kept = [{"id": each.id, "why": each.why} for each in self.kept]
        return {"run": str(self.run), "undone": dict(self.undone), "kept": kept}

    def as_text(self) -> str:
        """One or more lines."""
        kept = "".join(f"\n  {each.id} stays: {each.why}" for each in self.kept[:20])
        return f"Undone: {self.undone.total()} writes; {len(self.kept)} stay.{kept}"


def undo_import(
    actor: Actor, run: str | UUID, *, on_progress: Callable[[int], object] | None = None
) -> UndoneImport:
    """Take back everything that an import wrote, the last first, in short transactions; a repeated call does the rest.

    Memories are hidden as if they had never been stored, and the same file can be imported again. What somebody changed,
    used or decided about since stays, and is listed.

    Raises:
        InvalidInput, NotFound: the id names no import. Conflict: it is undone already.
    """
    id_ = parse_run(run)
    imports = AuditEntry.objects.filter(origin=audit.OWN, operation=Operation.IMPORT, run=id_)
    if not imports.exists():
        raise NotFound("No import has this id.", hint="The report of an import names it.", field="run")
    if is_undone(str(id_)):
        raise Conflict("This import is undone already.", field="run")
    result = UndoneImport(id_)
    undoing = replace(actor, run=new_id())
    done = 0
    for operation in ORDER:
        for writes in in_parts(writes_of(id_, operation)):
            with transaction.atomic():
                for write in writes:
                    undo_one(undoing, write, result)
            done += len(writes)
            if on_progress is not None:
                on_progress(done)
    with transaction.atomic():
        payload = {"undone": dict(result.undone), "kept": len(result.kept)}
        audit.append(undoing, Operation.IMPORT, subject=f"{UNDO_SUBJECT}{id_}", payload=payload)
    return result


def parse_run(run: str | UUID) -> UUID:
    """The id of a run. Raises InvalidInput if it is none."""
    try:
        return run if isinstance(run, UUID) else UUID(run.strip())
    except ValueError:
        raise InvalidInput(f"'{str(run)[:40]}' is no id of an import.", field="run") from None


def writes_of(run: UUID, operation: Operation) -> Iterator[PastWrite]:
    """The writes of an import with this main operation, the last first, each with the rows that belong to it."""
    rows = AuditEntry.objects.filter(origin=audit.OWN, run=run).select_related("payload_row")
    beside: dict[str, list[AuditEntry]] = {}
    for row in rows.filter(operation__in=(Operation.SUPERSEDE, Operation.TRUST)):
        memory = row.payload.get("by") if row.operation == Operation.SUPERSEDE else row.memory_id
        beside.setdefault(str(memory), []).append(row)
    keys = list(rows.filter(operation=operation).order_by("-key").values_list("key", flat=True))
    for start in range(0, len(keys), ROWS_AT_ONCE):
        found = rows.in_bulk(keys[start : start + ROWS_AT_ONCE])
        for key in keys[start : start + ROWS_AT_ONCE]:
            row = found[key]
            yield PastWrite(
                tuple(sorted([*beside.get(str(row.memory_id), ()), row], key=lambda each: each.key)),
                operation,
            )


def in_parts(writes: Iterator[PastWrite]) -> Iterator[list[PastWrite]]:
    """The writes in lists of WRITES_AT_ONCE: a transaction of a quarter of a second."""
    while part := list(islice(writes, WRITES_AT_ONCE)):
        yield part


def undo_one(actor: Actor, write: PastWrite, result: UndoneImport) -> None:
    """Take one write back as a whole, or note why it stays."""
    memory = str(write.main.memory_id or write.main.subject)
    try:
        with transaction.atomic():
            if not all(hasattr(row, "payload_row") for row in write.rows):
                raise Conflict("its text was purged.")
            HOW_UNDONE[write.operation](actor, write)
    except LociError as error:
        result.kept.append(KeptWrite(memory, error.message))
    else:
        result.undone[write.operation] += 1


def undo_stored(actor: Actor, write: PastWrite) -> object:
    """Hide a memory as if it had never been stored, and free its source_ref for another import of the file."""
    if write.of(Operation.SUPERSEDE):
        return undo_store(actor, write)
    new = find_version(actor, write.main.memory_id or "", right=WRITE)
    if new.state != State.LIVE or head_of(new).key != new.key:
        raise changed_since(new)
    refuse_changed(actor, write, new)
    refuse_used(new)
    refuse_held(actor, Change.FORGET, new)
    return hide(actor, new)


def undo_proposed(actor: Actor, write: PastWrite) -> object:
    """Withdraw an instruction file. Nobody declined it, so another import may propose it again."""
    id_ = find_proposal(actor, write.payload["proposal"], right=WRITE).id
    lines = undo_proposal(actor, write)
    Proposal.objects.filter(id=id_).update(status=ProposalStatus.STALE)
    return lines


def undo_wording(actor: Actor, write: PastWrite) -> object:
    """Hide another wording that the import brought of a memory."""
    wording = find_version(actor, write.main.memory_id or "", right=WRITE)
    if wording.state != State.MERGED:
        raise changed_since(wording)
    return hide(actor, wording)


def hide(actor: Actor, memory: Memory) -> object:
    """Hide a memory, and what was made of it."""
    reach = find_reach(memory, [memory])
    return change_fields(
        actor, memory, Operation.FORGET, {**hidden_values(), "source_ref": ""}, (), reason=REASON, dry_run=False,
        follow_up=lambda: withdraw_derived(actor, reach),
    )  # fmt: skip


HOW_UNDONE: Final[dict[Operation, Callable[[Actor, PastWrite], object]]] = {
    Operation.PROPOSE: undo_proposed,
    Operation.RELATE: undo_relation,
    Operation.REINFORCE: undo_reinforce,
    Operation.MERGE: undo_wording,
    Operation.STORE: undo_stored,
}
