"""Restoring: a hidden memory becomes live again, a merge is undone, a former text becomes the newest version."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, pgettext

from access import audit
from access.actor import WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict
from access.groups.locks import hold_groups
from access.models import AuditEntry
from memories.draft import EditDraft, clean_reason
from memories.lifecycle.edit import (
    PreparedEdit,
    as_draft,
    carry_out_edit,
    copy_carried_fields,
    prepare_edit,
    refuse_barred,
    refuse_restated,
)
from memories.lifecycle.merge import MergeUndo, plan_undo, restore_former_text, undo_merge_moves
from memories.lifecycle.propose import change_or_propose
from memories.lifecycle.target import (
    ChangeResult,
    change_fields,
    check_no_live_copy,
    check_not_barred,
    check_not_withdrawn,
    check_scope,
    find_live_twin,
    find_version,
    require_right,
)
from memories.models import Memory, Tombstone, TombstoneKind
from memories.queries.labels import doubts_of
from memories.queries.snapshot import changes, snapshot
from memories.queries.versions import head_of
from memories.store import (
    PreparedDraft,
    changed_meanwhile,
    insert_version,
    point_to_successor,
    prepare_text,
    rows_called_off,
)
from memories.store.derived import DerivedChanges
from memories.store.pieces import available_encoder
from memories.store.policy import Change
from memories.store.search_columns import refresh_around
from memories.store.withdrawn.tombstones import lay_tombstone, lift
from memories.types import VISIBLE_TRUSTS, RecallTreatment, State, Trust, recall_treatment

UNDO_HOURS: Final = 24  # an agent can take back its own retraction for so long
RESTORABLE: Final = (State.FORGOTTEN, State.EXPIRED, State.COMPACTED, State.MERGED)


def restore(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Make a forgotten, expired, compacted or merged memory live again: exactly the version with this id.

    A merge by a person is undone, except for what has been changed since. A superseded version comes back as the
    newest one of its chain. A retracted text comes back by lifting its tombstone, or by an agent that retracted it by
    mistake less than UNDO_HOURS ago. Where memories.store.policy holds the change back, it waits as a proposal.

    Raises:
        Conflict: it is in another state, the same text or a later version of it is live, or its text was withdrawn.
        NotPermitted: a person, or a curator, is needed.
    """
    reason = clean_reason(reason)
    memory = find_version(actor, id_, right=WRITE)
    if memory.state == State.SUPERSEDED:
        return restore_superseded(actor, memory, reason=reason, dry_run=dry_run)
    if memory.state == State.RETRACTED and is_own_retraction(actor, memory):
        return restore_retracted(actor, memory, reason=reason, dry_run=dry_run)
    undo = plan_undo(actor, memory) if memory.state == State.MERGED else None
    # One transaction from the first read on: nobody may store the same text in between.
    with transaction.atomic():
        hold_groups([memory.group_id])
        memory = find_version(actor, id_, right=WRITE)
        done = restore_row(actor, memory, undo, reason=reason, dry_run=dry_run)
        transaction.set_rollback(dry_run)
    return done


def restore_row(
    actor: Actor, memory: Memory, undo: MergeUndo | None, *, reason: str, dry_run: bool
) -> ChangeResult:
    """Make the row live again and undo its merge; inside the transaction."""
    if memory.state not in RESTORABLE:
        raise Conflict(
            f"{memory.id} is {memory.state}; 'restore' needs a memory that is {' or '.join(RESTORABLE)}.",
            hint=hint_instead(memory),
        )
    check_scope(memory)
    check_not_withdrawn(actor, memory)
    text_consequences = restore_former_text(actor, undo, reason=reason) if undo is not None else ()
    check_no_live_copy(memory)
    now = timezone.now()
    # Decay restarts now: the memory does not pay for the time it was away.
    new: dict[str, Any] = {
        "state": State.LIVE, "retired_at": None, "superseded_by": None, "decayed_at": now,
    }  # fmt: skip
    if memory.expires_at is not None and memory.expires_at <= now:
        new["expires_at"] = None
    is_hidden = recall_treatment(State.LIVE, memory.trust) is RecallTreatment.HIDE
    consequence = (
        gettext("it is {trust}: recall does not return it yet").format(trust=pgettext("word", memory.trust))
        if is_hidden
        else gettext("recall returns it again")
    )

    def follow_up() -> DerivedChanges | None:
        return undo_merge_moves(actor, undo) if undo is not None else None

    return change_fields(
        actor, memory, Operation.RESTORE, new, (consequence, *text_consequences),
        reason=reason, dry_run=dry_run, follow_up=follow_up,
    )  # fmt: skip


