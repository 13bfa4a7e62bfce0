"""Taking a review's decision back, from the rows of the log that it wrote.

Each is undone by compare-and-set against what its row says it left; what was changed since is a Conflict, and stays.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from access import audit
from access.actor import CURATE, Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.models import AuditEntry
from memories.lifecycle.move_references import as_payload, from_payload, move_back
from memories.lifecycle.restore import restore
from memories.lifecycle.target import change, check_not_barred, check_room_for, must_be_person, permitted
from memories.models import Link, LinkStatus, Memory
from memories.queries.snapshot import as_json
from memories.queries.versions import find_memory
from memories.review.links import visible_links
from memories.store.derived import DerivedChanges
from memories.types import State

MAX_ENTRIES: Final = 6  # a decision writes three at most
MOMENTS: Final = ("valid_to", "valid_to_known_at")


@dataclass(frozen=True)
class UndoneDecision:
    """What taking a decision back did, in words."""

    said: tuple[str, ...]


def take_back(actor: Actor, entries: Sequence[int]) -> UndoneDecision:
    """Undo what these rows of the log tell, the last first; all of it or nothing.

    Only where a text is written anew has that a transaction of its own, since the text is embedded before.

    Raises:
        NotFound: a number is of no row about a memory that the actor may see.
        NotPermitted: the actor is no person, or may not curate the memory's group.
        Conflict: what the decision left was changed since, or cannot be undone from here.
    """
    must_be_person(actor, "take a decision back about")
    if not 1 <= len(entries) <= MAX_ENTRIES:
        raise InvalidInput(f"Give 1 to {MAX_ENTRIES} rows of the log.", field="entries")
    rows = [_row(actor, number) for number in sorted(entries, reverse=True)]
    embeds = any(_writes_text(entry) for entry in rows)
    with nullcontext() if embeds else transaction.atomic():
        said = [line for entry in rows for line in _BACK[entry.operation](actor, entry)]
    return UndoneDecision(tuple(dict.fromkeys(said)))


def _row(actor: Actor, number: int) -> AuditEntry:
    """Give a row of this store's log that tells of a decision, with what it says."""
    rows = AuditEntry.objects.filter(origin=audit.OWN, seq=number).select_related("payload_row")
    entry = rows.first()
    if entry is None or entry.memory_id is None:
        raise NotFound("The log has no such row about a memory that you may see.", field="entries")
    memory = find_memory(actor, entry.memory_id, field="entries")
    permitted(actor, memory, right=CURATE)
    if entry.operation not in _BACK or not hasattr(entry, "payload_row"):
        raise Conflict(f"'{entry.operation}' cannot be undone from here.", hint="Nothing was done.")
    return entry


def _said(entry: AuditEntry) -> dict[str, Any]:
    said: dict[str, Any] = entry.payload_row.payload
    return said


def _writes_text(entry: AuditEntry) -> bool:
    said = _said(entry)
    is_replacement = entry.operation == Operation.TRUST and "root" in said.get("changes", {})
    return is_replacement or entry.operation == Operation.EDIT or bool(said.get("former"))


