"""Undo review decisions, using the audit rows that they wrote.

Each row is undone by compare-and-set against the state it left; if that has changed since, nothing is undone (Conflict).
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction

from access import audit
from access.actor import CURATE, Actor
from access.audit.chains import find_row
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.models import AuditEntry
from memories.draft.registry import values_from_json
from memories.lifecycle.edit import IN_PLACE
from memories.lifecycle.restore import restore, undo_retraction
from memories.lifecycle.target import (
    change_fields,
    check_no_live_copy,
    check_not_barred,
    require_person,
    require_right,
)
from memories.lifecycle.undo.reversals import make_current
from memories.lifecycle.undo.write import payload_of
from memories.lifecycle.verbs import pin, unpin
from memories.models import Link, LinkStatus, Memory
from memories.queries.snapshot import as_json
from memories.queries.versions import find_memory
from memories.review.links import visible_links
from memories.review.proposals import find_proposal, reopen
from memories.store.withdrawn.rejection import follow_trust
from memories.types import State

MAX_ENTRIES: Final = 6  # a decision writes at most three


@dataclass(frozen=True)
class UndoneDecision:
    """The consequences of undoing a decision, in words."""

    consequences: tuple[str, ...]


def take_back(actor: Actor, entries: Sequence[str]) -> UndoneDecision:
    """Undo the audit rows with these names (AuditEntry.name), last first; all of them or none.

    One transaction, unless a text is written again: that has its own, since the text is embedded before it.

    Raises:
        InvalidInput: there are no names, or too many.
        NotFound: a name belongs to no row about a memory that the actor may see.
        NotPermitted: the actor is no person, or may not curate the memory's group.
        Conflict: the result of the decision has changed since, or cannot be undone from here.
    """
    require_person(actor, "undo a decision about")
    if not 1 <= len(entries) <= MAX_ENTRIES:
        raise InvalidInput(f"Give 1 to {MAX_ENTRIES} audit rows.", field="entries")
    rows = sorted((find_decision(actor, name) for name in entries), key=lambda row: row.key, reverse=True)
    embeds = any(writes_text(entry) for entry in rows)
    with nullcontext() if embeds else transaction.atomic():
        lines = [line for entry in rows for line in UNDO[entry.operation](actor, entry)]
    return UndoneDecision(tuple(dict.fromkeys(lines)))


def find_decision(actor: Actor, name: str) -> AuditEntry:
    """The row of this store's audit log with this name, with its payload; the actor needs the right to undo it."""
    entry = find_row(name)
    if entry is not None and entry.operation == Operation.PROPOSE and hasattr(entry, "payload_row"):
        find_proposal(actor, payload_of(entry)["proposal"], right=CURATE)
        return entry
    if entry is None or entry.memory_id is None:
        raise NotFound("The audit log has no such row about a memory that you may see.", field="entries")
    memory = find_memory(actor, entry.memory_id, field="entries")
    require_right(actor, memory, right=CURATE)
    if entry.operation not in UNDO or not hasattr(entry, "payload_row"):
        raise Conflict(f"'{entry.operation}' cannot be undone from here.", hint="Nothing was changed.")
    return entry


def writes_text(entry: AuditEntry) -> bool:
    """True if undoing the row writes a text again, which has to be embedded first."""
    payload = payload_of(entry)
    is_replacement = entry.operation == Operation.TRUST and "root" in payload.get("changes", {})
    return is_replacement or entry.operation == Operation.EDIT or bool(payload.get("former"))


