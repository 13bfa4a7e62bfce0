"""Merging two memories into one: both stay as history, and what the merge moved is logged so that it can move back."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import CURATE, Actor
from access.audit.operations import Operation
from access.errors import Conflict, LociError
from access.models import AuditEntry
from memories.draft import check_tags, clean_reason
from memories.language.plurals import format_count
from memories.lifecycle.edit import EditDraft, PreparedEdit, carry_out_edit, prepare_edit
from memories.lifecycle.move_references import ReferenceMove, as_payload, from_payload, move_back, move_ties
from memories.lifecycle.target import ChangeResult, change, must_be, must_be_person, permitted, target
from memories.models import Link, LinkKind, Memory
from memories.queries.snapshot import as_json, changes, snapshot
from memories.store.derived import DerivedChanges
from memories.store.search_columns import refresh_around
from memories.types import Scope, State, Trust

COUNTS: Final = (Trust.ACTIVE, Trust.VERIFIED, Trust.DISPUTED)
UNITED: Final = ("confidence", "importance", "tags", "pinned", "trust", "last_accessed")


def merge(
    actor: Actor,
    from_id: str | UUID,
    into_id: str | UUID,
    *,
    content: str = "",
    reason: str = "",
    dry_run: bool = False,
) -> ChangeResult:
    """Make two memories one: `from` goes into `into`, which takes over its relations, names, links and counts.

    With `content` the survivor first gets a new version that says so. Restoring the merged memory undoes it all, as
    far as it still stands as the merge left it. One transaction; the new text is embedded before it.

    Raises:
        NotPermitted: the actor is no person, or may not curate the group of either.
        Conflict: the two do not fit, one of them does not count, or the new text is barred.
        NotFound: one of them is not among what the actor may see.
    """
    reason = clean_reason(reason)
    must_be_person(actor, "merge")
    source = target(actor, from_id, right=CURATE)
    into = target(actor, into_id, right=CURATE, field="into")
    _check_pair(source, into)
    ready = prepare_edit(actor, into.id, EditDraft(content=content)) if content else None
    now = timezone.now()
    new = {"state": State.MERGED, "superseded_by": into, "retired_at": now}
    survivor = into

    def unite() -> DerivedChanges:
        nonlocal survivor
        survivor, followed = _unite(actor, source, into, ready, reason=reason)
        return followed

    said = (f"recall gives {into.id} in its place", "'restore' takes the two apart again")
    with transaction.atomic():
        done = change(actor, source, Operation.MERGE, new, said, reason=reason, dry_run=False, also=unite)
        transaction.set_rollback(dry_run)
    return _answer(done, survivor, into, dry_run=dry_run)


def _answer(done: ChangeResult, survivor: Memory, into: Memory, *, dry_run: bool) -> ChangeResult:
    """Give the answer; of a dry run without the id of a version that was not kept."""
    successor = into.id if dry_run else survivor.id
    return ChangeResult(
        done.verb, done.id, done.state, done.trust, 0 if dry_run else done.changed, done.consequences, dry_run,
        changes=done.changes, successor=successor,
    )  # fmt: skip


def _check_pair(source: Memory, into: Memory) -> None:
    """Raise Conflict where the two cannot become one."""
    must_be(source, State.LIVE, verb="merge")
    must_be(into, State.LIVE, verb="merge")
    if source.root_key == into.root_key:
        raise Conflict("Both ids lead to the same memory.", hint="Nothing was done.", field="into")
    if source.type != into.type:
        raise Conflict(
            f"One is {source.type}, the other {into.type}.",
            hint="Change the type of one first.",
            field="into",
        )
    if source.trust not in (*COUNTS, Trust.CANDIDATE) or into.trust not in COUNTS:
        raise Conflict(
            f"{source.id} is {source.trust} and {into.id} is {into.trust}; what is merged must count.",
            hint="Approve it first.",
        )
    _check_places(source, into)
    if Link.objects.filter(kind=LinkKind.DERIVED, source__in=[source.root_key, into.root_key]).exists():
        raise Conflict("One of them is a summary.", hint="Maintenance makes summaries anew.", field="into")


def _check_places(source: Memory, into: Memory) -> None:
    """Raise Conflict where merging would show a text more widely, or take it from those who see it now."""
    if source.scope != into.scope:
        inner, outer = (source, into) if source.scope == Scope.GROUP else (into, source)
        raise Conflict(
            f"{inner.id} is seen in the group '{inner.group.slug}' alone, {outer.id} everywhere.",
            hint="Forget one of the two, or store its text with the other's scope.",
            field="into",
        )
    if source.scope == Scope.GROUP and source.group_id != into.group_id:
        raise Conflict(
            f"{source.id} is the group '{source.group.slug}''s own, {into.id} '{into.group.slug}''s.",
            hint="Only global memories are merged across groups.",
            field="into",
        )


def _unite(
    actor: Actor, source: Memory, into: Memory, ready: PreparedEdit | None, *, reason: str
) -> tuple[Memory, DerivedChanges]:
    """Write the survivor's new version, move what hangs on the merged one, and unite the fields."""
    survivor = into
    if ready is not None:
        survivor = carry_out_edit(actor, ready, reason=reason, is_decided=True).memory
        Memory.objects.filter(pk=source.pk).update(superseded_by=survivor)
    before = snapshot(survivor)
    values = _united(source, survivor)
    # What was decided must still be what is there.
    standing = Memory.objects.filter(pk=survivor.pk, state=State.LIVE, updated_at=survivor.updated_at)
    if standing.update(**values, updated_at=timezone.now()) != 1:
        raise Conflict(f"{into.id} was changed by somebody else just now.", hint="Look at it and repeat.")
    survivor.refresh_from_db()
    refresh_around([survivor])  # tags are searched as words
    moves = move_ties(source.root_key, into.root_key)
    what = changes(before, snapshot(survivor))
    audit.append(
        actor,
        Operation.MERGE,
        memory_id=survivor.id,
        group=survivor.group.id,
        payload={"changes": what, "from": str(source.id), "reason": reason},
    )
    payload = {
        "into": str(survivor.id),
        "former": str(into.id) if survivor.pk != into.pk else None,
        "moved": as_payload(moves),
        "united": {name: what[name] for name in UNITED if name in what},
        "access_count": source.access_count,
    }
    said = (f"{_count(moves)} that hung on it go over",) if moves else ()
    new_version = ("the survivor gets a new version",) if survivor.pk != into.pk else ()
    return survivor, DerivedChanges(1, (*new_version, *said), payload)


