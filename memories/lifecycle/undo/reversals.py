"""How each kind of write is undone: one function per operation, inside the transaction of undo_write()."""

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from access.actor import CURATE, WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict
from access.models import AuditEntry
from memories.draft.registry import values_from_json
from memories.lifecycle.edit import IN_PLACE
from memories.lifecycle.move_references import move_back, moves_from_json, moves_to_json
from memories.lifecycle.propose import log_proposal
from memories.lifecycle.restore import restore, restore_row, restore_version, undo_retraction
from memories.lifecycle.retract import retract
from memories.lifecycle.target import change_fields, check_no_live_copy, check_not_barred, find_version
from memories.lifecycle.undo.others import undo_checkpoint, undo_relation
from memories.lifecycle.undo.write import (
    REASON,
    PastWrite,
    changed_since,
    hidden_values,
    payload_of,
    refuse_changed,
    refuse_held,
    refuse_used,
)
from memories.models import Memory, Proposal, ProposalStatus
from memories.queries.snapshot import as_json
from memories.queries.versions import head_of
from memories.store.derived import DerivedChanges, find_reach, withdraw_derived
from memories.store.policy import Change
from memories.types import State, Trust

Lines = tuple[str, ...]
END_FIELDS: Final = ("valid_to", "valid_to_known_at")


def undo_store(actor: Actor, write: PastWrite) -> Lines:
    """Hide the memory as if it had never been stored; what it superseded is current again."""
    new = find_version(actor, write.main.memory_id or "", right=WRITE)
    superseded = [row for row in write.of(Operation.SUPERSEDE) if payload_of(row).get("by") == str(new.id)]
    if new.state != State.LIVE or head_of(new).key != new.key:
        raise changed_since(new)
    olds = [find_version(actor, row.memory_id or "", right=WRITE) for row in superseded]
    refuse_changed(actor, write, new)
    refuse_used(new, besides=[old.key for old in olds])
    if not olds:
        refuse_held(actor, Change.FORGET, new)
        return hide_stored(actor, new)
    lines: Lines = ()
    for old, row in zip(olds, superseded, strict=True):
        refuse_held(actor, Change.RESTORE_VERSION, new)
        if old.state != State.SUPERSEDED or old.superseded_by_id != new.key:
            raise changed_since(old)
        if old.root_key == new.root_key:  # the next version of its chain
            lines += restore_version(actor, old, reason=REASON, dry_run=False).consequences
        else:
            lines += (*hide_stored(actor, new), *revive(actor, old, payload_of(row)))
    return lines


def hide_stored(actor: Actor, new: Memory) -> Lines:
    """Forget a memory that should not have been stored; its text may be stored again."""
    if new.state != State.LIVE:
        return ()
    reach = find_reach(new, [new])
    done = change_fields(
        actor, new, Operation.FORGET, hidden_values(), (f"{new.id} is hidden, as if it had not been stored",),
        reason=REASON, dry_run=False, follow_up=lambda: withdraw_derived(actor, reach),
    )  # fmt: skip
    return done.consequences


def revive(actor: Actor, old: Memory, payload: dict[str, Any], *, moved: Any = None) -> Lines:
    """Make a superseded memory of another chain live again, with the end of its valid time as before."""
    check_not_barred(actor, old)
    check_no_live_copy(old)
    changes = payload.get("changes") or {
        name: [payload["before"].get(name), payload["after"].get(name)] for name in END_FIELDS
    }
    return make_current(actor, old, changes, moved=moved, line=f"{old.id} is current again", reason=REASON)


def make_current(
    actor: Actor, old: Memory, changes: dict[str, Any], *, moved: Any, line: str, reason: str, **details: Any
) -> Lines:
    """Make a superseded memory live again, with the end of its valid time as before and the references that moved.

    `changes` are what superseding it changed, `moved` the references; `details` go into the log.
    """
    new: dict[str, Any] = {"state": State.LIVE, "superseded_by": None}
    for name in END_FIELDS:
        before, after = changes.get(name, [None, None])
        if name in changes and as_json(getattr(old, name)) == after:
            new |= values_from_json({name: before})

    def follow_up() -> DerivedChanges:
        stayed = move_back(moves_from_json(moved)) if moved else []
        lines = tuple(f"{move.table} {move.key} has changed since and stays" for move in stayed)
        return DerivedChanges(0, lines, {**details, "stayed": moves_to_json(stayed)})

    done = change_fields(
        actor, old, Operation.RESTORE, new, (line,), reason=reason, dry_run=False, follow_up=follow_up
    )
    return done.consequences


