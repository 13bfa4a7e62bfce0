"""What can be done to a memory, one function each. Every verb checks the right, changes rows and logs in one transaction."""

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
from memories.lifecycle.move_references import as_payload, move_ties
from memories.lifecycle.purge import purge_rows, what_goes
from memories.lifecycle.restore import restore
from memories.lifecycle.retract import retract
from memories.lifecycle.target import (
    ChangeResult,
    change,
    check_not_barred,
    must_be,
    must_be_person,
    named,
    permitted,
    target,
)
from memories.models import Memory
from memories.queries.versions import find_head_to_replace, find_memory
from memories.store import end_of
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
    # A source that a summary stands for is meant itself; of any other version the one that counts.
    memory = (
        permitted(actor, row, right=WRITE)
        if row.state == State.COMPACTED
        else target(actor, id_, right=WRITE)
    )
    must_be(memory, State.LIVE, State.COMPACTED, verb="forget")
    until = timezone.now() + timedelta(days=settings.LOCI.maintenance.retention_days)
    said = (f"it is hidden from recall; 'restore' brings it back until {until:%Y-%m-%d}",)
    new = {"state": State.FORGOTTEN, "retired_at": timezone.now(), "superseded_by": None}

    with transaction.atomic():
        reach = find_reach(memory, [memory])  # before the row forgets which summary stands for it

        def follow() -> DerivedChanges:
            return withdraw_derived(actor, reach)

        return change(actor, memory, Operation.FORGET, new, said, reason=reason, dry_run=dry_run, also=follow)


def supersede(
    actor: Actor, old_id: str | UUID, by_id: str | UUID, *, reason: str = "", dry_run: bool = False
) -> ChangeResult:
    """Let a live memory take the place of another one, which was true until then and stays as history.

    Of an entity the relations, names and links go over. Each keeps its own chain of versions.

    Raises:
        Conflict: one of the two does not count, both are the same, or the other is seen by fewer.
        NotFound, NotPermitted: one of the two is not among what the actor may see, or may write.
    """
    old = permitted(actor, find_head_to_replace(find_memory(actor, old_id)), right=WRITE)
    by = target(actor, by_id, right=WRITE, field="by")
    _check_successor(actor, old, by)
    now = timezone.now()
    new = {"state": State.SUPERSEDED, "superseded_by": by} | end_of(old, by, now)

    def follow() -> DerivedChanges:
        moves = move_ties(old.root_key, by.root_key) if old.type == Type.ENTITY else []
        gone = withdraw_replaced(actor, old)
        return DerivedChanges(gone, payload={"by": str(by.id), "moved": as_payload(moves)})

    said = (f"{by.id} takes its place, and its id leads there",)
    done = change(actor, old, Operation.SUPERSEDE, new, said, reason=reason, dry_run=dry_run, also=follow)
    return replace(done, successor=by.id)


def _check_successor(actor: Actor, old: Memory, by: Memory) -> None:
    """Raise Conflict where one memory may not take the other's place."""
    must_be(old, State.LIVE, verb="supersede")
    must_be(by, State.LIVE, verb="supersede")
    if old.root_key == by.root_key:
        raise Conflict("Both ids lead to the same memory.", hint="Nothing was done.", field="by")
    if (old.type == Type.ENTITY) != (by.type == Type.ENTITY):
        raise Conflict(f"One is {old.type}, the other {by.type}.", hint="Nothing was done.", field="by")
    if by.trust not in (Trust.ACTIVE, Trust.VERIFIED):
        raise Conflict(
            f"{by.id} is {by.trust}; what takes another's place must count.",
            hint="Approve it first.",
            field="by",
        )
    if by.scope == Scope.GROUP and (old.scope == Scope.GLOBAL or by.group_id != old.group_id):
        raise Conflict(
            f"{by.id} is seen in the group '{by.group.slug}' alone, {old.id} is not.",
            hint="Name one that is seen wherever this one is.",
            field="by",
        )
    doubt = policy_doubt(actor, old.group, by.confidence)
    if doubt and not (actor.is_person and actor.may(CURATE, old.group_id)):
        raise Conflict(f"Nothing was done: {doubt}.", hint="A curator can do it.")


