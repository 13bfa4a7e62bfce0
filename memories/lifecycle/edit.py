"""Editing: a new text, type or time becomes a new version and never overwrites the old; other fields change in place."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import CURATE, WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput
from access.models import Group
from memories.draft import EDITED, STORED, Draft, EditDraft, check_draft, clean_reason
from memories.draft.registry import OnEdit, values_from_json
from memories.lifecycle.approve import CARRIED_FIELDS
from memories.lifecycle.propose import memory_version, propose
from memories.models import Memory
from memories.queries.snapshot import as_json, changes, snapshot
from memories.queries.versions import find_head_to_replace, find_memory, versions_of
from memories.store import (
    PreparedDraft,
    changed_meanwhile,
    find_exact,
    insert_version,
    link_successor,
    move_ends,
    prepare_text,
    withdrawn_doubt,
)
from memories.store.derived import withdraw_replaced
from memories.store.pieces import available_encoder
from memories.store.policy import Change, held_back, refuse_write
from memories.store.search_columns import refresh_around
from memories.store.tombstones import find_tombstone
from memories.types import State, Trust

VERSIONED: Final = frozenset(field.name for field in EDITED if field.on_edit is OnEdit.NEW_VERSION)
CARRIED: Final = tuple(field.name for field in STORED if field.is_carried)
_CARRIED_VALUES = attrgetter(*CARRIED)
IN_PLACE: Final = tuple(field.name for field in EDITED if field.on_edit is OnEdit.IN_PLACE)
EDIT_FIELDS: Final = "edit"  # the verb of a proposal that changes fields in place


class EditOutcome:
    """The outcomes of an edit."""

    NEW_VERSION = "new_version"
    CHANGED = "changed"  # in place: the text is the same
    QUEUED = "queued"  # waits for a curator: a new text as a candidate beside it, other fields as a proposal


@dataclass(frozen=True)
class EditResult:
    """The result of an edit: the current (or queued) memory, the version it replaces, and the differences.

    `proposal` is the id under which a change of other fields than the text waits.
    """

    outcome: str
    memory: Memory
    replaced: UUID | None
    changes: dict[str, list[Any]]
    why: str = ""
    proposal: UUID | None = None


def edit(
    actor: Actor, id_: str | UUID, change: EditDraft, *, reason: str = "", dry_run: bool = False
) -> EditResult:
    """Change a live memory; the id of any version means the current one.

    1. check the fields; if the text, type or time differs: embed and probe, before any transaction
    2. in one transaction: check that the row is unchanged, that no tombstone bars the text and that it is not live
       elsewhere; then write a new version of the chain (the old row: superseded, retired, valid time untouched) or
       change the fields in place; audit

    A verified memory becomes active again if a person who is no curator changes its text. Where memories.store.policy
    holds the edit back, the new text waits as a candidate, or the other fields as a proposal; the memory stays as it is.

    Raises:
        InvalidInput, TooLarge: a value is not allowed, or no field is named.
        Conflict: nothing differs, it is not live, it changed meanwhile, or the text is barred or live already.
        NotFound, NotPermitted: the actor may not see, or may not write, the memory.
    """
    reason = clean_reason(reason)
    ready = prepare_edit(actor, id_, change)
    with transaction.atomic():
        edited = carry_out_edit(actor, ready, reason=reason)
        transaction.set_rollback(dry_run)
    owed_because = ready.prepared.embedded.owed_because if ready.prepared is not None else ""
    edited = replace(edited, why="; ".join(filter(None, (edited.why, owed_because))))
    return replace(edited, proposal=None) if dry_run else edited


@dataclass(frozen=True)
class PreparedEdit:
    """An edit with everything that is worked out before the transaction: the memory, its new fields, the differences.

    `prepared` is None if only fields other than the text, type and time differ.
    """

    memory: Memory
    draft: Draft
    differing: frozenset[str]
    prepared: PreparedDraft | None


def prepare_edit(actor: Actor, id_: str | UUID, change: EditDraft) -> PreparedEdit:
    """The part of edit() before its transaction; writes nothing. Raises as edit() does."""
    memory = find_editable(actor, id_, change)
    now = as_draft(memory)
    draft = check_draft(replace(now, **change.wanted()))
    differing = {field.name for field in EDITED if getattr(now, field.name) != getattr(draft, field.name)}
    if not differing:
        raise Conflict(f"{memory.id} already has these values.", hint="Nothing was changed.")
    is_versioned = not differing.isdisjoint(VERSIONED)
    prepared = prepare_text(actor, draft, encoder=available_encoder()) if is_versioned else None
    return PreparedEdit(memory, draft, frozenset(differing), prepared)


def carry_out_edit(actor: Actor, ready: PreparedEdit, *, reason: str, is_decided: bool = False) -> EditResult:
    """Write what prepare_edit() prepared; inside a transaction.

    `is_decided`: a curator chose this text, so no policy holds it back; restating a retracted text is then a
    Conflict, since nobody is left to decide about it.
    """
    if ready.prepared is None:
        change = Change.EXPIRE if "expires_at" in ready.differing else Change.LABEL
        why = "" if is_decided else held_back(actor, change, ready.memory)
        if why:
            return propose_fields(actor, ready, why=why, reason=reason)
        return change_in_place(actor, ready.memory, ready.draft, ready.differing, reason=reason)
    return write_version(actor, ready.memory, ready.prepared, reason=reason, is_decided=is_decided)


def propose_fields(actor: Actor, ready: PreparedEdit, *, why: str, reason: str) -> EditResult:
    """Record the change of fields other than the text, type and time as a proposal; inside the transaction."""
    memory = ready.memory
    wanted: dict[str, Any] = {
        name: as_json(getattr(ready.draft, name)) for name in IN_PLACE if name in ready.differing
    }
    proposal = propose(
        actor, EDIT_FIELDS, group=memory.group, memory=memory, version=memory_version(memory), arguments=wanted,
        reason=reason, why=why,
    )  # fmt: skip
    differences: dict[str, list[Any]] = {
        name: [as_json(getattr(memory, name)), value] for name, value in wanted.items()
    }
    return EditResult(EditOutcome.QUEUED, memory, None, differences, why, proposal.id)


def proposed_fields(arguments: dict[str, Any]) -> EditDraft:
    """The edit that propose_fields() recorded."""
    return EditDraft(**values_from_json(arguments))


def find_editable(actor: Actor, id_: str | UUID, change: EditDraft) -> Memory:
    """The live memory that an edit changes; raises as edit() does."""
    memory = find_head_to_replace(find_memory(actor, id_))
    if not actor.may(WRITE, memory.group_id):
        refuse_write(memory.group.slug)
    if not change.wanted():
        allowed = ", ".join(field.name for field in EDITED)
        raise InvalidInput("The edit names no field.", hint=f"Give one or more of: {allowed}.")
    if memory.state != State.LIVE:
        raise Conflict(f"{memory.id} is {memory.state}; only a live memory can be edited.")
    if change.version is not None and change.version != memory.version:
        raise Conflict(
            f"{memory.id} now has version {memory.version}, not {change.version}.",
            hint="Read it again and repeat the change.",
            field="version",
        )
    return memory


def as_draft(memory: Memory) -> Draft:
    """The draft that would store this memory; its thread position and source stay with the root."""
    values = dict(zip(CARRIED, _CARRIED_VALUES(memory), strict=True)) | {"tags": tuple(memory.tags)}
    return Draft(**values, group=memory.group.slug)


def change_in_place(
    actor: Actor, memory: Memory, draft: Draft, differing: Collection[str], *, reason: str
) -> EditResult:
    """Write fields other than the text, type and time; inside the transaction."""
    before = snapshot(memory)
    values = {name: getattr(draft, name) for name in differing} | {"updated_at": timezone.now()}
    if "tags" in values:
        values["tags"] = list(draft.tags)
    update_if_unchanged(memory, values)
    memory.refresh_from_db()
    refresh_around([memory])  # tags are searched as words
    differences = changes(before, snapshot(memory))
    payload = {"changes": differences, "reason": reason}
    audit.append(actor, Operation.EDIT, memory_id=memory.id, group=memory.group.id, payload=payload)
    return EditResult(EditOutcome.CHANGED, memory, None, differences)


def write_version(
    actor: Actor, old: Memory, prepared: PreparedDraft, *, reason: str, is_decided: bool
) -> EditResult:
    """Write the next row of the chain, or a candidate beside it if a person must decide; inside the transaction."""
    draft, now = prepared.draft, timezone.now()
    if draft.content != old.content:
        refuse_barred(old.group, draft.content)
    twin = find_exact(old.group.key, draft)
    if twin is not None and twin.key != old.key:
        raise Conflict(
            f"The same text is live as {twin.id}.", hint="Retract one of the two.", field="content"
        )
    doubt = find_edit_doubt(actor, old, prepared, is_decided=is_decided)
    if doubt:
        return queue_edit(actor, old, prepared, doubt=doubt, now=now)
    before = snapshot(old)
    update_if_unchanged(
        old, {"state": State.SUPERSEDED, "retired_at": now, "state_changed_at": now, "updated_at": now}
    )
    new = insert_version(actor, prepared, old.group, trust=trust_after_edit(actor, old), after=old, now=now)
    copy_carried_fields(old, new, valid_from=draft.valid_from)
    Memory.objects.filter(pk=old.pk).update(superseded_by=new)
    old.refresh_from_db()
    if old.valid_from is not None and old.valid_from > now and draft.valid_from != old.valid_from:
        move_ends(actor, old, draft.valid_from or now, now)
    refresh_around([old, new])
    withdraw_replaced(actor, old)
    payload = {"before": before, "after": snapshot(old), "by": str(new.id)}
    audit.append(actor, Operation.SUPERSEDE, memory_id=old.id, group=old.group.id, payload=payload)
    after = snapshot(new)
    payload = {"before": before, "after": after, "reason": reason}
    audit.append(actor, Operation.EDIT, memory_id=new.id, group=new.group.id, payload=payload)
    return EditResult(EditOutcome.NEW_VERSION, new, old.id, changes(before, after))


def queue_edit(
    actor: Actor, old: Memory, prepared: PreparedDraft, *, doubt: str, now: datetime
) -> EditResult:
    """Write the new text as a candidate that replaces the old one on approval."""
    new = insert_version(actor, prepared, old.group, trust=Trust.CANDIDATE, now=now)
    link_successor(actor, new, old, operation=Operation.EDIT)
    audit.append(
        actor, Operation.STORE, memory_id=new.id, group=new.group.id, payload={"after": snapshot(new)}
    )
    return EditResult(EditOutcome.QUEUED, new, None, changes(snapshot(old), snapshot(new)), doubt)


def trust_after_edit(actor: Actor, old: Memory) -> str:
    """The new version's trust: a person verified the old text, not this one, unless a curator wrote it."""
    is_curator = actor.is_person and actor.may(CURATE, old.group_id)
    return Trust.ACTIVE if old.trust == Trust.VERIFIED and not is_curator else old.trust