def undo_trust(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Restore the former trust; if the approval replaced a memory, make that one's text the newest version again."""
    differences = payload_of(entry).get("changes", {})
    memory = _find_own(actor, entry)
    if "root" in differences:
        former = Memory.objects.filter(superseded_by=memory, state=State.SUPERSEDED).order_by("-key").first()
        if former is None or memory.state != State.LIVE:
            raise changed_since(memory)
        return restore(actor, former.id, reason="the approval was undone").consequences
    before, after = differences.get("trust", [None, None])
    if before is None or memory.trust != after or memory.state != State.LIVE:
        raise changed_since(memory)
    done = change_fields(
        actor, memory, Operation.TRUST, {"trust": before}, (f"it is {before} again",),
        reason=_reason(entry), dry_run=False,
        follow_up=lambda: follow_trust(actor, memory, reason=_reason(entry)),
    )  # fmt: skip
    return done.consequences


def undo_merge(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Separate the two memories again."""
    memory = _find_own(actor, entry)
    if memory.state != State.MERGED:
        raise changed_since(memory)
    return restore(actor, memory.id, reason=_reason(entry)).consequences


def undo_supersede(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Make the replaced memory live again, with its end times and all references that moved to its successor."""
    payload, memory = payload_of(entry), _find_own(actor, entry)
    by = memory.superseded_by
    is_same = by is not None and str(by.id) == payload.get("by")
    if memory.state != State.SUPERSEDED or by is None or not is_same or "moved" not in payload:
        raise changed_since(memory)
    check_not_barred(actor, memory)
    if memory.root_key == by.root_key:
        raise Conflict(f"{by.id} is a later version of the same memory.", hint="Restore the version instead.")
    check_no_live_copy(memory)
    return make_current(
        actor, memory, payload["changes"], moved=payload["moved"], line="both are live again",
        reason=_reason(entry), undone=entry.name,
    )  # fmt: skip


def undo_edit(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Write the former text as the newest version; the other fields keep their values."""
    payload, memory = payload_of(entry), _find_own(actor, entry)
    before = payload.get("before")
    if before is None and "changes" in payload:
        return undo_fields(actor, entry)
    if before is None or memory.state != State.LIVE:
        raise changed_since(memory)
    return restore(actor, str(before["id"]), reason=_reason(entry)).consequences


def undo_fields(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Restore the former values of fields that were changed in place."""
    memory = _find_own(actor, entry)
    changed = {name: pair for name, pair in payload_of(entry)["changes"].items() if name in IN_PLACE}
    if memory.state != State.LIVE or any(
        as_json(getattr(memory, name)) != after for name, (_, after) in changed.items()
    ):
        raise changed_since(memory)
    new = values_from_json({name: before for name, (before, _) in changed.items()})
    done = change_fields(
        actor,
        memory,
        Operation.EDIT,
        new,
        ("its fields are as before",),
        reason=_reason(entry),
        dry_run=False,
    )
    return done.consequences


def undo_pin(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Set or remove the pin again."""
    memory, is_pin = _find_own(actor, entry), entry.operation == Operation.PIN
    if memory.pinned != is_pin or memory.state != State.LIVE:
        raise changed_since(memory)
    return (unpin if is_pin else pin)(actor, memory.id).consequences


def undo_forget(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Make a forgotten memory live again; a source of a summary stays forgotten."""
    memory = _find_own(actor, entry)
    former, _ = payload_of(entry).get("changes", {}).get("state", ["", ""])
    if memory.state != State.FORGOTTEN or former != State.LIVE:
        raise changed_since(memory)
    return restore(actor, memory.id, reason=_reason(entry)).consequences


def undo_retract(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Make a retracted memory current again, and lift the tombstone that it left."""
    memory = _find_own(actor, entry)
    former, _ = payload_of(entry).get("changes", {}).get("state", ["", ""])
    if memory.state != State.RETRACTED or former not in (State.LIVE, State.SUPERSEDED):
        raise changed_since(memory)
    return undo_retraction(actor, memory, reason=_reason(entry), dry_run=False).consequences


def undo_proposal(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Reopen a decided proposal."""
    return reopen(actor, entry, payload_of(entry))


def reopen_link(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Open a settled or dismissed link again."""
    payload = payload_of(entry)
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
    return ("the link is open again",)


def _find_own(actor: Actor, entry: AuditEntry) -> Memory:
    return find_memory(actor, str(entry.memory_id))


def _reason(entry: AuditEntry) -> str:
    return f"audit row {entry.seq} was undone"


def changed_since(memory: Memory) -> Conflict:
    """The error of undoing a decision whose result is no longer as the decision left it."""
    return Conflict(
        f"{memory.id} has changed since: it is {memory.state} and {memory.trust}.",
        hint="Nothing was changed.",
    )


UNDO: Final[dict[str, Callable[[Actor, AuditEntry], tuple[str, ...]]]] = {
    Operation.TRUST: undo_trust,
    Operation.MERGE: undo_merge,
    Operation.SUPERSEDE: undo_supersede,
    Operation.EDIT: undo_edit,
    Operation.LINK: reopen_link,
    Operation.FORGET: undo_forget,
    Operation.RETRACT: undo_retract,
    Operation.PIN: undo_pin,
    Operation.UNPIN: undo_pin,
    Operation.PROPOSE: undo_proposal,
}
