"""Undo review decisions, using the audit rows that they wrote; `memories.lifecycle.undo.reversals` takes each row back.

Each row is undone by compare-and-set against the state it left; if that has changed since, nothing is undone (Conflict).
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext

from access import audit
from access.actor import CURATE, Actor
from access.audit.chains import find_row
from access.audit.operations import Operation
from access.audit.retry import retried
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.models import AuditEntry
from memories.lifecycle.target import require_person, require_right
from memories.lifecycle.undo.reversals import REVERSALS, RowUndo
from memories.models import Link, LinkStatus
from memories.queries.versions import find_memory
from memories.review.instructions import undo_instructions
from memories.review.links import visible_links
from memories.review.proposals import find_proposal, reopen
from memories.review.sensitive import undo_keep

MAX_ENTRIES: Final = 6  # a decision writes at most three


@dataclass(frozen=True)
class UndoneDecision:
    """The consequences of undoing a decision, in words."""

    consequences: tuple[str, ...]


@retried
def take_back(actor: Actor, entries: Sequence[str]) -> UndoneDecision:
    """Undo the audit rows with these names (AuditEntry.name), last first; all of them or none.

    One transaction, unless a text is written again: that has its own, since the text is embedded before it.

    Raises:
        InvalidInput: there are too many names.
        NotFound: a name belongs to no row about a memory that the actor may see.
        NotPermitted: the actor is no person, or may not curate the memory's group.
        Conflict: the result of the decision has changed since, or cannot be undone from here.
    """
    require_person(actor, "undo a decision about")
    if not entries:
        raise Conflict(
            "This decision has no undo.",
            hint="A masked or edited text stays in the history of the memory, for people only.",
            field="entries",
        )
    if len(entries) > MAX_ENTRIES:
        raise InvalidInput(f"Give at most {MAX_ENTRIES} audit rows.", field="entries")
    rows = sorted((find_decision(actor, name) for name in entries), key=lambda row: row.key, reverse=True)
    embeds = any(writes_text(entry) for entry in rows)
    with nullcontext() if embeds else transaction.atomic():
        lines = [line for entry in rows for line in UNDO[entry.operation](actor, entry)]
    return UndoneDecision(tuple(dict.fromkeys(lines)))


def find_decision(actor: Actor, name: str) -> AuditEntry:
    """The row of this store's audit log with this name, with its payload; the actor needs the right to undo it."""
    entry = find_row(name)
    if entry is not None and entry.operation == Operation.PROPOSE and hasattr(entry, "payload_row"):
        find_proposal(actor, entry.payload["proposal"], right=CURATE)
        return entry
    if entry is not None and is_accepted(entry):
        find_proposal(actor, entry.payload["proposal"], right=CURATE)
        return entry
    if entry is None or entry.memory_id is None:
        raise NotFound("The audit log has no such row about a memory that you may see.", field="entries")
    memory = find_memory(actor, entry.memory_id, field="entries")
    require_right(actor, memory, right=CURATE)
    if entry.operation not in UNDO or not hasattr(entry, "payload_row"):
        raise Conflict(f"'{entry.operation}' cannot be undone from here.", hint="Nothing was changed.")
    return entry


def is_accepted(entry: AuditEntry) -> bool:
    """True for a group's change by which a curator accepted a proposal."""
    return (
        entry.operation == Operation.GROUP and hasattr(entry, "payload_row") and "proposal" in entry.payload
    )


def writes_text(entry: AuditEntry) -> bool:
    """True if undoing the row writes a text again, which has to be embedded first."""
    payload = entry.payload
    is_replacement = entry.operation == Operation.TRUST and "root" in payload.get("changes", {})
    return is_replacement or entry.operation == Operation.EDIT or bool(payload.get("former"))


def undo_change(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Take back what a row did to its memory."""
    memory = find_memory(actor, str(entry.memory_id))
    undo = RowUndo(actor, entry, memory, f"audit row {entry.name} was undone")
    if entry.operation == Operation.SUPERSEDE and "moved" not in undo.payload:
        raise undo.changed_since()  # no decision of its own: it followed from a store or an approval
    return REVERSALS[Operation(entry.operation)](undo)


def undo_proposal(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Reopen a decided proposal."""
    return reopen(actor, entry, entry.payload)


def undo_group_change(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Take back instructions that a curator accepted."""
    return undo_instructions(actor, find_proposal(actor, entry.payload["proposal"], right=CURATE), entry)


def reopen_link(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Open a settled or dismissed link again."""
    payload = entry.payload
    link = visible_links(actor).filter(id=UUID(payload["link"])).first() if "link" in payload else None
    if link is None:
        raise Conflict("The link is gone.", hint="Nothing was changed.")
    if not any(actor.may(CURATE, end.group_id) for end in (link.source, link.target)):
        raise NotPermitted(
            "You may not decide about this link.", hint="Ask a curator of the group of either memory."
        )
    with transaction.atomic():
        closed = Link.objects.filter(pk=link.pk, status=payload["action"], settled_by=link.settled_by)
        if (
            payload["action"] == LinkStatus.OPEN
            or closed.update(status=LinkStatus.OPEN, settled_at=None, settled_by="") != 1
        ):
            raise Conflict("The link has changed since.", hint="Nothing was changed.")
        audit.append(
            actor,
            Operation.LINK,
            memory_id=link.source.id,
            group=link.source.group.id,
            payload={
                "action": LinkStatus.OPEN,
                "kind": link.kind,
                "link": str(link.id),
                "undone": entry.name,
            },
        )
    return (gettext("the link is open again"),)


UNDO: Final[dict[str, Callable[[Actor, AuditEntry], tuple[str, ...]]]] = {
    Operation.TRUST: undo_change,
    Operation.MERGE: undo_change,
    Operation.SUPERSEDE: undo_change,
    Operation.EDIT: undo_change,
    Operation.FORGET: undo_change,
    Operation.RETRACT: undo_change,
    Operation.PIN: undo_change,
    Operation.UNPIN: undo_change,
    Operation.LINK: reopen_link,
    Operation.PROPOSE: undo_proposal,
    Operation.GUARD: undo_keep,
    Operation.GROUP: undo_group_change,
}
