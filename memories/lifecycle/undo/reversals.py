"""How the effect of one audit row is taken back: one function per operation, shared by undo ids and by the Review.

Both choose the rows and check the right to undo them first: `write_undo.py` beside this, and `memories.review.undo`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext, gettext_noop, pgettext

from access.actor import WRITE, Actor
from access.audit.operations import Operation
from access.audit_search import payload_changes
from access.errors import Conflict
from access.groups.locks import hold_groups
from access.models import AuditEntry
from memories.draft.registry import values_from_json
from memories.lifecycle.edit import IN_PLACE
from memories.lifecycle.move_references import move_back, moves_from_json, moves_to_json
from memories.lifecycle.restore import restore, restore_version, undo_retraction
from memories.lifecycle.target import (
    SETTLED,
    change_fields,
    check_no_live_copy,
    check_not_barred,
    find_version,
)
from memories.models import Memory
from memories.queries.snapshot import as_json
from memories.store import reopen_doubts, settle_doubts
from memories.store.derived import DerivedChanges
from memories.store.withdrawn.rejection import find_counting_same, follow_trust
from memories.types import State, Trust

Lines = tuple[str, ...]
UNDONE: Final = "undo"  # how a doubt was settled that its author took back
END_FIELDS: Final = ("valid_to", "valid_to_known_at")


@dataclass(frozen=True)
class RowUndo:
    """An audit row to be undone by an actor: its memory as it is now, and the reason for the log.

    `field` is the argument that errors name.
    """

    actor: Actor
    entry: AuditEntry
    memory: Memory
    reason: str
    field: str = ""

    @property
    def payload(self) -> dict[str, Any]:
        """The row's payload."""
        return self.entry.payload

    def change_of(self, name: str) -> list[Any]:
        """The former and the new value of a field that the row changed; twice None if it did not."""
        values: list[Any] = self.payload.get("changes", {}).get(name, [None, None])
        return values

    def changed_since(self) -> Conflict:
        """The error if the memory is no longer as the row left it."""
        return changed_since(self.memory, field=self.field)


def changed_since(memory: Memory, *, field: str = "") -> Conflict:
    """The error of undoing something whose result is no longer there."""
    return Conflict(
        f"{memory.id} has changed since: it is {memory.state} and {memory.trust}.",
        hint="Nothing was changed. It was undone already, or something else changed the memory.",
        field=field,
    )


def reverse_trust(undo: RowUndo) -> Lines:
    """Set the former trust again; if an approval replaced a memory, make that one's text the newest version again."""
    memory, (before, after) = undo.memory, undo.change_of("trust")
    if before is None and undo.payload.get(SETTLED) and memory.state == State.LIVE:
        return reopen(undo)
    if "root" in undo.payload.get("changes", {}):
        former = Memory.objects.filter(superseded_by=memory, state=State.SUPERSEDED).order_by("-key").first()
        if former is None or memory.state != State.LIVE:
            raise undo.changed_since()
        return restore(undo.actor, former.id, reason=undo.reason).consequences
    if before is None or memory.trust != after or memory.state != State.LIVE:
        raise undo.changed_since()

    def follow_up() -> None:
        # Only a rejection has a tombstone of its own; one of another memory with the same text stays.
        if Trust.REJECTED in (before, after):
            follow_trust(undo.actor, memory, reason=undo.reason, same=find_counting_same(memory))
        reopen_doubts(memory, undo.payload.get(SETTLED, ()))

    line = gettext("it is {before} again").format(before=pgettext("word", before))
    return change_fields(
        undo.actor, memory, Operation.TRUST, {"trust": before}, (line,),
        reason=undo.reason, dry_run=False, follow_up=follow_up,
    ).consequences  # fmt: skip


def reopen(undo: RowUndo) -> Lines:
    """Open the doubts again that an approval settled."""

    def follow_up() -> None:
        reopen_doubts(undo.memory, undo.payload[SETTLED])

    return change_fields(
        undo.actor, undo.memory, Operation.DISPUTE, {}, (gettext("it is disputed again"),),
        reason=undo.reason, dry_run=False, follow_up=follow_up,
    ).consequences  # fmt: skip


def reverse_dispute(undo: RowUndo) -> Lines:
    """Settle the doubt that the row's author raised; one that a person has decided about is a Conflict."""
    own = Q(author_name=undo.entry.actor, token=undo.entry.token)
    line = gettext("the dispute is taken back")
    with transaction.atomic():
        hold_groups([undo.memory.group_id])
        if not settle_doubts(undo.actor, undo.memory, UNDONE, only=own):
            raise undo.changed_since()
        return change_fields(
            undo.actor, undo.memory, Operation.DISPUTE, {}, (line,), reason=undo.reason, dry_run=False
        ).consequences


def reverse_merge(undo: RowUndo) -> Lines:
    """Separate two memories again."""
    if undo.memory.state != State.MERGED:
        raise undo.changed_since()
    return restore(undo.actor, undo.memory.id, reason=undo.reason).consequences