def dispute(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Mark a memory as doubted: recall returns it with a label until a person decides."""
    memory = target(actor, id_, right=WRITE)
    must_be(memory, State.LIVE, verb="dispute")
    if memory.trust not in (Trust.ACTIVE, Trust.VERIFIED):
        raise Conflict(f"{memory.id} is {memory.trust}; only an active or verified memory can be disputed.")
    said = ("recall returns it, labelled 'disputed'",)
    return change(
        actor, memory, Operation.DISPUTE, {"trust": Trust.DISPUTED}, said, reason=reason, dry_run=dry_run
    )


def verify(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Confirm a memory; only a person with the right to curate can."""
    memory = target(actor, id_, right=CURATE)
    must_be_person(actor, "verify")
    must_be(memory, State.LIVE, verb="verify")
    if memory.trust == Trust.VERIFIED:
        raise Conflict(f"{memory.id} is verified already.")
    check_not_barred(memory)
    said = ("recall prefers it; decay and cleanup leave it alone",)
    return change(
        actor, memory, Operation.VERIFY, {"trust": Trust.VERIFIED}, said, reason=reason, dry_run=dry_run
    )


def approve(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Let a candidate, disputed, rejected or quarantined memory count; a curator's decision."""
    said = "recall returns it; what it was written to replace is superseded"
    return _set_trust(actor, id_, Trust.ACTIVE, said, reason=reason, dry_run=dry_run, also=carry_out_approval)


def reject(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Turn a memory down: recall never returns it and the same text is refused; a curator's decision."""
    said = "recall does not return it, and the same text is refused"
    return _set_trust(actor, id_, Trust.REJECTED, said, reason=reason, dry_run=dry_run)


def quarantine(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Keep a text away from agents: no answer, pack or context holds it, and people see it marked; a curator's decision.

    It is for what may do harm where it is read: instructions to a model, secrets. Approving it lets it count again.
    """
    said = "recall never returns it, and what stands beside it no longer shows its words"
    return _set_trust(actor, id_, Trust.QUARANTINED, said, reason=reason, dry_run=dry_run)


def pin(actor: Actor, id_: str | UUID, *, dry_run: bool = False) -> ChangeResult:
    """Keep a memory from decay and cleanup and put it into every context pack."""
    return _set_pin(actor, id_, pinned=True, dry_run=dry_run)


def unpin(actor: Actor, id_: str | UUID, *, dry_run: bool = False) -> ChangeResult:
    """Take the pin off."""
    return _set_pin(actor, id_, pinned=False, dry_run=dry_run)


def purge(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Destroy a memory, all versions of it: text, words, vectors, log payloads. Nothing brings it back.

    Raises:
        NotPermitted: the actor may not curate the group.
    """
    memory = named(actor, id_, right=CURATE)
    reason = clean_reason(reason)
    said: tuple[str, ...] = (
        "its text, words, vectors and log payloads are destroyed",
        "the same text is refused in its group from now on",
    )
    if dry_run:
        said = (*said, *what_goes(memory).reach.said(is_purge=True))
        return ChangeResult("purge", memory.id, memory.state, memory.trust, 0, said, dry_run=True)
    purged = purge_rows(actor, memory, reason=reason)
    proof, followed = purged.certificate, purged.followed
    return ChangeResult(
        "purge", memory.id, "purged", memory.trust, proof.memories + followed.changed,
        (*said, *followed.consequences), certificate=proof,
    )  # fmt: skip


def _set_trust(
    actor: Actor,
    id_: str | UUID,
    trust: Trust,
    said: str,
    *,
    reason: str,
    dry_run: bool,
    also: Callable[[Actor, Memory], object] | None = None,
) -> ChangeResult:
    memory = target(actor, id_, right=CURATE)
    must_be_person(actor, f"set {trust}")
    must_be(memory, State.LIVE, verb="set the trust of")
    if memory.trust == trust:
        raise Conflict(f"{memory.id} is {trust} already.")

    if trust == Trust.ACTIVE:
        check_not_barred(memory)

    def follow_up() -> None:
        if also is not None:
            also(actor, memory)

    new = {"trust": trust}
    return change(
        actor, memory, Operation.TRUST, new, (said,), reason=reason, dry_run=dry_run, also=follow_up
    )


def _set_pin(actor: Actor, id_: str | UUID, *, pinned: bool, dry_run: bool) -> ChangeResult:
    memory = target(actor, id_, right=CURATE)
    must_be(memory, State.LIVE, verb="pin")
    if memory.pinned == pinned:
        raise Conflict(f"{memory.id} is {'pinned' if pinned else 'not pinned'} already.")
    operation = Operation.PIN if pinned else Operation.UNPIN
    said = "decay and cleanup leave it alone" if pinned else "decay and cleanup treat it like any other"
    return change(actor, memory, operation, {"pinned": pinned}, (said,), reason="", dry_run=dry_run)
