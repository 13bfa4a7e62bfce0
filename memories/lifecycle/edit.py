"""Editing: what a memory says is never overwritten. A new text, type or time is a new version; the rest changes in place."""

from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import Enum
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import CURATE, WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput
from access.models import Group
from memories.draft import Draft, check_draft, clean_reason
from memories.lifecycle.approve import CARRIED
from memories.models import Memory
from memories.queries.snapshot import changes, snapshot
from memories.queries.versions import find_head_to_replace, find_memory, versions_of
from memories.store import (
    PreparedDraft,
    find_exact,
    insert_version,
    link_successor,
    prepare_text,
    withdrawn_doubt,
)
from memories.store.derived import withdraw_replaced
from memories.store.pieces import available_encoder
from memories.store.policy import policy_doubt, refuse_write
from memories.store.search_columns import refresh_around
from memories.store.tombstones import find_tombstone
from memories.types import State, Trust


class Unset(Enum):
    """Stands for a field that the caller does not name; None is a value."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unset.UNCHANGED
VERSIONED: Final = ("content", "type", "valid_from")
IN_PLACE: Final = ("tags", "importance", "expires_at", "metadata")


class EditOutcome:
    """What became of an edit."""

    NEW_VERSION = "new_version"
    CHANGED = "changed"  # in place: what the memory says is the same
    QUEUED = "queued"  # written as a candidate beside it, waits for a person


@dataclass(frozen=True)
class EditDraft:
    """What is to be different. `version`, where given, must be the memory's own: else somebody else was first."""

    content: str | Unset = UNCHANGED
    type: str | Unset = UNCHANGED
    valid_from: datetime | Unset | None = UNCHANGED
    tags: tuple[str, ...] | Unset = UNCHANGED
    importance: int | Unset = UNCHANGED
    expires_at: datetime | Unset | None = UNCHANGED
    metadata: dict[str, Any] | Unset = UNCHANGED
    version: int | None = None

    def wanted(self) -> dict[str, Any]:
        """Give the fields that the caller names."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "version"}
        return {name: value for name, value in named.items() if value is not UNCHANGED}


@dataclass(frozen=True)
class EditResult:
    """The answer to an edit: the memory as it counts now (or waits), the version it replaces, and what differs."""

    outcome: str
    memory: Memory
    replaced: UUID | None
    changes: dict[str, list[Any]]
    why: str = ""


def edit(
    actor: Actor, id_: str | UUID, change: EditDraft, *, reason: str = "", dry_run: bool = False
) -> EditResult:
    """Change a live memory; any version's id means the one that counts.

    1. check the fields; where the text, type or time differs: embed and probe, before any transaction
    2. in one transaction: is it still what was seen? a tombstone? the same text elsewhere? Then a new version of the
       chain (the old row: superseded, retired, its valid time untouched), or the fields in place; audit

    A verified memory whose text a non-curator changes is active again. Where the group holds the actor's writes back,
    the new text waits as a candidate and the old one counts on.

    Raises:
        InvalidInput, TooLarge: a value is not allowed, or nothing is named.
        Conflict: nothing would differ, it does not count, it changed meanwhile, or the text is barred or live already.
        NotFound, NotPermitted: the memory is not among what the actor may see, or may write.
    """
    reason = clean_reason(reason)
    ready = prepare_edit(actor, id_, change)
    with transaction.atomic():
        edited = carry_out_edit(actor, ready, reason=reason)
        transaction.set_rollback(dry_run)
    return edited


@dataclass(frozen=True)
class PreparedEdit:
    """An edit with all that could be worked out before the transaction: the memory, how it shall read, what differs.

    `prepared` is None where only fields beside the text differ.
    """

    memory: Memory
    draft: Draft
    differing: frozenset[str]
    prepared: PreparedDraft | None


def prepare_edit(actor: Actor, id_: str | UUID, change: EditDraft) -> PreparedEdit:
    """Do all of edit() that comes before its transaction; writes nothing. Raises as edit() does."""
    memory = _target(actor, id_, change)
    draft = check_draft(replace(as_draft(memory), **change.wanted()))
    differing = {name for name in (*VERSIONED, *IN_PLACE) if _of(memory, name) != getattr(draft, name)}
    if not differing:
        raise Conflict(f"{memory.id} reads so already.", hint="Nothing was done.")
    is_versioned = not differing.isdisjoint(VERSIONED)
    prepared = prepare_text(actor, draft, encoder=available_encoder()) if is_versioned else None
    return PreparedEdit(memory, draft, frozenset(differing), prepared)


def carry_out_edit(actor: Actor, ready: PreparedEdit, *, reason: str, is_decided: bool = False) -> EditResult:
    """Write what prepare_edit() made ready; inside a transaction.

    `is_decided`: a curator means this text, so no policy holds it back; what restates a retracted text is a Conflict
    then, since nobody is left to wait for.
    """
    if ready.prepared is None:
        return _in_place(actor, ready.memory, ready.draft, set(ready.differing), reason=reason)
    return _new_version(actor, ready.memory, ready.prepared, reason=reason, is_decided=is_decided)


def _target(actor: Actor, id_: str | UUID, change: EditDraft) -> Memory:
    memory = find_head_to_replace(find_memory(actor, id_))
    if not actor.may(WRITE, memory.group_id):
        refuse_write(memory.group.slug)
    if not change.wanted():
        allowed = ", ".join((*VERSIONED, *IN_PLACE))
        raise InvalidInput("Nothing is named that could change.", hint=f"Give one or more of: {allowed}.")
    if memory.state != State.LIVE:
        raise Conflict(f"{memory.id} is {memory.state}; only a live memory can be edited.")
    if change.version is not None and change.version != memory.version:
        raise Conflict(
            f"{memory.id} has version {memory.version} by now, not {change.version}.",
            hint="Read it again and repeat the change.",
            field="version",
        )
    return memory


def as_draft(memory: Memory) -> Draft:
    """Give what a caller would have said to store this memory; its place and source stay with the root."""
    return Draft(
        memory.content,
        type=memory.type,
        group=memory.group.slug,
        scope=memory.scope,
        tags=tuple(memory.tags),
        metadata=memory.metadata,
        confidence=memory.confidence,
        importance=memory.importance,
        source=memory.source,
        valid_from=memory.valid_from,
        valid_to=memory.valid_to,
        expires_at=memory.expires_at,
    )


def _of(memory: Memory, name: str) -> Any:
    return tuple(memory.tags) if name == "tags" else getattr(memory, name)


def _in_place(actor: Actor, memory: Memory, draft: Draft, differing: set[str], *, reason: str) -> EditResult:
    before = snapshot(memory)
    values = {name: getattr(draft, name) for name in differing} | {"updated_at": timezone.now()}
    if "tags" in values:
        values["tags"] = list(draft.tags)
    _replace_row(memory, values)
    memory.refresh_from_db()
    refresh_around([memory])  # tags are searched as words
    what = changes(before, snapshot(memory))
    _log(actor, memory, {"changes": what, "reason": reason})
    return EditResult(EditOutcome.CHANGED, memory, None, what)


def _new_version(
    actor: Actor, old: Memory, prepared: PreparedDraft, *, reason: str, is_decided: bool
) -> EditResult:
    """Write the next row of the chain, or a candidate beside it; inside the transaction."""
    draft, now = prepared.draft, timezone.now()
    if draft.content != old.content:
        refuse_barred(old.group, draft.content)
    twin = find_exact(old.group.key, draft)
    if twin is not None and twin.key != old.key:
        raise Conflict(
            f"The same text is live as {twin.id}.", hint="Retract one of the two.", field="content"
        )
    doubt = _doubt(actor, old, prepared, is_decided=is_decided)
    counts = old.trust in (Trust.ACTIVE, Trust.VERIFIED)
    if doubt and counts:
        return _queued(actor, old, prepared, doubt=doubt, now=now)
    before = snapshot(old)
    _replace_row(
        old, {"state": State.SUPERSEDED, "retired_at": now, "state_changed_at": now, "updated_at": now}
    )
    new = insert_version(actor, prepared, old.group, trust=_trust_after(actor, old), after=old, now=now)
    carry_over(old, new, valid_from=draft.valid_from)
    Memory.objects.filter(pk=old.pk).update(superseded_by=new)
    old.refresh_from_db()
    refresh_around([old, new])
    withdraw_replaced(actor, old)
    audit.append(
        actor,
        Operation.SUPERSEDE,
        memory_id=old.id,
        group=old.group.id,
        payload={"before": before, "after": snapshot(old), "by": str(new.id)},
    )
    what = changes(before, snapshot(new))
    _log(actor, new, {"before": before, "after": snapshot(new), "reason": reason})
    return EditResult(EditOutcome.NEW_VERSION, new, old.id, what)


def _queued(actor: Actor, old: Memory, prepared: PreparedDraft, *, doubt: str, now: datetime) -> EditResult:
    new = insert_version(actor, prepared, old.group, trust=Trust.CANDIDATE, now=now)
    link_successor(actor, new, old, operation=Operation.EDIT)
    audit.append(
        actor, Operation.STORE, memory_id=new.id, group=new.group.id, payload={"after": snapshot(new)}
    )
    return EditResult(EditOutcome.QUEUED, new, None, changes(snapshot(old), snapshot(new)), doubt)


def _trust_after(actor: Actor, old: Memory) -> str:
    """Give the new version's trust: another text is not what a person confirmed, unless a curator wrote it."""
    is_curator = actor.is_person and actor.may(CURATE, old.group_id)
    return Trust.ACTIVE if old.trust == Trust.VERIFIED and not is_curator else old.trust


