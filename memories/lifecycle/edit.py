"""Editing: a new text, type or time becomes a new version and never overwrites the old; other fields change in place."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.text import capfirst

from access import audit
from access.actor import WRITE, Actor
from access.audit import one_change
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput
from access.groups import hold_groups
from access.groups.guarding import TextFinding
from access.limits.quota import GroupRoom
from memories.draft import (
    EDITED,
    STORED,
    Draft,
    EditDraft,
    check_draft,
    clean_reason,
    edited_names,
    guard_draft,
    held_for_person,
)
from memories.draft.kinds import check_ahead
from memories.draft.registry import OnEdit
from memories.lifecycle.approve import CARRIED_FIELDS
from memories.lifecycle.propose import memory_version, propose
from memories.models import Memory, Unprobed
from memories.queries.by_text import describe_twin
from memories.queries.snapshot import as_json, changes, snapshot
from memories.queries.versions import find_memory, head_of, versions_of
from memories.store import PreparedDraft, find_exact, insert_version, prepare_text, record_findings
from memories.store.change import change_row, changed_meanwhile
from memories.store.derived import withdraw_summaries
from memories.store.for_review import link_neighbours, link_successor, settle_doubts
from memories.store.neighbours import Neighbour
from memories.store.pieces import available_encoder
from memories.store.policy import Change, held_back, refuse_write
from memories.store.supersede import move_ends, rows_called_off
from memories.store.threads import refresh_around
from memories.store.withdrawn.marks import (
    LABELS,
    Withdrawn,
    find_withdrawn,
    find_withdrawn_labels,
    refuse_withdrawn_reason,
    repeated_text,
)
from memories.store.withdrawn.near import UNPROBED, restated_doubt, with_marked
from memories.types import VISIBLE_TRUSTS, State, Trust

_VERSIONED: Final = frozenset(field.name for field in EDITED if field.on_edit is OnEdit.NEW_VERSION)
TIMES: Final = frozenset({"valid_from", "valid_to"})  # a new version with the same text
_CARRIED: Final = tuple(field.name for field in STORED if field.is_carried)
_CARRIED_VALUES = attrgetter(*_CARRIED)
IN_PLACE: Final = tuple(field.name for field in EDITED if field.on_edit is OnEdit.IN_PLACE)
EDIT_FIELDS: Final = "edit"  # the verb of a proposal that changes other fields than the text and type


class EditOutcome:
    """The outcomes of an edit."""

    NEW_VERSION = "new_version"
    CHANGED = "changed"  # in place: the text is the same
    QUEUED = "queued"  # waits for a curator: a new text as a candidate next to it, other fields as a proposal


@dataclass(frozen=True)
class EditResult:
    """The result of an edit: the current (or queued) memory, the version it replaces, and the differences.

    `proposal` is the id under which a change of other fields than the text waits, `findings` what the guard found.
    """

    outcome: str
    memory: Memory
    replaced: UUID | None
    changes: dict[str, list[Any]]
    why: str = ""
    proposal: UUID | None = None
    findings: tuple[TextFinding, ...] = ()


@one_change
def edit(
    actor: Actor,
    id_: str | UUID,
    change: EditDraft,
    *,
    reason: str = "",
    dry_run: bool = False,
    is_decided: bool = False,
) -> EditResult:
    """Change a live memory; the id of any version means the current one.

    1. check the fields; if the text, type or time differs: embed and probe, before any transaction
    2. in one transaction: check that the row is unchanged, that no tombstone bars the text and that it is not live
       elsewhere; then write a new version of the chain (the old row: superseded, retired, valid time untouched) or
       change the fields in place; audit

    A verified memory becomes active again if a person who is not a curator changes its text. Where memories.store.policy
    holds the edit back, the new text waits as a candidate, or the other fields as a proposal; the memory stays as it is.
    `is_decided`: a curator has decided about this change, so it does not wait: see carry_out_edit().

    Raises:
        InvalidInput, TooLarge: a value is not allowed, or no field is named.
        SensitiveText: a new text holds what the group's policy refuses.
        Conflict: nothing differs, it is not live, it changed meanwhile, or the text is barred or live already.
        NotFound, NotPermitted: the actor may not see, or may not write, the memory.
    """
    reason = clean_reason(reason)
    ready = prepare_edit(actor, id_, change)
    with transaction.atomic():
        hold_groups([ready.memory.group_id])
        edited = carry_out_edit(actor, ready, reason=reason, is_decided=is_decided)
        transaction.set_rollback(dry_run)
    owed_because = ready.prepared.embedded.owed_because if ready.prepared is not None else ""
    why = "; ".join(filter(None, (edited.why, owed_because)))
    edited = replace(edited, why=why, findings=ready.draft.findings)
    return replace(edited, proposal=None) if dry_run else edited


@dataclass(frozen=True)
class _EditDoubt:
    """Why a person must see a new text first (no reason: no person must), and the memories near it.

    `guard`: the text waits in quarantine. `awaits`: the comparison with the withdrawn texts is owed; the trust that the
    text gets after it, empty if it waits for a curator in any case.
    """

    withdrawn: str = ""
    policy: str = ""
    near: tuple[Neighbour, ...] = ()
    awaits: str | None = None
    guard: str = ""

    @property
    def why(self) -> str:
        """The reason in words."""
        return self.guard or self.withdrawn or self.policy

    def holds(self, old: Memory) -> bool:
        """True if the new text waits next to the old one.

        A memory that recall does not return may get any text, since a person decides about it anyway.
        """
        return bool(self.guard or self.policy) or (bool(self.withdrawn) and old.trust in VISIBLE_TRUSTS)


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
    memory = _find_editable(actor, id_, change)
    now = as_draft(memory)
    draft = check_draft(replace(now, **change.wanted(), allow=change.allow))
    # What was stored before stays.
    draft = guard_draft(draft, memory.group, actor.door, names=edited_names(now, draft))
    if not (differing := edited_names(now, draft)):
        raise Conflict(f"{memory.id} already has these values.", hint="Nothing was changed.")
    if "expires_at" in differing:
        check_ahead(draft.expires_at, field="expires_at")
    is_versioned = not differing.isdisjoint(_VERSIONED)
    prepared = prepare_text(actor, draft, encoder=available_encoder()) if is_versioned else None
    return PreparedEdit(memory, draft, frozenset(differing), prepared)


def carry_out_edit(actor: Actor, ready: PreparedEdit, *, reason: str, is_decided: bool = False) -> EditResult:
    """Write what prepare_edit() prepared; inside a transaction.

    `is_decided`: a curator chose this text, so no policy holds it back; restating a retracted text is then a
    Conflict, since no person is left to decide about it.
    """
    refuse_withdrawn_reason(actor, ready.memory.group, reason)
    labels = [name for name in LABELS if name in ready.differing]
    [repeated] = find_withdrawn_labels([(ready.memory.group, ready.draft)], names=labels)
    if repeated is not None:
        raise repeated_text(actor, repeated[1], path=repeated[0])
    # A candidate next to the memory would be the same text twice, so new times wait as fields do.
    if ready.differing.isdisjoint(_VERSIONED - TIMES):
        change = change_of(ready.differing)
        why = "" if is_decided else held_back(actor, change, ready.memory, confidence=ready.draft.confidence)
        if why:
            return _propose_fields(actor, ready, why=why, reason=reason)
    if ready.prepared is None:
        return _change_in_place(actor, ready.memory, ready.draft, ready.differing, reason=reason)
    return _write_version(actor, ready.memory, ready.prepared, reason=reason, is_decided=is_decided)


def change_of(differing: Collection[str]) -> Change:
    """What the table of memories.store.policy calls a change of these fields, none of which is the text or type."""
    if not TIMES.isdisjoint(differing):
        return Change.EDIT
    return Change.EXPIRE if "expires_at" in differing else Change.LABEL


def _propose_fields(actor: Actor, ready: PreparedEdit, *, why: str, reason: str) -> EditResult:
    """Record the change of fields other than the text and type as a proposal; inside the transaction."""
    memory = ready.memory
    names = [field.name for field in EDITED if field.name in ready.differing]
    wanted: dict[str, Any] = {name: as_json(getattr(ready.draft, name)) for name in names}
    proposal = propose(
        actor, EDIT_FIELDS, group=memory.group, memory=memory, version=memory_version(memory), arguments=wanted,
        reason=reason, why=why,
    )  # fmt: skip
    changed = {name: [as_json(getattr(memory, name)), value] for name, value in wanted.items()}
    return EditResult(EditOutcome.QUEUED, memory, None, changed, why, proposal.id)


def _find_editable(actor: Actor, id_: str | UUID, change: EditDraft) -> Memory:
    """The live memory that an edit changes; raises as edit() does."""
    memory = head_of(find_memory(actor, id_))
    if not actor.may(WRITE, memory.group_id):
        refuse_write(actor, memory)
    if not change.wanted():
        allowed = ", ".join(field.name for field in EDITED)
        raise InvalidInput("The edit names no field.", hint=f"Pass one or more of: {allowed}.")
    if memory.state != State.LIVE:
        raise Conflict(f"{memory.id} is {memory.state}; only a live memory can be edited.")
    if called_off := rows_called_off(memory):
        raise Conflict(
            f"{memory.id} is {memory.trust}, and {called_off[0].id} is still current.",
            hint="Edit that one, or approve this one first.",
        )
    if change.version is not None and change.version != memory.version:
        raise Conflict(
            f"{memory.id} now has version {memory.version}, not {change.version}.",
            hint="Read it again and repeat the change.",
            field="version",
        )
    return memory


def as_draft(memory: Memory) -> Draft:
    """The draft that would store this memory; its thread position and source stay with the root."""
    values = dict(zip(_CARRIED, _CARRIED_VALUES(memory), strict=True)) | {"tags": tuple(memory.tags)}
    return Draft(**values, group=memory.group.slug)


def _change_in_place(
    actor: Actor, memory: Memory, draft: Draft, differing: Collection[str], *, reason: str
) -> EditResult:
    """Write fields other than the text, type and time; inside the transaction."""
    values: dict[str, Any] = {name: getattr(draft, name) for name in differing}
    if "tags" in values:
        values["tags"] = list(draft.tags)
    seen = {"state": State.LIVE, "updated_at": memory.updated_at}
    changed = change_row(actor, Operation.EDIT, memory, values, seen=seen, reason=reason)
    record_findings([(memory, draft.findings)])
    return EditResult(EditOutcome.CHANGED, memory, None, changed)


def _write_version(
    actor: Actor, old: Memory, prepared: PreparedDraft, *, reason: str, is_decided: bool
) -> EditResult:
    """Write the next row of the chain, or a candidate next to it if a person must decide; inside the transaction."""
    draft, now, withdrawn = prepared.draft, timezone.now(), None
    if draft.content != old.content:
        withdrawn = find_withdrawn(old.group, old.scope, draft.content)
    if withdrawn is not None and withdrawn.is_refused:
        raise Conflict(capfirst(withdrawn.describe(actor)), field="content")
    twin = find_exact(old.group.key, draft)
    if twin is not None and twin.key != old.key:
        hint = "Retract one of the two." if twin.state == State.LIVE else "If it stays true, forget the plan."
        raise Conflict(describe_twin(twin), hint=hint, field="content")
    doubt = _find_edit_doubt(actor, old, prepared, withdrawn, is_decided=is_decided)
    if doubt.holds(old):
        return _queue_edit(actor, old, prepared, doubt=doubt, now=now)
    GroupRoom().take(old.group, [draft.content], [old.content])
    before = snapshot(old)
    seen = Memory.objects.filter(pk=old.pk, state=State.LIVE, updated_at=old.updated_at)
    values = {"state": State.SUPERSEDED, "retired_at": now, "state_changed_at": now, "updated_at": now}
    if seen.update(**values) != 1:
        raise changed_meanwhile(old)
    new = insert_version(actor, prepared, old.group, trust=_trust_after_edit(actor, old), after=old, now=now)
    # An edit corrects, it does not re-date.
    carried = {name: getattr(old, name) for name in CARRIED_FIELDS} | {"valid_from": draft.valid_from}
    Memory.objects.filter(pk=new.pk).update(**carried)
    new.refresh_from_db()
    Memory.objects.filter(pk=old.pk).update(superseded_by=new)
    old.refresh_from_db()
    if draft.valid_from != old.valid_from:
        move_ends(actor, old, draft.valid_from or now, now)
    refresh_around([old, new])
    withdraw_summaries(actor, old)
    if actor.decides(old.group_id):  # an agent's edit decides nothing
        settle_doubts(actor, old, Operation.EDIT)
    _note_doubt(actor, new, doubt)
    payload = {"before": before, "after": snapshot(old), "by": str(new.id)}
    audit.append(actor, Operation.SUPERSEDE, memory_id=old.id, group=old.group.id, payload=payload)
    after = snapshot(new)
    payload = {"before": before, "after": after, "reason": reason}
    size = len(new.content)
    audit.append(actor, Operation.EDIT, memory_id=new.id, group=new.group.id, payload=payload, chars=size)
    return EditResult(EditOutcome.NEW_VERSION, new, old.id, changes(before, after))


def _queue_edit(
    actor: Actor, old: Memory, prepared: PreparedDraft, *, doubt: _EditDoubt, now: datetime
) -> EditResult:
    """Write the new text as a candidate that replaces the old one on approval."""
    GroupRoom().take(old.group, [prepared.draft.content])
    is_held = doubt.guard or (old.trust == Trust.QUARANTINED and prepared.draft.content == old.content)
    trust = Trust.QUARANTINED if is_held else Trust.CANDIDATE
    new = insert_version(actor, prepared, old.group, trust=trust, now=now)
    link_successor(actor, new, old, operation=Operation.EDIT)
    _note_doubt(actor, new, doubt)
    payload, size = {"after": snapshot(new)}, len(new.content)
    audit.append(actor, Operation.STORE, memory_id=new.id, group=new.group.id, payload=payload, chars=size)
    return EditResult(EditOutcome.QUEUED, new, None, changes(snapshot(old), snapshot(new)), doubt.why)


def _trust_after_edit(actor: Actor, old: Memory) -> str:
    """The new version's trust: a person verified the old text, not this one, unless a curator wrote it."""
    is_curator = actor.decides(old.group_id)
    return Trust.ACTIVE if old.trust == Trust.VERIFIED and not is_curator else old.trust