def undo_supersede(actor: Actor, write: PastWrite) -> Lines:
    """Make the memory that was replaced by an existing one live again."""
    old, payload = find_version(actor, write.main.memory_id or "", right=WRITE), write.payload
    by = old.superseded_by
    if old.state != State.SUPERSEDED or by is None or str(by.id) != payload.get("by"):
        raise changed_since(old)
    refuse_changed(actor, write, old)
    refuse_held(actor, Change.RESTORE_VERSION, old)
    return revive(actor, old, payload, moved=payload.get("moved"))


def undo_reinforce(actor: Actor, write: PastWrite) -> Lines:
    """Take back the confidence that a restatement added, hide its wording, and revive what it superseded."""
    lines: Lines = ()
    for row in write.of(Operation.TRUST):  # a candidate that counted again
        lines += restore_values(actor, row, Operation.TRUST, ("trust",), "it is a candidate again")
    for row in write.of(Operation.SUPERSEDE):
        old, by = find_version(actor, row.memory_id or "", right=WRITE), payload_of(row).get("by")
        if by is None:
            continue
        if old.state != State.SUPERSEDED or old.superseded_by is None or str(old.superseded_by.id) != by:
            raise changed_since(old)
        refuse_changed(actor, write, old)
        refuse_held(actor, Change.RESTORE_VERSION, old)
        lines += revive(actor, old, payload_of(row))
    for row in write.of(Operation.MERGE):
        wording = find_version(actor, row.memory_id or "", right=WRITE)
        if wording.state == State.MERGED:
            change_fields(actor, wording, Operation.FORGET, hidden_values(), (), reason=REASON, dry_run=False)
            lines += (f"the wording {wording.id} is hidden",)
    for row in write.of(Operation.REINFORCE):
        lines += restore_values(
            actor, row, Operation.REINFORCE, ("confidence", "valid_from"), "its confidence is as before"
        )
    return lines


def restore_values(
    actor: Actor, row: AuditEntry, operation: Operation, names: tuple[str, ...], line: str
) -> Lines:
    """Set the fields that a row changed back; a field that has changed since is a Conflict."""
    memory = find_version(actor, row.memory_id or "", right=WRITE)
    changed = {
        name: pair
        for name, pair in payload_of(row)["changes"].items()
        if name in names and pair[0] != pair[1]
    }
    if memory.state != State.LIVE or any(
        as_json(getattr(memory, name)) != after for name, (_, after) in changed.items()
    ):
        raise changed_since(memory)
    if not changed:
        return (line,)
    new = values_from_json({name: before for name, (before, _) in changed.items()})
    return change_fields(actor, memory, operation, new, (line,), reason=REASON, dry_run=False).consequences


def undo_edit(actor: Actor, write: PastWrite) -> Lines:
    """Write the former text as the newest version, or set fields back that were changed in place."""
    memory, payload = find_version(actor, write.main.memory_id or "", right=WRITE), write.payload
    if memory.state != State.LIVE:
        raise changed_since(memory)
    if "before" not in payload:
        change = Change.EXPIRE if "expires_at" in payload["changes"] else Change.LABEL
        refuse_held(actor, change, memory)
        return restore_values(actor, write.main, Operation.EDIT, IN_PLACE, "its fields are as before")
    refuse_changed(actor, write, memory)
    refuse_held(actor, Change.RESTORE_VERSION, memory)
    former = find_version(actor, payload["before"]["id"], right=WRITE)
    return restore_version(actor, former, reason=REASON, dry_run=False).consequences


def undo_forget(actor: Actor, write: PastWrite) -> Lines:
    """Make a forgotten memory live again; a source of a summary stays forgotten."""
    memory = find_version(actor, write.main.memory_id or "", right=WRITE)
    former, _ = write.payload.get("changes", {}).get("state", ["", ""])
    if memory.state != State.FORGOTTEN or former != State.LIVE:
        raise changed_since(memory)
    refuse_changed(actor, write, memory)
    return restore_row(actor, memory, None, reason=REASON, dry_run=False).consequences


def undo_retract(actor: Actor, write: PastWrite) -> Lines:
    """Make a retracted memory current again, lift its tombstone, and hide a successor that waits for a curator."""
    memory = find_version(actor, write.main.memory_id or "", right=WRITE)
    former, _ = write.payload.get("changes", {}).get("state", ["", ""])
    if memory.state != State.RETRACTED or former not in (State.LIVE, State.SUPERSEDED):
        raise changed_since(memory)
    refuse_changed(actor, write, memory)
    refuse_held(actor, Change.RESTORE_VERSION, memory)
    lines = undo_retraction(actor, memory, reason=REASON, dry_run=False).consequences
    for row in write.of(Operation.STORE):
        waiting = find_version(actor, row.memory_id or "", right=WRITE)
        if waiting.state == State.LIVE and waiting.trust == Trust.CANDIDATE:
            lines += hide_stored(actor, waiting)
    return lines