def _united(source: Memory, into: Memory) -> dict[str, Any]:
    tags = tuple(dict.fromkeys((*into.tags, *source.tags)))
    is_verified = source.trust == Trust.VERIFIED and into.trust == Trust.ACTIVE
    seen = [at for at in (source.last_accessed, into.last_accessed) if at is not None]
    return {
        "confidence": max(source.confidence, into.confidence),
        "importance": max(source.importance, into.importance),
        "access_count": source.access_count + into.access_count,
        "last_accessed": max(seen, default=None),
        "pinned": source.pinned or into.pinned,
        "trust": Trust.VERIFIED if is_verified else into.trust,
        "tags": list(check_tags(tags)),
    }


@dataclass(frozen=True)
class MergeUndo:
    """What a merge did, as its row of the log tells, and the survivor's former text made ready where it got another."""

    payload: dict[str, Any]
    ready: PreparedEdit | None
    why_not: str = ""


def plan_undo(actor: Actor, merged: Memory) -> MergeUndo | None:
    """Read how a memory was merged, before any transaction; None where only a wording was kept, or the log is gone.

    Raises:
        NotPermitted: a person merged it, and the actor is none or may not curate the group.
    """
    rows = AuditEntry.objects.filter(origin=audit.OWN, operation=Operation.MERGE, memory_id=merged.id)
    entry = rows.select_related("payload_row").order_by("-seq").first()
    payload = entry.payload_row.payload if entry is not None and hasattr(entry, "payload_row") else {}
    if "moved" not in payload:
        return None
    must_be_person(actor, "take apart")
    permitted(actor, merged, right=CURATE)
    if payload["former"] is None:
        return MergeUndo(payload, None)
    into = Memory.objects.filter(id=payload["into"]).first()
    former = Memory.objects.filter(id=payload["former"]).first()
    if into is None or former is None or into.state != State.LIVE:
        return MergeUndo(payload, None, f"{payload['into']} has changed since: its text stays")
    try:
        return MergeUndo(payload, prepare_edit(actor, into.id, EditDraft(content=former.content)))
    except LociError as refusal:
        return MergeUndo(payload, None, f"{payload['into']} keeps its text: {refusal}")