def _find_edit_doubt(
    actor: Actor, old: Memory, prepared: PreparedDraft, withdrawn: Withdrawn | None, *, is_decided: bool
) -> _EditDoubt:
    """Why a person has to see the new text first; without a reason if no person has to.

    `withdrawn` is the text that the new one's marks repeat.
    """
    is_same_text = prepared.draft.content == old.content
    neighbours = prepared.current_neighbours(old.group.key)
    if is_decided:
        if not is_same_text:
            _refuse_restated(actor, neighbours, prepared, old, withdrawn)
        return _EditDoubt(near=neighbours)
    policy = held_back(actor, Change.EDIT, old, confidence=prepared.draft.confidence)
    if quarantined := held_for_person(prepared.draft):
        return _EditDoubt(policy=policy, guard=quarantined)
    if is_same_text:
        return _EditDoubt(policy=policy, near=neighbours)
    restated = restated_doubt(actor, old.group, withdrawn, neighbours)
    [near] = with_marked([neighbours], [withdrawn])
    if prepared.is_probed(old.group.key):
        return _EditDoubt(restated, policy, near)
    awaits = "" if restated or policy or old.trust not in VISIBLE_TRUSTS else _trust_after_edit(actor, old)
    return _EditDoubt(restated or UNPROBED, policy, near, awaits=awaits)


def _note_doubt(actor: Actor, new: Memory, doubt: _EditDoubt) -> None:
    """Link a new version to the memories near it, as a store does, and record a comparison that is still owed."""
    link_neighbours(actor, new, doubt.near, has_links=True)
    if doubt.awaits is not None and new.trust == Trust.CANDIDATE:
        Unprobed.objects.create(memory=new, trust=doubt.awaits)


def _refuse_restated(
    actor: Actor,
    neighbours: tuple[Neighbour, ...],
    prepared: PreparedDraft,
    old: Memory,
    withdrawn: Withdrawn | None,
) -> None:
    """Raise Conflict if a text restates a withdrawn one; a former text of the same chain is not a restatement."""
    if any(v.content == prepared.draft.content and v.state != State.RETRACTED for v in versions_of(old)):
        neighbours = tuple(neighbour for neighbour in neighbours if neighbour.memory.root_key != old.root_key)
    if restated := restated_doubt(actor, old.group, withdrawn, neighbours):
        raise Conflict(
            f"Nothing was changed: {restated}.",
            hint="Lift its tombstone, or use another text.",
            field="content",
        )