def hint_instead(memory: Memory) -> str:
    """What to do with a memory that 'restore' does not fit."""
    if memory.state != State.LIVE:
        return (
            "A retracted text can be stored again after a curator lifts its tombstone; "
            f"an agent can restore what it retracted itself for {UNDO_HOURS} hours."
        )
    if doubts_of(memory):
        return gettext(
            "It is disputed. A curator decides: 'verify' or 'approve' if it is right, 'reject' if it is wrong."
        )
    if memory.trust in VISIBLE_TRUSTS:
        return gettext("There is nothing to restore.")
    return gettext("Its trust is '{trust}'. A curator decides: 'approve' lets it in.").format(
        trust=pgettext("word", memory.trust)
    )


def restore_superseded(actor: Actor, version: Memory, *, reason: str, dry_run: bool) -> ChangeResult:
    """Write a superseded version's text as the newest version of its chain, or propose it."""
    head = require_right(actor, head_of(version), right=WRITE)

    def run(dry_run: bool) -> ChangeResult:
        return restore_version(actor, version, reason=reason, dry_run=dry_run)

    return change_or_propose(
        actor, Change.RESTORE_VERSION, head, run, reason=reason, dry_run=dry_run,
        arguments={"version": str(version.id)},
    )  # fmt: skip


def restore_version(actor: Actor, version: Memory, *, reason: str, dry_run: bool) -> ChangeResult:
    """Write a superseded version's text as the newest version of its chain, whose head is live or retracted."""
    head = require_right(actor, head_of(version), right=WRITE)
    if head.key == version.key:
        raise Conflict(f"{version.id} has no later version.", hint="Store its text again.")
    if head.state not in (State.LIVE, State.RETRACTED):
        raise Conflict(f"{head.id}, the current version, is {head.state}.", hint="Restore that one first.")
    check_scope(version)
    refuse_barred(actor, version.group, version.scope, version.content)
    former = EditDraft(content=version.content, type=version.type, valid_from=version.valid_from)
    if head.state == State.LIVE:
        ready: PreparedEdit | PreparedDraft = prepare_edit(actor, head.id, former)
    else:
        ready = prepare_text(actor, as_draft(version), encoder=available_encoder())
    with transaction.atomic():
        hold_groups([version.group_id])
        if isinstance(ready, PreparedEdit):
            new = carry_out_edit(actor, ready, reason=reason, is_decided=True).memory
        else:
            new = write_after_retracted(actor, version, head, ready)
        audit.append(
            actor,
            Operation.RESTORE,
            memory_id=new.id,
            group=new.group.id,
            payload={"after": snapshot(new), "version": str(version.id), "reason": reason},
        )
        differences = changes(snapshot(head), snapshot(new))
        transaction.set_rollback(dry_run)
    consequences = (
        gettext("its text is the newest version again"),
        gettext("{id} itself stays as history").format(id=version.id),
    )
    return ChangeResult(
        Operation.RESTORE.value, head.id if dry_run else new.id, State.LIVE, new.trust, 0 if dry_run else 1,
        consequences, dry_run, changes=differences,
    )  # fmt: skip


