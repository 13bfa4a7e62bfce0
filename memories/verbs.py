"""What can be done to a memory, one function each. Every verb checks the right, changes rows and logs in one transaction."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import CURATE, WRITE, Actor
from access.errors import Conflict, NotPermitted
from access.models import Group
from memories.approval import carry_out_approval
from memories.chains import find_memory, head_of, versions_of
from memories.context import refresh_around
from memories.draft import clean_reason
from memories.models import Memory, TombstoneKind
from memories.purging import Certificate, purge_rows
from memories.snapshot import changes, snapshot
from memories.tombstones import find_tombstone, lay_tombstone
from memories.types import Operation, Scope, Shown, State, Trust, Type, shown


@dataclass(frozen=True)
class Done:
    """What a verb did: which memory, how it stands now, how many rows changed, and what follows."""

    verb: str
    id: UUID
    state: str
    trust: str
    changed: int
    consequences: tuple[str, ...] = ()
    dry_run: bool = False
    certificate: Certificate | None = None
    changes: dict[str, list[Any]] = field(default_factory=dict)


def forget(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> Done:
    """Hide a memory from recall; it can be restored for maintenance.retention_days."""
    memory = _target(actor, id_, right=WRITE)
    _must_be(memory, State.LIVE, verb="forget")
    until = timezone.now() + timedelta(days=settings.LOCI.maintenance.retention_days)
    said = (f"it is hidden from recall; 'restore' brings it back until {until:%Y-%m-%d}",)
    new = {"state": State.FORGOTTEN, "retired_at": timezone.now()}
    return _change(actor, memory, Operation.FORGET, new, said, reason=reason, dry_run=dry_run)


def restore(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> Done:
    """Let a forgotten, expired, compacted or merged memory count again.

    A retracted text comes back when a curator lifts its tombstone, a superseded one by a new version.

    Raises:
        Conflict: it is in another state, the same text or a later version of it is live, or its text was withdrawn.
    """
    # One transaction from the first look on: nobody may store the same text in between.
    with transaction.atomic():
        return _restored(actor, id_, reason=reason, dry_run=dry_run)


def _restored(actor: Actor, id_: str | UUID, *, reason: str, dry_run: bool) -> Done:
    memory = _target(actor, id_, right=WRITE, follow=False)
    allowed = (State.FORGOTTEN, State.EXPIRED, State.COMPACTED, State.MERGED)
    if memory.state not in allowed:
        raise Conflict(
            f"{memory.id} is {memory.state}; 'restore' takes one that is {', '.join(allowed)}.",
            hint="A superseded or retracted text comes back by storing it with 'supersedes', or by a curator.",
        )
    _check_scope(memory)
    _check_room_for(memory)
    _check_not_withdrawn(memory)
    new: dict[str, Any] = {"state": State.LIVE, "retired_at": None, "superseded_by": None}
    if memory.expires_at is not None and memory.expires_at <= timezone.now():
        new["expires_at"] = None
    is_hidden = shown(State.LIVE, memory.trust) is Shown.HIDE
    said = f"it is {memory.trust}: recall does not return it yet" if is_hidden else "recall returns it again"
    return _change(actor, memory, Operation.RESTORE, new, (said,), reason=reason, dry_run=dry_run)


def retract(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> Done:
    """Withdraw a memory as wrong: recall never returns it, and its text may not be stored in the group again."""
    memory = _target(actor, id_, right=WRITE)
    _must_be(memory, State.LIVE, State.SUPERSEDED, verb="retract")
    reason = clean_reason(reason)
    said = (
        "recall no longer returns it",
        "the same text is refused in its group from now on; a curator can lift that",
    )
    new = {"state": State.RETRACTED, "retired_at": timezone.now()}

    def bar() -> None:
        lay_tombstone(actor, memory, kind=TombstoneKind.RETRACTED, reason=reason)

    return _change(actor, memory, Operation.RETRACT, new, said, reason=reason, dry_run=dry_run, also=bar)


def dispute(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> Done:
    """Mark a memory as doubted: recall returns it with a label until a person decides."""
    memory = _target(actor, id_, right=WRITE)
    _must_be(memory, State.LIVE, verb="dispute")
    if memory.trust not in (Trust.ACTIVE, Trust.VERIFIED):
        raise Conflict(f"{memory.id} is {memory.trust}; only an active or verified memory can be disputed.")
    said = ("recall returns it, labelled 'disputed'",)
    return _change(
        actor, memory, Operation.DISPUTE, {"trust": Trust.DISPUTED}, said, reason=reason, dry_run=dry_run
    )


def verify(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> Done:
    """Confirm a memory; only a person with the right to curate can."""
    memory = _target(actor, id_, right=CURATE)
    _must_be_person(actor, "verify")
    _must_be(memory, State.LIVE, verb="verify")
    if memory.trust == Trust.VERIFIED:
        raise Conflict(f"{memory.id} is verified already.")
    said = ("recall prefers it; decay and cleanup leave it alone",)
    return _change(
        actor, memory, Operation.VERIFY, {"trust": Trust.VERIFIED}, said, reason=reason, dry_run=dry_run
    )


def approve(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> Done:
    """Let a candidate, disputed, rejected or quarantined memory count; a curator's decision."""
    said = "recall returns it; what it was written to replace is superseded"
    return _set_trust(actor, id_, Trust.ACTIVE, said, reason=reason, dry_run=dry_run, also=carry_out_approval)