def undo_text(actor: Actor, undo: MergeUndo, *, reason: str) -> tuple[str, ...]:
    """Give the survivor its former text back, as a new version; inside the transaction, before the merged one is live."""
    if undo.ready is None:
        return (undo.why_not,) if undo.why_not else ()
    try:
        with transaction.atomic():
            edited = carry_out_edit(actor, undo.ready, reason=reason, is_decided=True)
    except Conflict as refusal:
        return (f"{undo.payload['into']} keeps its text: {refusal}",)
    return (f"{edited.memory.id} has the text from before the merge",)


def undo_moves(actor: Actor, undo: MergeUndo) -> DerivedChanges:
    """Move back what the merge moved and part the fields it united; what was changed since stays, and is said."""
    stayed = move_back(from_payload(undo.payload["moved"]))
    moved = len(undo.payload["moved"]) - len(stayed)
    said = [f"{move.table} {move.key}: {move.field} has changed since and stays" for move in stayed]
    said += _part(actor, undo)
    back = (f"{moved} {'tie moves' if moved == 1 else 'ties move'} back",) if moved else ()
    payload = {"undone": moved, "stayed": as_payload(stayed)}
    return DerivedChanges(1, (*back, *said), payload)


def _part(actor: Actor, undo: MergeUndo) -> list[str]:
    """Set back the survivor's fields that still are as the merge left them; name the others."""
    into = Memory.objects.filter(id=undo.payload["into"]).first()
    if into is None:
        return [f"{undo.payload['into']} is gone"]
    # The version with the former text took the united fields over.
    survivor = into.superseded_by if undo.ready is not None and into.superseded_by is not None else into
    if survivor.state != State.LIVE:
        return [f"{survivor.id} is {survivor.state}: it keeps what the merge gave it"]
    values, stayed = dict[str, Any](), list[str]()
    for name, (before, after) in undo.payload["united"].items():
        if as_json(getattr(survivor, name)) == after:
            values[name] = _value(name, before)
        elif name != "last_accessed":  # a recall in between moves it
            stayed.append(f"{survivor.id}: {name} has changed since and stays")
    values["access_count"] = max(0, survivor.access_count - undo.payload["access_count"])
    before = snapshot(survivor)
    Memory.objects.filter(pk=survivor.pk).update(**values, updated_at=timezone.now())
    survivor.refresh_from_db()
    refresh_around([survivor])  # tags are searched as words
    audit.append(
        actor,
        Operation.RESTORE,
        memory_id=survivor.id,
        group=survivor.group.id,
        payload={"changes": changes(before, snapshot(survivor)), "parted": True},
    )
    return stayed


def _value(name: str, kept: Any) -> Any:
    return datetime.fromisoformat(kept) if name == "last_accessed" and kept else kept


def _count(moves: list[ReferenceMove]) -> str:
    rows = len({(move.table, move.key) for move in moves})
    return format_count(rows, "tie")
