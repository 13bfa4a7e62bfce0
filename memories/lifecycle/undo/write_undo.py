"""How each kind of write is undone: one function per operation, inside the transaction of undo_write().

Each chooses the rows of the write and checks that nobody built on them and that no policy or person stands against it;
`reversals.py` takes the rows back.
"""

from collections.abc import Callable
from typing import Final
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext

from access.actor import CURATE, WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict
from access.models import AuditEntry
from memories.lifecycle.propose import log_proposal
from memories.lifecycle.regroup.moving import undo_moves
from memories.lifecycle.restore import restore_version
from memories.lifecycle.retract import retract
from memories.lifecycle.target import change_fields, find_version
from memories.lifecycle.undo.relations_and_checkpoints import undo_checkpoint, undo_relation
from memories.lifecycle.undo.reversals import (
    REVERSALS,
    Lines,
    RowUndo,
    changed_since,
    reverse_fields,
    reverse_supersede,
)
from memories.lifecycle.undo.write import (
    REASON,
    UNDO,
    PastWrite,
    hidden_values,
    refuse_changed,
    refuse_held,
    refuse_used,
)
from memories.models import Memory, Proposal, ProposalStatus
from memories.queries.versions import head_of
from memories.store.derived import find_reach, withdraw_derived
from memories.store.policy import Change
from memories.types import State, Trust


def row_undo(actor: Actor, row: AuditEntry, memory: Memory) -> RowUndo:
    """A row of a write, to be undone."""
    return RowUndo(actor, row, memory, REASON, field=UNDO)


def reverse(actor: Actor, row: AuditEntry, memory: Memory) -> Lines:
    """Take back what a row did to its memory."""
    return REVERSALS[Operation(row.operation)](row_undo(actor, row, memory))


def find_memory_of(actor: Actor, row: AuditEntry, *, right: str = WRITE) -> Memory:
    """The memory of a row, exactly that version; the actor needs the right in its group."""
    return find_version(actor, row.memory_id or "", right=right)


def undo_store(actor: Actor, write: PastWrite) -> Lines:
    """Hide the memory as if it had never been stored; what it superseded is current again."""
    new = find_memory_of(actor, write.main)
    superseded = [row for row in write.of(Operation.SUPERSEDE) if row.payload.get("by") == str(new.id)]
    if new.state != State.LIVE or head_of(new).key != new.key:
        raise changed_since(new, field=UNDO)
    olds = [find_memory_of(actor, row) for row in superseded]
    refuse_changed(actor, write, new)
    refuse_used(new, besides=[old.key for old in olds])
    if not olds:
        refuse_held(actor, Change.FORGET, new)
        return hide_stored(actor, new)
    lines: Lines = ()
    for old, row in zip(olds, superseded, strict=True):
        refuse_held(actor, Change.RESTORE_VERSION, new)
        if old.state != State.SUPERSEDED or old.superseded_by_id != new.key:
            raise changed_since(old, field=UNDO)
        if old.root_key == new.root_key:  # the next version of its chain
            lines += restore_version(actor, old, reason=REASON, dry_run=False).consequences
        else:
            lines += revive(actor, row, old)  # first: hiding a plan would revive it too
            lines += hide_stored(actor, new)
    return lines


def hide_stored(actor: Actor, new: Memory) -> Lines:
    """Forget a memory that should not have been stored; its text may be stored again."""
    if new.state != State.LIVE:
        return ()
    reach = find_reach(new, [new])
    done = change_fields(
        actor, new, Operation.FORGET, hidden_values(), (gettext("{id} is hidden, as if it had not been stored").format(id=new.id),),
        reason=REASON, dry_run=False, follow_up=lambda: withdraw_derived(actor, reach),
    )  # fmt: skip
    return done.consequences


def revive(actor: Actor, row: AuditEntry, old: Memory) -> Lines:
    """Make a superseded memory of another chain live again."""
    return reverse_supersede(
        row_undo(actor, row, old), line=gettext("{id} is current again").format(id=old.id)
    )


def undo_supersede(actor: Actor, write: PastWrite) -> Lines:
    """Make the memory that was replaced by an existing one live again."""
    old = find_memory_of(actor, write.main)
    refuse_changed(actor, write, old)
    refuse_held(actor, Change.RESTORE_VERSION, old)
    return revive(actor, write.main, old)


def undo_reinforce(actor: Actor, write: PastWrite) -> Lines:
    """Take back the confidence that a restatement added, hide its wording, and revive what it superseded."""
    lines: Lines = ()
    for row in write.of(Operation.TRUST):  # a candidate that counted again
        undo = row_undo(actor, row, find_memory_of(actor, row))
        lines += reverse_fields(undo, ("trust",), gettext("it is a candidate again"))
    for row in write.of(Operation.SUPERSEDE):
        if row.payload.get("by") is None:  # what the write retired or moved by the way
            continue
        old = find_memory_of(actor, row)
        refuse_changed(actor, write, old)
        refuse_held(actor, Change.RESTORE_VERSION, old)
        lines += revive(actor, row, old)
    for row in write.of(Operation.MERGE):
        wording = find_memory_of(actor, row)
        if wording.state == State.MERGED:
            change_fields(actor, wording, Operation.FORGET, hidden_values(), (), reason=REASON, dry_run=False)
            lines += (gettext("the wording {id} is hidden").format(id=wording.id),)
    for row in write.of(Operation.REINFORCE):
        lines += reverse(actor, row, find_memory_of(actor, row))
    return lines


