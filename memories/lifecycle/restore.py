"""Bringing memories back: what was hidden counts again, what was merged is taken apart, a former text becomes the newest."""

from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import CURATE, WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict
from memories.draft import clean_reason
from memories.lifecycle.edit import (
    EditDraft,
    PreparedEdit,
    as_draft,
    carry_out_edit,
    carry_over,
    prepare_edit,
    refuse_barred,
    refuse_restated,
)
from memories.lifecycle.merge import MergeUndo, plan_undo, undo_moves, undo_text
from memories.lifecycle.target import (
    ChangeResult,
    change,
    check_not_withdrawn,
    check_room_for,
    check_scope,
    live_twin,
    must_be_person,
    named,
    permitted,
)
from memories.models import Memory
from memories.queries.snapshot import changes, snapshot
from memories.queries.versions import head_of
from memories.store import PreparedDraft, insert_version, point_to_successor, prepare_text
from memories.store.derived import DerivedChanges
from memories.store.pieces import available_encoder
from memories.store.search_columns import refresh_around
from memories.types import RecallTreatment, State, Trust, recall_treatment

RESTORABLE: Final = (State.FORGOTTEN, State.EXPIRED, State.COMPACTED, State.MERGED)


def restore(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Let a forgotten, expired, compacted or merged memory count again, exactly the version that is named.

    A merge that a person made is undone, as far as it stands as it was left. A superseded version comes back as the
    newest one of its chain, for a person who curates. A retracted text comes back when its tombstone is lifted.

    Raises:
        Conflict: it is in another state, the same text or a later version of it is live, or its text was withdrawn.
        NotPermitted: it takes a person, or a curator.
    """
    reason = clean_reason(reason)
    memory = named(actor, id_, right=WRITE)
    if memory.state == State.SUPERSEDED:
        return _restore_version(actor, memory, reason=reason, dry_run=dry_run)
    undo = plan_undo(actor, memory) if memory.state == State.MERGED else None
    # One transaction from the first look on: nobody may store the same text in between.
    with transaction.atomic():
        done = _restored(actor, named(actor, id_, right=WRITE), undo, reason=reason, dry_run=dry_run)
        transaction.set_rollback(dry_run)
    return done


def _restored(
    actor: Actor, memory: Memory, undo: MergeUndo | None, *, reason: str, dry_run: bool
) -> ChangeResult:
    if memory.state not in RESTORABLE:
        raise Conflict(
            f"{memory.id} is {memory.state}; 'restore' takes one that is {', '.join(RESTORABLE)}.",
            hint="A retracted text may be stored again once a curator has lifted its tombstone.",
        )
    check_scope(memory)
    check_not_withdrawn(memory)
    texts = undo_text(actor, undo, reason=reason) if undo is not None else ()
    check_room_for(memory)
    now = timezone.now()
    # What comes back is not made to pay for the time it was away: decay starts anew.
    new: dict[str, Any] = {
        "state": State.LIVE, "retired_at": None, "superseded_by": None, "decayed_at": now,
    }  # fmt: skip
    if memory.expires_at is not None and memory.expires_at <= now:
        new["expires_at"] = None
    is_hidden = recall_treatment(State.LIVE, memory.trust) is RecallTreatment.HIDE
    said = f"it is {memory.trust}: recall does not return it yet" if is_hidden else "recall returns it again"

    def follow() -> DerivedChanges | None:
        return undo_moves(actor, undo) if undo is not None else None

    return change(
        actor, memory, Operation.RESTORE, new, (said, *texts), reason=reason, dry_run=dry_run, also=follow
    )


def _restore_version(actor: Actor, version: Memory, *, reason: str, dry_run: bool) -> ChangeResult:
    """Write a superseded version's text as the newest version of what counts now, or of what was retracted."""
    must_be_person(actor, "restore a former version of")
    permitted(actor, version, right=CURATE)
    head = permitted(actor, head_of(version), right=CURATE)
    if head.state not in (State.LIVE, State.RETRACTED) or head.key == version.key:
        raise Conflict(
            f"{head.id}, the version that counts, is {head.state}." if head.key != version.key
            else f"{version.id} has no later version.",
            hint="Restore that one first." if head.key != version.key else "Store its text anew.",
        )  # fmt: skip
    check_scope(version)
    refuse_barred(version.group, version.content)
    again = EditDraft(content=version.content, type=version.type, valid_from=version.valid_from)
    if head.state == State.LIVE:
        ready: PreparedEdit | PreparedDraft = prepare_edit(actor, head.id, again)
    else:
        ready = prepare_text(actor, as_draft(version), encoder=available_encoder())
    with transaction.atomic():
        new = _written_again(actor, version, head, ready, reason=reason)
        what = changes(snapshot(head), snapshot(new))
        transaction.set_rollback(dry_run)
    said = ("its text is the newest version again", f"{version.id} itself stays as history")
    return ChangeResult(
        Operation.RESTORE.value, head.id if dry_run else new.id, State.LIVE, new.trust, 0 if dry_run else 1, said,
        dry_run, changes=what,
    )  # fmt: skip


def _written_again(
    actor: Actor, version: Memory, head: Memory, ready: PreparedEdit | PreparedDraft, *, reason: str
) -> Memory:
    if isinstance(ready, PreparedEdit):
        new = carry_out_edit(actor, ready, reason=reason, is_decided=True).memory
    else:
        new = _after_retracted(actor, version, head, ready)
    audit.append(
        actor,
        Operation.RESTORE,
        memory_id=new.id,
        group=new.group.id,
        payload={"after": snapshot(new), "version": str(version.id), "reason": reason},
    )
    return new


def _after_retracted(actor: Actor, version: Memory, head: Memory, ready: PreparedDraft) -> Memory:
    """Write the text as the successor of a retracted head."""
    refuse_barred(version.group, version.content)
    refuse_restated(ready, head)
    twin = live_twin(version)
    if twin is not None:
        raise Conflict(f"The same text is live as {twin.id}.", hint="There is nothing to restore.")
    now = timezone.now()
    new = insert_version(actor, ready, version.group, trust=Trust.ACTIVE, after=head, now=now)
    carry_over(version, new, valid_from=version.valid_from)
    # An end that came with the version's successor is none any more.
    Memory.objects.filter(pk=new.pk).update(valid_to=None, valid_to_known_at=None)
    if not point_to_successor(actor, head, new):
        raise Conflict(f"{head.id} was changed by somebody else just now.", hint="Look at it and repeat.")
    new.refresh_from_db()
    refresh_around([new])
    return new