def find_edit_doubt(actor: Actor, old: Memory, prepared: PreparedDraft, *, is_decided: bool) -> str:
    """Why a person has to see the new text first; empty if nobody has to."""
    if is_decided:
        refuse_restated(prepared, old)
        return ""
    is_other_text = prepared.draft.content != old.content
    restated = (
        withdrawn_doubt(prepared.current_neighbours(old.group.key), prepared.draft.content)
        if is_other_text and old.trust in (Trust.ACTIVE, Trust.VERIFIED)
        else ""
    )
    return restated or held_back(actor, Change.EDIT, old, confidence=prepared.draft.confidence)


def refuse_restated(prepared: PreparedDraft, old: Memory) -> None:
    """Raise Conflict if a text restates a retracted one; a former text of the same chain is no restatement."""
    neighbours = prepared.current_neighbours(old.group.key)
    if any(v.content == prepared.draft.content and v.state != State.RETRACTED for v in versions_of(old)):
        neighbours = tuple(neighbour for neighbour in neighbours if neighbour.memory.root_key != old.root_key)
    restated = withdrawn_doubt(neighbours, prepared.draft.content)
    if restated:
        raise Conflict(
            f"Nothing was changed: {restated}.",
            hint="Lift its tombstone, or use another text.",
            field="content",
        )


def copy_carried_fields(old: Memory, new: Memory, *, valid_from: datetime | None) -> None:
    """Copy the former version's position and times to the new one: an edit corrects, it does not re-date."""
    values = {name: getattr(old, name) for name in CARRIED_FIELDS} | {"valid_from": valid_from}
    Memory.objects.filter(pk=new.pk).update(**values)
    new.refresh_from_db()


def refuse_barred(group: Group, text: str) -> None:
    """Raise Conflict if a tombstone bars the text from the group."""
    tombstone = find_tombstone(group, text)
    if tombstone is not None:
        raise Conflict(
            f"This text was {tombstone.kind} here before: {tombstone.reason or 'no reason was given'}.",
            hint="A curator can lift the tombstone.",
            field="content",
        )


def update_if_unchanged(memory: Memory, values: dict[str, Any]) -> None:
    """Write fields by compare-and-set: raise Conflict if the row is no longer the one that was decided about."""
    seen = Memory.objects.filter(pk=memory.pk, state=State.LIVE, updated_at=memory.updated_at)
    if seen.update(**values) != 1:
        raise changed_meanwhile(memory)