def _trust_back(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Give the trust from before; where approving replaced a memory, that one's text is the newest version again."""
    what = _said(entry).get("changes", {})
    memory = _named(actor, entry)
    if "root" in what:
        return _replaced_back(actor, memory)
    before, after = what.get("trust", [None, None])
    if before is None or memory.trust != after or memory.state != State.LIVE:
        raise _changed(memory)
    done = change(
        actor, memory, Operation.TRUST, {"trust": before}, (f"it is {before} again",),
        reason=_why(entry), dry_run=False,
    )  # fmt: skip
    return done.consequences


def _replaced_back(actor: Actor, memory: Memory) -> tuple[str, ...]:
    former = Memory.objects.filter(superseded_by=memory, state=State.SUPERSEDED).order_by("-key").first()
    if former is None or memory.state != State.LIVE:
        raise _changed(memory)
    return restore(actor, former.id, reason="the approval was taken back").consequences


def _merge_back(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    memory = _named(actor, entry)
    if memory.state != State.MERGED:
        raise _changed(memory)
    return restore(actor, memory.id, reason=_why(entry)).consequences


def _supersede_back(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Let what was replaced count again, with its ends and all that went over to its successor."""
    said, memory = _said(entry), _named(actor, entry)
    by = memory.superseded_by
    if memory.state != State.SUPERSEDED or by is None or str(by.id) != said.get("by") or "moved" not in said:
        raise _changed(memory)
    check_not_barred(memory)
    check_room_for_again(memory, by)
    what = said["changes"]
    new: dict[str, Any] = {"state": State.LIVE, "superseded_by": None}
    for name in MOMENTS:
        before, after = what.get(name, [None, None])
        if name in what and as_json(getattr(memory, name)) == after:
            new[name] = datetime.fromisoformat(before) if before else None

    def follow() -> DerivedChanges:
        stayed = move_back(from_payload(said["moved"]))
        lines = tuple(f"{move.table} {move.key} has changed since and stays" for move in stayed)
        return DerivedChanges(0, lines, {"undone": entry.seq, "stayed": as_payload(stayed)})

    done = change(
        actor, memory, Operation.RESTORE, new, ("both count again",),
        reason=_why(entry), dry_run=False, also=follow,
    )  # fmt: skip
    return done.consequences


def check_room_for_again(memory: Memory, by: Memory) -> None:
    """Raise Conflict where what replaced the memory is a version of its own chain, or its text is live elsewhere."""
    if memory.root_key == by.root_key:
        raise Conflict(f"{by.id} is its own later version.", hint="Bring the version back instead.")
    check_room_for(memory)


def _edit_back(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Write the text from before as the newest version; what stood beside the text stays."""
    said, memory = _said(entry), _named(actor, entry)
    before = said.get("before")
    if before is None or memory.state != State.LIVE:
        raise _changed(memory)
    return restore(actor, str(before["id"]), reason=_why(entry)).consequences


def _link_back(actor: Actor, entry: AuditEntry) -> tuple[str, ...]:
    """Open a link again that was settled or dismissed."""
    said = _said(entry)
    link = visible_links(actor).filter(id=UUID(said["link"])).first() if "link" in said else None
    if link is None:
        raise Conflict("The link is gone.", hint="Nothing was done.")
    if not any(actor.may(CURATE, end.group_id) for end in (link.source, link.target)):
        raise NotPermitted("You may not decide about this link.", hint="It takes a curator of either group.")
    with transaction.atomic():
        closed = Link.objects.filter(pk=link.pk, status=said["action"], settled_by=link.settled_by)
        if (
            said["action"] == LinkStatus.OPEN
            or closed.update(status=LinkStatus.OPEN, settled_at=None, settled_by="") != 1
        ):
            raise Conflict("The link has changed since.", hint="Nothing was done.")
        audit.append(
            actor,
            Operation.LINK,
            memory_id=link.source.id,
            group=link.source.group.id,
            payload={"action": LinkStatus.OPEN, "kind": link.kind, "link": str(link.id), "undone": entry.seq},
        )
    return ("the link is open again",)


def _named(actor: Actor, entry: AuditEntry) -> Memory:
    return find_memory(actor, str(entry.memory_id))


def _why(entry: AuditEntry) -> str:
    return f"row {entry.seq} of the log was taken back"


def _changed(memory: Memory) -> Conflict:
    return Conflict(
        f"{memory.id} has changed since: it is {memory.state} and {memory.trust}.", hint="Nothing was done."
    )


_BACK: Final[dict[str, Callable[[Actor, AuditEntry], tuple[str, ...]]]] = {
    Operation.TRUST: _trust_back,
    Operation.MERGE: _merge_back,
    Operation.SUPERSEDE: _supersede_back,
    Operation.EDIT: _edit_back,
    Operation.LINK: _link_back,
}