def write_after_retracted(actor: Actor, version: Memory, head: Memory, ready: PreparedDraft) -> Memory:
    """Write the version's text as the successor of a retracted head; inside the transaction."""
    refuse_barred(actor, version.group, version.scope, version.content)
    refuse_restated(actor, ready, head)
    twin = find_live_twin(version)
    if twin is not None:
        raise Conflict(f"The same text is live as {twin.id}.", hint="There is nothing to restore.")
    now = timezone.now()
    new = insert_version(actor, ready, version.group, trust=Trust.ACTIVE, after=head, now=now)
    copy_carried_fields(version, new, valid_from=version.valid_from)
    # If the version's successor set an end of its valid time, that end no longer applies.
    Memory.objects.filter(pk=new.pk).update(valid_to=None, valid_to_known_at=None)
    if not point_to_successor(actor, head, new):
        raise changed_meanwhile(head)
    new.refresh_from_db()
    refresh_around([new])
    return new


def is_own_retraction(actor: Actor, memory: Memory) -> bool:
    """True if this agent, with this token, retracted the memory less than UNDO_HOURS ago."""
    if actor.is_person:
        return False
    rows = AuditEntry.objects.filter(origin=audit.OWN, memory_id=memory.id, operation=Operation.RETRACT)
    last = rows.order_by("-key").first()
    is_recent = last is not None and last.at > timezone.now() - timedelta(hours=UNDO_HOURS)
    return is_recent and last is not None and (last.actor, last.token) == (actor.name, actor.token_id)


def restore_retracted(actor: Actor, memory: Memory, *, reason: str, dry_run: bool) -> ChangeResult:
    """Undo a retraction, or propose it: see undo_retraction()."""

    def run(dry_run: bool) -> ChangeResult:
        return undo_retraction(actor, memory, reason=reason, dry_run=dry_run)

    return change_or_propose(
        actor, Change.RESTORE_VERSION, memory, run, reason=reason, dry_run=dry_run,
        arguments={"version": str(memory.id)}, reached=lambda: list(rows_called_off(memory)),
    )  # fmt: skip


def undo_retraction(actor: Actor, memory: Memory, *, reason: str, dry_run: bool) -> ChangeResult:
    """Make a retracted memory current again and lift the tombstone that its retraction left. One transaction.

    If a successor took its place in the chain, its text is written as the newest version. What was derived from it and
    withdrawn with it stays withdrawn.

    Raises:
        Conflict: its text was purged, or is live elsewhere.
    """
    check_scope(memory)
    # A former text is embedded inside the transaction: the tombstone must be lifted first, and both or neither happen.
    with transaction.atomic():
        hold_groups([memory.group_id])
        lift_own_tombstone(actor, memory, reason=reason)
        successor = memory.superseded_by
        if successor is not None and successor.root_key == memory.root_key:
            new: dict[str, Any] = {"state": State.SUPERSEDED}
            change_fields(actor, memory, Operation.RESTORE, new, (), reason=reason, dry_run=False)
            done = restore_version(actor, memory, reason=reason, dry_run=False)
        else:
            check_no_live_copy(memory)
            new = {
                "state": State.LIVE,
                "retired_at": None,
                "superseded_by": None,
                "decayed_at": timezone.now(),
            }
            done = change_fields(
                actor,
                memory,
                Operation.RESTORE,
                new,
                (gettext("recall returns it again"),),
                reason=reason,
                dry_run=False,
            )
        transaction.set_rollback(dry_run)
    return replace(done, dry_run=dry_run, changed=0 if dry_run else done.changed)


def lift_own_tombstone(actor: Actor, memory: Memory, *, reason: str) -> None:
    """Lift the tombstone that the retraction of this memory left; one that another withdrawal left stays a Conflict."""
    mark = Tombstone.objects.filter(
        memory_id=memory.id, group=memory.group, kind=TombstoneKind.RETRACTED, lifted_at=None
    ).first()
    if mark is not None:
        lift(actor, mark)
        audit.append(
            actor, Operation.LIFT, memory_id=memory.id, group=memory.group.id, subject=f"tombstone:{mark.id}",
            payload={"kind": mark.kind, "reason": reason},
        )  # fmt: skip
        if memory.trust == Trust.REJECTED:  # it was rejected before it was retracted, and still is
            lay_tombstone(actor, memory, kind=TombstoneKind.REJECTED, reason=mark.reason)
    check_not_barred(actor, memory)
