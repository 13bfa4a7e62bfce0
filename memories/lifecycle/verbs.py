"""The verbs of a memory, one function each: check the right, change the rows and audit, in one transaction."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from access.actor import CURATE, WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict
from memories.draft import clean_reason
from memories.lifecycle.approve import carry_out_approval
from memories.lifecycle.merge import merge
from memories.lifecycle.move_references import move_references, moves_to_json
from memories.lifecycle.purge import find_purge_targets, purge_rows
from memories.lifecycle.restore import restore
from memories.lifecycle.retract import retract
from memories.lifecycle.target import (
    ChangeResult,
    change_fields,
    check_not_barred,
    find_head,
    find_version,
    require_person,
    require_right,
    require_state,
)
from memories.models import Memory
from memories.queries.versions import find_head_to_replace, find_memory
from memories.store import valid_time_end
from memories.store.derived import DerivedChanges, find_reach, withdraw_derived, withdraw_replaced
from memories.store.policy import policy_doubt
from memories.types import Scope, State, Trust, Type

__all__ = [
    "ChangeResult",
    "approve",
    "dispute",
    "forget",
    "merge",
    "pin",
    "purge",
    "quarantine",
    "reject",
    "restore",
    "retract",
    "supersede",
    "unpin",
    "verify",
]


def forget(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Hide a memory from recall; it can be restored for maintenance.retention_days."""
    row = find_memory(actor, id_)
    # The id of a compacted source means that row itself; any other version's id means the current version.
    memory = (
        require_right(actor, row, right=WRITE)
        if row.state == State.COMPACTED
        else find_head(actor, id_, right=WRITE)
    )
    require_state(memory, State.LIVE, State.COMPACTED, verb="forget")
    until = timezone.now() + timedelta(days=settings.LOCI.maintenance.retention_days)
    consequences = (f"it is hidden from recall; 'restore' brings it back until {until:%Y-%m-%d}",)
    new = {"state": State.FORGOTTEN, "retired_at": timezone.now(), "superseded_by": None}

    with transaction.atomic():
        reach = find_reach(memory, [memory])  # before the row loses the key of its summary

        def follow_up() -> DerivedChanges:
            return withdraw_derived(actor, reach)

        return change_fields(
            actor, memory, Operation.FORGET, new, consequences,
            reason=reason, dry_run=dry_run, follow_up=follow_up,
        )  # fmt: skip


def supersede(
    actor: Actor, old_id: str | UUID, by_id: str | UUID, *, reason: str = "", dry_run: bool = False
) -> ChangeResult:
    """Replace one live memory by another: the old one was true until now and stays as history.

    An entity passes on its relations, names and links. Each memory keeps its own chain of versions.

    Raises:
        Conflict: one of the two is not live, both are the same, or the successor is visible to fewer people.
        NotFound, NotPermitted: the actor may not see, or may not write, one of the two.
    """
    old = require_right(actor, find_head_to_replace(find_memory(actor, old_id)), right=WRITE)
    by = find_head(actor, by_id, right=WRITE, field="by")
    check_successor(actor, old, by)
    now = timezone.now()
    new = {"state": State.SUPERSEDED, "superseded_by": by} | valid_time_end(old, by, now)

    def follow_up() -> DerivedChanges:
        moves = move_references(old.root_key, by.root_key) if old.type == Type.ENTITY else []
        gone = withdraw_replaced(actor, old)
        return DerivedChanges(gone, payload={"by": str(by.id), "moved": moves_to_json(moves)})

    consequences = (f"{by.id} takes its place, and its id leads there",)
    done = change_fields(
        actor, old, Operation.SUPERSEDE, new, consequences,
        reason=reason, dry_run=dry_run, follow_up=follow_up,
    )  # fmt: skip
    return replace(done, successor=by.id)


def check_successor(actor: Actor, old: Memory, by: Memory) -> None:
    """Raise Conflict if `by` may not replace `old`."""
    require_state(old, State.LIVE, verb="supersede")
    require_state(by, State.LIVE, verb="supersede")
    if old.root_key == by.root_key:
        raise Conflict("Both ids lead to the same memory.", hint="Nothing was changed.", field="by")
    if (old.type == Type.ENTITY) != (by.type == Type.ENTITY):
        raise Conflict(f"One is {old.type}, the other {by.type}.", hint="Nothing was changed.", field="by")
    if by.trust not in (Trust.ACTIVE, Trust.VERIFIED):
        raise Conflict(
            f"{by.id} is {by.trust}; a successor must be active or verified.",
            hint="Approve it first.",
            field="by",
        )
    if by.scope == Scope.GROUP and (old.scope == Scope.GLOBAL or by.group_id != old.group_id):
        raise Conflict(
            f"{by.id} is visible only in the group '{by.group.slug}', {old.id} is not.",
            hint="Name a successor that is visible wherever this memory is.",
            field="by",
        )
    doubt = policy_doubt(actor, old.group, by.confidence)
    if doubt and not (actor.is_person and actor.may(CURATE, old.group_id)):
        raise Conflict(f"Nothing was changed: {doubt}.", hint="A curator can do it.")