def reject(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> Done:
    """Turn a memory down: recall never returns it and the same text is refused; a curator's decision."""
    said = "recall does not return it, and the same text is refused"
    return _set_trust(actor, id_, Trust.REJECTED, said, reason=reason, dry_run=dry_run)


def pin(actor: Actor, id_: str | UUID, *, dry_run: bool = False) -> Done:
    """Keep a memory from decay and cleanup and put it into every context pack."""
    return _set_pin(actor, id_, pinned=True, dry_run=dry_run)


def unpin(actor: Actor, id_: str | UUID, *, dry_run: bool = False) -> Done:
    """Take the pin off."""
    return _set_pin(actor, id_, pinned=False, dry_run=dry_run)


def purge(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> Done:
    """Destroy a memory, all versions of it: text, words, vectors, log payloads. Nothing brings it back.

    Raises:
        NotPermitted: the actor may not curate the group.
    """
    memory = _target(actor, id_, right=CURATE, follow=False)
    reason = clean_reason(reason)
    said = (
        "its text, words, vectors and log payloads are destroyed",
        "the same text is refused in its group from now on",
    )
    if dry_run:
        return Done("purge", memory.id, memory.state, memory.trust, 0, said, dry_run=True)
    certificate = purge_rows(actor, memory, reason=reason)
    return Done(
        "purge", memory.id, "purged", memory.trust, certificate.memories, said, certificate=certificate
    )


def _set_trust(
    actor: Actor,
    id_: str | UUID,
    trust: Trust,
    said: str,
    *,
    reason: str,
    dry_run: bool,
    also: Callable[[Actor, Memory], object] | None = None,
) -> Done:
    memory = _target(actor, id_, right=CURATE)
    _must_be_person(actor, f"set {trust}")
    _must_be(memory, State.LIVE, verb="set the trust of")
    if memory.trust == trust:
        raise Conflict(f"{memory.id} is {trust} already.")

    def follow_up() -> None:
        if also is not None:
            also(actor, memory)

    new = {"trust": trust}
    return _change(
        actor, memory, Operation.TRUST, new, (said,), reason=reason, dry_run=dry_run, also=follow_up
    )


def _set_pin(actor: Actor, id_: str | UUID, *, pinned: bool, dry_run: bool) -> Done:
    memory = _target(actor, id_, right=CURATE)
    _must_be(memory, State.LIVE, verb="pin")
    if memory.pinned == pinned:
        raise Conflict(f"{memory.id} is {'pinned' if pinned else 'not pinned'} already.")
    operation = Operation.PIN if pinned else Operation.UNPIN
    said = "decay and cleanup leave it alone" if pinned else "decay and cleanup treat it like any other"
    return _change(actor, memory, operation, {"pinned": pinned}, (said,), reason="", dry_run=dry_run)


def _target(actor: Actor, id_: str | UUID, *, right: str, follow: bool = True) -> Memory:
    """Find the memory, the head of its chain where `follow`, and check the right in its group."""
    memory = find_memory(actor, id_)
    if follow:
        memory = head_of(memory)
    if not actor.may(right, memory.group_id):
        raise NotPermitted(
            f"You may not {right} in the group '{memory.group.slug}'.",
            hint=f"It takes a token with the scope '{right}' whose owner has a fitting role there.",
        )
    return memory


def _must_be(memory: Memory, *states: str, verb: str) -> None:
    if memory.state not in states:
        raise Conflict(
            f"{memory.id} is {memory.state}; '{verb}' takes one that is {' or '.join(states)}.",
            hint="Nothing was done.",
        )


def _must_be_person(actor: Actor, what: str) -> None:
    if not actor.is_person:
        raise NotPermitted(
            f"Only a person can {what} a memory.", hint="Do it in the browser or with a command."
        )


def _check_scope(memory: Memory) -> None:
    """Raise Conflict where a global memory would come back into a group that became private."""
    if memory.scope == Scope.GLOBAL and Group.objects.filter(pk=memory.group_id, private=True).exists():
        raise Conflict(
            f"{memory.id} is global, and in the private group '{memory.group.slug}' nothing is.",
            hint="Store its text anew: it is then the group's own.",
        )


def _check_room_for(memory: Memory) -> None:
    """Raise Conflict where bringing the memory back would make a second live row of its text or its chain."""
    later = next((v for v in versions_of(memory) if v.state == State.LIVE and v.key != memory.key), None)
    if later is not None:
        raise Conflict(f"{later.id} is the version that counts.", hint="There is nothing to restore.")
    if memory.type == Type.EPISODIC:
        return
    twin = Memory.objects.filter(
        group=memory.group_id,
        scope=memory.scope,
        type=memory.type,
        content_hash=memory.content_hash,
        state=State.LIVE,
    ).first()
    if twin is not None:
        raise Conflict(f"The same text is live as {twin.id}.", hint="There is nothing to restore.")


def _check_not_withdrawn(memory: Memory) -> None:
    """Raise Conflict where the text, or what it was merged into, was withdrawn since."""
    tombstone = find_tombstone(memory.group, memory.content)
    if tombstone is not None:
        raise Conflict(
            f"This text was {tombstone.kind} here: {tombstone.reason or 'no reason was given'}.",
            hint="A curator can lift the tombstone.",
        )
    survivor = head_of(memory)
    if survivor.state == State.RETRACTED:
        raise Conflict(
            f"It went into {survivor.id}, which was retracted.", hint="Store it anew; a curator decides."
        )


def _change(
    actor: Actor,
    memory: Memory,
    operation: Operation,
    new: dict[str, Any],
    consequences: tuple[str, ...],
    *,
    reason: str,
    dry_run: bool,
    also: Callable[[], None] | None = None,
) -> Done:
    """Write fields by compare-and-set, refresh what stands beside, and log before and after. One transaction."""
    reason = clean_reason(reason)
    before = snapshot(memory)
    now = timezone.now()
    values = {**new, "updated_at": now} | ({"state_changed_at": now} if "state" in new else {})
    with transaction.atomic():
        seen = Memory.objects.filter(
            pk=memory.pk, state=memory.state, trust=memory.trust, pinned=memory.pinned
        )
        if seen.update(**values) != 1:
            raise Conflict(
                f"{memory.id} was changed by somebody else just now.", hint="Look at it again and repeat."
            )
        memory.refresh_from_db()
        after = snapshot(memory)
        refresh_around([memory])
        if also is not None:
            also()
        audit.append(
            actor,
            operation,
            memory_id=memory.id,
            group=memory.group.id,
            payload={"changes": changes(before, after), "reason": reason},
        )
        transaction.set_rollback(dry_run)
    return Done(
        operation.value, memory.id, memory.state, memory.trust, 0 if dry_run else 1, consequences, dry_run,
        changes=changes(before, after),
    )  # fmt: skip