def undo_restore(actor: Actor, write: PastWrite) -> Lines:
    """Hide, withdraw or replace again what a restore brought back."""
    memory, payload = find_version(actor, write.main.memory_id or "", right=WRITE), write.payload
    if memory.state != State.LIVE:
        raise changed_since(memory)
    refuse_changed(actor, write, memory)
    edits = write.of(Operation.EDIT)
    if "version" in payload and edits:
        refuse_held(actor, Change.RESTORE_VERSION, memory)
        former = find_version(actor, payload_of(edits[-1])["before"]["id"], right=WRITE)
        return restore_version(actor, former, reason=REASON, dry_run=False).consequences
    former_state, _ = payload.get("changes", {}).get("state", ["", ""])
    if former_state == State.FORGOTTEN:
        refuse_held(actor, Change.FORGET, memory)
        return hide_stored(actor, memory)
    if former_state == State.RETRACTED:
        refuse_held(actor, Change.RETRACT, memory)
        return retract(actor, memory.id, reason=REASON).consequences
    raise Conflict(
        "This restore cannot be undone.", hint="Nothing was changed. Use a verb instead.", field="undo"
    )


def undo_trust(actor: Actor, write: PastWrite) -> Lines:
    """Set the former trust again, of a dispute or of a candidate that counted once it was stored again."""
    memory = find_version(actor, write.main.memory_id or "", right=WRITE)
    before, after = write.payload.get("changes", {}).get("trust", [None, None])
    if before is None or memory.trust != after or memory.state != State.LIVE:
        raise changed_since(memory)
    refuse_changed(actor, write, memory)
    done = change_fields(
        actor,
        memory,
        Operation.TRUST,
        {"trust": before},
        (f"it is {before} again",),
        reason=REASON,
        dry_run=False,
    )
    return done.consequences


def undo_pin(actor: Actor, write: PastWrite) -> Lines:
    """Set or remove the pin again."""
    memory = find_version(actor, write.main.memory_id or "", right=CURATE)
    is_pin = write.operation == Operation.PIN
    if memory.pinned != is_pin or memory.state != State.LIVE:
        raise changed_since(memory)
    refuse_held(actor, Change.UNPIN if is_pin else Change.PIN, memory)
    operation, line = (
        (Operation.UNPIN, "the pin is gone") if is_pin else (Operation.PIN, "it is pinned again")
    )
    new = {"pinned": not is_pin}
    return change_fields(actor, memory, operation, new, (line,), reason=REASON, dry_run=False).consequences


def undo_merge(actor: Actor, write: PastWrite) -> Lines:
    """Separate two memories that a person merged."""
    for row in write.of(Operation.MERGE):
        memory = find_version(actor, row.memory_id or "", right=CURATE)
        if memory.state == State.MERGED:
            refuse_changed(actor, write, memory)
            return restore(actor, memory.id, reason=REASON).consequences
    raise changed_since(memory)


def undo_proposal(actor: Actor, write: PastWrite) -> Lines:
    """Withdraw a proposal that nobody has decided."""
    id_ = UUID(write.payload["proposal"])
    proposal = Proposal.objects.select_related("group", "memory").filter(id=id_).first()
    waiting = Proposal.objects.filter(id=id_, status=ProposalStatus.WAITING)
    closed = {"status": ProposalStatus.REJECTED, "closed_at": timezone.now(), "closed_by": actor.name}
    if proposal is None or waiting.update(**closed) != 1:
        raise Conflict("Somebody has decided about this proposal.", hint="Nothing was changed.", field="undo")
    log_proposal(actor, proposal, "withdrawn", reason=REASON)
    return ("the proposal is withdrawn",)


REVERSALS: Final[dict[Operation, Callable[[Actor, PastWrite], Lines]]] = {
    Operation.STORE: undo_store,
    Operation.REINFORCE: undo_reinforce,
    Operation.SUPERSEDE: undo_supersede,
    Operation.EDIT: undo_edit,
    Operation.FORGET: undo_forget,
    Operation.RETRACT: undo_retract,
    Operation.RESTORE: undo_restore,
    Operation.DISPUTE: undo_trust,
    Operation.TRUST: undo_trust,
    Operation.PIN: undo_pin,
    Operation.UNPIN: undo_pin,
    Operation.MERGE: undo_merge,
    Operation.PROPOSE: undo_proposal,
    Operation.RELATE: undo_relation,
    Operation.CHECKPOINT: undo_checkpoint,
}