def dispute(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Mark a memory as doubtful: recall returns it with a label until a person decides."""
    memory = find_head(actor, id_, right=WRITE)
    require_state(memory, State.LIVE, verb="dispute")
    if memory.trust not in (Trust.ACTIVE, Trust.VERIFIED):
        raise Conflict(f"{memory.id} is {memory.trust}; only an active or verified memory can be disputed.")
    consequences = ("recall returns it, labelled 'disputed'",)
    new = {"trust": Trust.DISPUTED}
    return change_fields(actor, memory, Operation.DISPUTE, new, consequences, reason=reason, dry_run=dry_run)


def verify(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Confirm a memory; only a person with the right to curate can."""
    memory = find_head(actor, id_, right=CURATE)
    require_person(actor, "verify")
    require_state(memory, State.LIVE, verb="verify")
    if memory.trust == Trust.VERIFIED:
        raise Conflict(f"{memory.id} is already verified.")
    check_not_barred(memory)
    consequences = ("recall prefers it; decay and cleanup leave it alone",)
    new = {"trust": Trust.VERIFIED}
    return change_fields(actor, memory, Operation.VERIFY, new, consequences, reason=reason, dry_run=dry_run)


def approve(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Activate a candidate, disputed, rejected or quarantined memory; for curators."""
    consequence = "recall returns it; the memory that it was written to replace is superseded"
    return _set_trust(
        actor, id_, Trust.ACTIVE, consequence,
        reason=reason, dry_run=dry_run, follow_up=carry_out_approval,
    )  # fmt: skip


def reject(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Reject a memory: recall never returns it and the same text is refused; for curators."""
    consequence = "recall does not return it, and the same text is refused"
    return _set_trust(actor, id_, Trust.REJECTED, consequence, reason=reason, dry_run=dry_run)


def quarantine(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Keep a text away from agents: no answer, pack or context contains it; people see it marked. For curators.

    Use it for text that may do harm when read: instructions to a model, secrets. Approving the memory reverses it.
    """
    consequence = "recall never returns it, and its neighbours no longer show its words"
    return _set_trust(actor, id_, Trust.QUARANTINED, consequence, reason=reason, dry_run=dry_run)


def pin(actor: Actor, id_: str | UUID, *, dry_run: bool = False) -> ChangeResult:
    """Protect a memory from decay and cleanup and put it into every context pack."""
    return _set_pin(actor, id_, pinned=True, dry_run=dry_run)


def unpin(actor: Actor, id_: str | UUID, *, dry_run: bool = False) -> ChangeResult:
    """Undo a pin."""
    return _set_pin(actor, id_, pinned=False, dry_run=dry_run)


def purge(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Destroy all versions of a memory: text, words, vectors, log payloads. Irreversible.

    Raises:
        NotPermitted: the actor may not curate the group.
    """
    memory = find_version(actor, id_, right=CURATE)
    reason = clean_reason(reason)
    consequences: tuple[str, ...] = (
        "its text, words, vectors and log payloads are destroyed",
        "the same text is refused in its group from now on",
    )
    if dry_run:
        consequences = (*consequences, *find_purge_targets(memory).reach.describe(is_purge=True))
        return ChangeResult("purge", memory.id, memory.state, memory.trust, 0, consequences, dry_run=True)
    purged = purge_rows(actor, memory, reason=reason)
    certificate, followed = purged.certificate, purged.followed
    return ChangeResult(
        "purge", memory.id, "purged", memory.trust, certificate.memories + followed.changed,
        (*consequences, *followed.consequences), certificate=certificate,
    )  # fmt: skip


def _set_trust(
    actor: Actor,
    id_: str | UUID,
    trust: Trust,
    consequence: str,
    *,
    reason: str,
    dry_run: bool,
    follow_up: Callable[[Actor, Memory], object] | None = None,
) -> ChangeResult:
    memory = find_head(actor, id_, right=CURATE)
    require_person(actor, f"set {trust}")
    require_state(memory, State.LIVE, verb="set the trust of")
    if memory.trust == trust:
        raise Conflict(f"{memory.id} is already {trust}.")

    if trust == Trust.ACTIVE:
        check_not_barred(memory)

    def run_follow_up() -> None:
        if follow_up is not None:
            follow_up(actor, memory)

    return change_fields(
        actor, memory, Operation.TRUST, {"trust": trust}, (consequence,),
        reason=reason, dry_run=dry_run, follow_up=run_follow_up,
    )  # fmt: skip


def _set_pin(actor: Actor, id_: str | UUID, *, pinned: bool, dry_run: bool) -> ChangeResult:
    memory = find_head(actor, id_, right=CURATE)
    require_state(memory, State.LIVE, verb="pin")
    if memory.pinned == pinned:
        raise Conflict(f"{memory.id} is {'already' if pinned else 'not'} pinned.")
    operation = Operation.PIN if pinned else Operation.UNPIN
    consequence = (
        "decay and cleanup leave it alone" if pinned else "decay and cleanup treat it like any other memory"
    )
    return change_fields(
        actor, memory, operation, {"pinned": pinned}, (consequence,), reason="", dry_run=dry_run
    )