def _doubt(actor: Actor, old: Memory, prepared: PreparedDraft, *, is_decided: bool) -> str:
    """Say why a person has to look at the new text first; empty where nobody has to."""
    if is_decided:
        refuse_restated(prepared, old)
        return ""
    is_other_text = prepared.draft.content != old.content
    restated = (
        withdrawn_doubt(prepared.current_neighbours(old.group.key), prepared.draft.content)
        if is_other_text
        else ""
    )
    return restated or policy_doubt(actor, old.group, prepared.draft.confidence)


def refuse_restated(prepared: PreparedDraft, old: Memory) -> None:
    """Raise Conflict where a text restates what was retracted; a text that the chain had before is no restatement."""
    nears = prepared.current_neighbours(old.group.key)
    if any(v.content == prepared.draft.content and v.state != State.RETRACTED for v in versions_of(old)):
        nears = tuple(near for near in nears if near.memory.root_key != old.root_key)
    restated = withdrawn_doubt(nears, prepared.draft.content)
    if restated:
        raise Conflict(
            f"Nothing was done: {restated}.", hint="Lift its tombstone, or use another text.", field="content"
        )


def carry_over(old: Memory, new: Memory, *, valid_from: datetime | None) -> None:
    """Let the version stand where the former stood, with its valid time: an edit corrects, it does not date anew."""
    kept = {name: getattr(old, name) for name in CARRIED} | {"valid_from": valid_from}
    Memory.objects.filter(pk=new.pk).update(**kept)
    new.refresh_from_db()


def refuse_barred(group: Group, text: str) -> None:
    """Raise Conflict where a tombstone bars a text from the group."""
    tombstone = find_tombstone(group, text)
    if tombstone is not None:
        raise Conflict(
            f"This text was {tombstone.kind} here before: {tombstone.reason or 'no reason was given'}.",
            hint="A curator can lift the tombstone.",
            field="content",
        )


def _replace_row(memory: Memory, values: dict[str, Any]) -> None:
    """Write fields by compare-and-set: what was decided must still be what is there."""
    seen = Memory.objects.filter(pk=memory.pk, state=State.LIVE, updated_at=memory.updated_at)
    if seen.update(**values) != 1:
        raise Conflict(
            f"{memory.id} was changed by somebody else just now.", hint="Look at it again and repeat."
        )


def _log(actor: Actor, memory: Memory, payload: dict[str, Any]) -> None:
    audit.append(actor, Operation.EDIT, memory_id=memory.id, group=memory.group.id, payload=payload)