def reverse_supersede(undo: RowUndo, *, line: str = gettext_noop("both are live again")) -> Lines:
    """Make the replaced memory live again, with its end times and all references that moved to its successor."""
    old, by, payload = undo.memory, undo.memory.superseded_by, undo.payload
    if old.state != State.SUPERSEDED or by is None or str(by.id) != payload.get("by"):
        raise undo.changed_since()
    check_not_barred(undo.actor, old)
    if old.root_key == by.root_key:
        raise Conflict(
            f"{by.id} is a later version of the same memory.",
            hint="Restore the version instead.",
            field=undo.field,
        )
    check_no_live_copy(old)
    new: dict[str, Any] = {"state": State.LIVE, "superseded_by": None, **former_end(old, payload)}

    def follow_up() -> DerivedChanges:
        stayed = move_back(moves_from_json(payload.get("moved") or ()))
        lines = tuple(
            gettext("{table} {key} has changed since and stays").format(table=move.table, key=move.key)
            for move in stayed
        )
        return DerivedChanges(0, lines, {"undone": undo.entry.name, "stayed": moves_to_json(stayed)})

    return change_fields(
        undo.actor, old, Operation.RESTORE, new, (gettext(line),),
        reason=undo.reason, dry_run=False, follow_up=follow_up,
    ).consequences  # fmt: skip


def former_end(old: Memory, payload: dict[str, Any]) -> dict[str, Any]:
    """The end of valid time from before a supersede, but for what has changed since."""
    changed = payload_changes(payload)
    return values_from_json(
        {
            name: changed[name][0]
            for name in END_FIELDS
            if name in changed and as_json(getattr(old, name)) == changed[name][1]
        }
    )


def reverse_edit(undo: RowUndo) -> Lines:
    """Write the former text as the newest version, or set fields back that were changed in place."""
    before = undo.payload.get("before")
    if before is None and "changes" in undo.payload:
        return reverse_fields(undo, IN_PLACE, gettext("its fields are as before"))
    if before is None or undo.memory.state != State.LIVE:
        raise undo.changed_since()
    former = find_version(undo.actor, before["id"], right=WRITE)
    return restore_version(undo.actor, former, reason=undo.reason, dry_run=False).consequences


def reverse_reinforcement(undo: RowUndo) -> Lines:
    """Take back the confidence and the earlier beginning that a restatement brought."""
    return reverse_fields(undo, ("confidence", "valid_from"), gettext("its confidence is as before"))


def reverse_fields(undo: RowUndo, names: Sequence[str], line: str) -> Lines:
    """Set those of the named fields back that the row changed; one that has changed since is a Conflict."""
    memory = undo.memory
    changed = {
        name: pair for name, pair in undo.payload["changes"].items() if name in names and pair[0] != pair[1]
    }
    if memory.state != State.LIVE or any(
        as_json(getattr(memory, name)) != after for name, (_, after) in changed.items()
    ):
        raise undo.changed_since()
    if not changed:
        return (line,)
    new = values_from_json({name: before for name, (before, _) in changed.items()})
    operation = Operation(undo.entry.operation)
    return change_fields(
        undo.actor, memory, operation, new, (line,), reason=undo.reason, dry_run=False
    ).consequences


def reverse_pin(undo: RowUndo) -> Lines:
    """Set or remove the pin again."""
    memory, is_pin = undo.memory, undo.entry.operation == Operation.PIN
    if memory.pinned != is_pin or memory.state != State.LIVE:
        raise undo.changed_since()
    operation, line = (
        (Operation.UNPIN, gettext("the pin is gone"))
        if is_pin
        else (Operation.PIN, gettext("it is pinned again"))
    )
    return change_fields(
        undo.actor, memory, operation, {"pinned": not is_pin}, (line,), reason=undo.reason, dry_run=False
    ).consequences


def reverse_forget(undo: RowUndo) -> Lines:
    """Make a forgotten memory live again; a source of a summary stays forgotten."""
    before, _ = undo.change_of("state")
    if undo.memory.state != State.FORGOTTEN or before != State.LIVE:
        raise undo.changed_since()
    return restore(undo.actor, undo.memory.id, reason=undo.reason).consequences


def reverse_retract(undo: RowUndo) -> Lines:
    """Make a retracted memory current again, and lift the tombstone that it left."""
    before, _ = undo.change_of("state")
    if undo.memory.state != State.RETRACTED or before not in (State.LIVE, State.SUPERSEDED):
        raise undo.changed_since()
    lines = undo_retraction(undo.actor, undo.memory, reason=undo.reason, dry_run=False).consequences
    reopen_doubts(undo.memory, undo.payload.get(SETTLED, ()))
    return lines


REVERSALS: Final[dict[Operation, Callable[[RowUndo], Lines]]] = {
    Operation.TRUST: reverse_trust,
    Operation.DISPUTE: reverse_dispute,
    Operation.MERGE: reverse_merge,
    Operation.SUPERSEDE: reverse_supersede,
    Operation.EDIT: reverse_edit,
    Operation.REINFORCE: reverse_reinforcement,
    Operation.FORGET: reverse_forget,
    Operation.RETRACT: reverse_retract,
    Operation.PIN: reverse_pin,
    Operation.UNPIN: reverse_pin,
}
