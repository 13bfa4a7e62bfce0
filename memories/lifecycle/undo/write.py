"""A past write of an agent, found by its undo id, and the checks that its undo shares."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict, NotFound
from access.models import AuditEntry
from memories.lifecycle.restore import UNDO_HOURS
from memories.lifecycle.undo.undo_id import is_genuine, read_undo_id
from memories.models import Memory
from memories.queries.versions import versions_of
from memories.store.policy import Change, held_back
from memories.types import State
from relations.models import Relation, RelationEvidence

# Which row of a write says what it was, the most telling first. A write without any of them cannot be undone.
TELLING: Final = (
    Operation.PURGE, Operation.RELATE, Operation.CHECKPOINT, Operation.PROPOSE, Operation.RETRACT, Operation.RESTORE,
    Operation.EDIT, Operation.FORGET, Operation.DISPUTE, Operation.PIN, Operation.UNPIN, Operation.STORE,
    Operation.REINFORCE, Operation.MERGE, Operation.TRUST, Operation.SUPERSEDE, Operation.MOVE,
)  # fmt: skip
REASON: Final = "the write was undone"
UNDO: Final = "undo"  # the argument that errors name


@dataclass(frozen=True)
class PastWrite:
    """The log rows of one write, in order, and the operation that says what it was."""

    rows: tuple[AuditEntry, ...]
    operation: Operation

    @property
    def main(self) -> AuditEntry:
        """The row of the write itself; those of what followed from it come before."""
        return self.of(self.operation)[-1]

    @property
    def payload(self) -> dict[str, Any]:
        """The payload of the main row."""
        return self.main.payload

    def of(self, operation: Operation) -> list[AuditEntry]:
        """The rows of one operation."""
        return [row for row in self.rows if row.operation == operation]


def telling_operation(operations: Iterable[str]) -> Operation | None:
    """The operation that says what a write was; None if it cannot be undone."""
    found = set(operations)
    if Operation.THREAD in found:  # of a whole conversation, which is moved back as a whole
        return None
    told = next((operation for operation in TELLING if operation in found), None)
    return None if told is Operation.PURGE else told


def find_write(actor: Actor, undo_id: str) -> PastWrite:
    """The write that an undo id names.

    Raises:
        InvalidInput: the text is no undo id.
        NotFound: no write of this token has it.
        Conflict: it is older than UNDO_HOURS, or its text was purged.
    """
    mark, keys = read_undo_id(undo_id)
    rows = AuditEntry.objects.filter(
        origin=audit.OWN, key__range=keys, actor=actor.name, token=actor.token_id
    )
    found = tuple(rows.order_by("key").select_related("payload_row"))
    if not is_genuine(mark, actor, [row.key for row in found]):
        raise NotFound(
            "No write of this token has that undo id.",
            hint="Pass 'undo' of the answer to your own write.",
            field=UNDO,
        )
    if found[0].at <= timezone.now() - timedelta(hours=UNDO_HOURS):
        raise Conflict(
            f"An undo id is good for {UNDO_HOURS} hours.", hint="Use a verb, or ask a curator.", field=UNDO
        )
    operation = telling_operation(row.operation for row in found)
    if operation is None or not all(hasattr(row, "payload_row") for row in found):
        raise Conflict("This write cannot be undone any more: its text was purged.", field=UNDO)
    return PastWrite(found, operation)


def refuse_held(actor: Actor, change: Change, memory: Memory) -> None:
    """Raise Conflict with the reason if a policy, or a person's verification or pin, holds the undo back."""
    why = held_back(actor, change, memory)
    if why:
        raise Conflict(
            f"It cannot be undone: {why}.",
            hint="Nothing was changed. Ask a curator of the group.",
            field=UNDO,
        )


def refuse_changed(actor: Actor, write: PastWrite, memory: Memory) -> None:
    """Raise Conflict if somebody else has changed the memory, or any version of it, since the write."""
    ids = {memory.id, *(version.id for version in versions_of(memory))}
    later = AuditEntry.objects.filter(origin=audit.OWN, memory_id__in=ids, key__gt=write.rows[-1].key)
    other = later.exclude(actor=actor.name, token=actor.token_id).order_by("key").first()
    if other is not None:
        raise Conflict(
            f"Somebody else has changed {memory.id} since: {Operation(other.operation).label}.",
            hint="Nothing was changed. Inspect the memory, and correct it as it is now.",
            field=UNDO,
        )


def refuse_used(memory: Memory, *, besides: Iterable[int] = ()) -> None:
    """Raise Conflict if something leads to the memory since: a relation, evidence, another memory (keys not `besides`)."""
    use = find_use(memory, besides=besides)
    if use:
        raise Conflict(
            f"{memory.id} is in use since: {use}.", hint="Nothing was changed. Undo that first.", field=UNDO
        )


def find_use(memory: Memory, *, besides: Iterable[int] = ()) -> str:
    """What leads to a memory, in words; empty if nothing does."""
    root = memory.root_key
    current = Relation.objects.filter(retired_at=None)
    if current.filter(Q(subject=root) | Q(object=root)).exists():
        return gettext("a relation leads to it")
    if RelationEvidence.objects.filter(memory=root, relation__retired_at=None).exists():
        return gettext("it is evidence of a relation")
    if Memory.objects.filter(superseded_by=memory).exclude(pk__in=list(besides)).exists():
        return gettext("another memory became part of it or leads to it")
    return ""


def hidden_values() -> dict[str, Any]:
    """The fields of a memory that is hidden as if it had never been stored."""
    return {"state": State.FORGOTTEN, "retired_at": timezone.now(), "superseded_by": None}