def undo_edit(actor: Actor, write: PastWrite) -> Lines:
    """Write the former text as the newest version, or set fields back that were changed in place."""
    memory, payload = find_memory_of(actor, write.main), write.payload
    if "before" in payload:
        refuse_changed(actor, write, memory)
        refuse_held(actor, Change.RESTORE_VERSION, memory)
    else:  # others may have changed other fields
        refuse_held(actor, Change.EXPIRE if "expires_at" in payload["changes"] else Change.LABEL, memory)
    return reverse(actor, write.main, memory)


def undo_unheld(actor: Actor, write: PastWrite) -> Lines:
    """Undo a forget or a decision about trust; no policy holds the way back."""
    memory = find_memory_of(actor, write.main)
    refuse_changed(actor, write, memory)
    return reverse(actor, write.main, memory)


def undo_dispute(actor: Actor, write: PastWrite) -> Lines:
    """Take a dispute back that nobody has decided about; what others said of the memory since stays."""
    return reverse(actor, write.main, find_memory_of(actor, write.main))


def undo_retract(actor: Actor, write: PastWrite) -> Lines:
    """Make a retracted memory current again, lift its tombstone, and hide a successor that waits for a curator."""
    memory = find_memory_of(actor, write.main)
    refuse_changed(actor, write, memory)
    refuse_held(actor, Change.RESTORE_VERSION, memory)
    lines = reverse(actor, write.main, memory)
    for row in write.of(Operation.STORE):
        waiting = find_memory_of(actor, row)
        if waiting.state == State.LIVE and waiting.trust == Trust.CANDIDATE:
            lines += hide_stored(actor, waiting)
    return lines


def undo_restore(actor: Actor, write: PastWrite) -> Lines:
    """Hide, withdraw or replace again what a restore brought back."""
    memory, payload = find_memory_of(actor, write.main), write.payload
    if memory.state != State.LIVE:
        raise changed_since(memory, field=UNDO)
    refuse_changed(actor, write, memory)
    edits = write.of(Operation.EDIT)
    if "version" in payload and edits:
        refuse_held(actor, Change.RESTORE_VERSION, memory)
        former = find_version(actor, edits[-1].payload["before"]["id"], right=WRITE)
        return restore_version(actor, former, reason=REASON, dry_run=False).consequences
    former_state, _ = payload.get("changes", {}).get("state", ["", ""])
    if former_state == State.FORGOTTEN:
        refuse_held(actor, Change.FORGET, memory)
        return hide_stored(actor, memory)
    if former_state == State.RETRACTED:
        refuse_held(actor, Change.RETRACT, memory)
        return retract(actor, memory.id, reason=REASON).consequences
    raise Conflict(
        "This restore cannot be undone.", hint="Nothing was changed. Use a verb instead.", field=UNDO
    )


def undo_pin(actor: Actor, write: PastWrite) -> Lines:
    """Set or remove the pin again."""
    memory = find_memory_of(actor, write.main, right=CURATE)
    refuse_held(actor, Change.UNPIN if write.operation == Operation.PIN else Change.PIN, memory)
    return reverse(actor, write.main, memory)


def undo_merge(actor: Actor, write: PastWrite) -> Lines:
    """Separate two memories that a person merged."""
    for row in write.of(Operation.MERGE):
        memory = find_memory_of(actor, row, right=CURATE)
        if memory.state == State.MERGED:
            refuse_changed(actor, write, memory)
            return reverse(actor, row, memory)
    raise changed_since(memory, field=UNDO)


def undo_move(actor: Actor, write: PastWrite) -> Lines:
    """Move memories back to the group that they came from, to their places in threads."""
    return undo_moves(actor, write.of(Operation.MOVE), reason=REASON, field=UNDO)


def undo_proposal(actor: Actor, write: PastWrite) -> Lines:
    """Withdraw a proposal that nobody has decided."""
    id_ = UUID(write.payload["proposal"])
    proposal = Proposal.objects.select_related("group", "memory").filter(id=id_).first()
    waiting = Proposal.objects.filter(id=id_, status=ProposalStatus.WAITING)
    closed = {"status": ProposalStatus.REJECTED, "closed_at": timezone.now(), "closed_by": actor.name}
    if proposal is None or waiting.update(**closed) != 1:
        raise Conflict("Somebody has decided about this proposal.", hint="Nothing was changed.", field=UNDO)
    log_proposal(actor, proposal, "withdrawn", reason=REASON)
    return (gettext("the proposal is withdrawn"),)


WRITE_UNDO: Final[dict[Operation, Callable[[Actor, PastWrite], Lines]]] = {
    Operation.STORE: undo_store,
    Operation.REINFORCE: undo_reinforce,
    Operation.SUPERSEDE: undo_supersede,
    Operation.EDIT: undo_edit,
    Operation.FORGET: undo_unheld,
    Operation.RETRACT: undo_retract,
    Operation.RESTORE: undo_restore,
    Operation.DISPUTE: undo_dispute,
    Operation.TRUST: undo_unheld,
    Operation.PIN: undo_pin,
    Operation.UNPIN: undo_pin,
    Operation.MERGE: undo_merge,
    Operation.MOVE: undo_move,
    Operation.PROPOSE: undo_proposal,
    Operation.RELATE: undo_relation,
    Operation.CHECKPOINT: undo_checkpoint,
}
