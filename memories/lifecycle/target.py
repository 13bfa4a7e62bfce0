"""What every verb stands on: finding the memory, checking the right, and one change of its fields with its row in the log."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict, NotPermitted
from access.models import Group
from memories.draft import clean_reason
from memories.lifecycle.purge import Certificate
from memories.models import Memory
from memories.models.text_lookup import has_text, newest
from memories.queries.snapshot import changes, snapshot
from memories.queries.versions import find_memory, head_of, path_to_head, versions_of
from memories.store.derived import DerivedChanges
from memories.store.search_columns import refresh_around
from memories.store.tombstones import find_tombstone
from memories.types import Scope, State, Type


@dataclass(frozen=True)
class ChangeResult:
    """What a verb did: which memory, how it stands now, how many rows changed, and what follows.

    `successor` is what took the memory's place by this verb, where something did.
    """

    verb: str
    id: UUID
    state: str
    trust: str
    changed: int
    consequences: tuple[str, ...] = ()
    dry_run: bool = False
    certificate: Certificate | None = None
    changes: dict[str, list[Any]] = field(default_factory=dict)
    successor: UUID | None = None


def target(actor: Actor, id_: str | UUID, *, right: str, field: str = "id") -> Memory:
    """Find the version that counts of a memory, whichever version is named, and check the right in its group."""
    return permitted(actor, head_of(find_memory(actor, id_, field=field)), right=right)


def named(actor: Actor, id_: str | UUID, *, right: str) -> Memory:
    """Find exactly the row that is named, and check the right in its group."""
    return permitted(actor, find_memory(actor, id_), right=right)


def permitted(actor: Actor, memory: Memory, *, right: str) -> Memory:
    """Give the memory, or raise NotPermitted where the actor lacks the right in its group."""
    if not actor.may(right, memory.group_id):
        raise NotPermitted(
            f"You may not {right} in the group '{memory.group.slug}'.",
            hint=f"It takes a token with the scope '{right}' whose owner has a fitting role there.",
        )
    return memory


def must_be(memory: Memory, *states: str, verb: str) -> None:
    """Raise Conflict where the memory is in none of the states."""
    if memory.state not in states:
        raise Conflict(
            f"{memory.id} is {memory.state}; '{verb}' takes one that is {' or '.join(states)}.",
            hint="Nothing was done.",
        )


def must_be_person(actor: Actor, what: str) -> None:
    """Raise NotPermitted where an agent acts."""
    if not actor.is_person:
        raise NotPermitted(
            f"Only a person can {what} a memory.", hint="Do it in the browser or with a command."
        )


def check_scope(memory: Memory) -> None:
    """Raise Conflict where a global memory would come back into a group that became private."""
    if memory.scope == Scope.GLOBAL and Group.objects.filter(pk=memory.group_id, private=True).exists():
        raise Conflict(
            f"{memory.id} is global, and in the private group '{memory.group.slug}' nothing is.",
            hint="Store its text anew: it is then the group's own.",
        )


def check_room_for(memory: Memory) -> None:
    """Raise Conflict where bringing the memory back would make a second live row of its text or its chain."""
    later = next((v for v in versions_of(memory) if v.state == State.LIVE and v.key != memory.key), None)
    if later is not None:
        raise Conflict(f"{later.id} is the version that counts.", hint="There is nothing to restore.")
    twin = live_twin(memory)
    if twin is not None:
        raise Conflict(f"The same text is live as {twin.id}.", hint="There is nothing to restore.")


def live_twin(memory: Memory) -> Memory | None:
    """Give another live memory with this text, letter by letter; of an event there is none, two equal ones are two."""
    if memory.type == Type.EPISODIC:
        return None
    twins = Memory.objects.filter(
        has_text(memory.content_hash, memory.fold_hash),
        group=memory.group_id,
        scope=memory.scope,
        type=memory.type,
        state=State.LIVE,
    )
    return newest(twins.exclude(pk=memory.pk))


def check_not_barred(memory: Memory) -> None:
    """Raise Conflict where a tombstone bars the memory's text from its group."""
    tombstone = find_tombstone(memory.group, memory.content)
    if tombstone is not None:
        raise Conflict(
            f"This text was {tombstone.kind} here: {tombstone.reason or 'no reason was given'}.",
            hint="A curator can lift the tombstone.",
        )


def check_not_withdrawn(memory: Memory) -> None:
    """Raise Conflict where the text, or what it was merged into, was withdrawn since."""
    check_not_barred(memory)
    later = Memory.objects.filter(key__in=path_to_head(memory)).exclude(pk=memory.pk)
    gone = later.filter(state=State.RETRACTED).order_by("key").first()
    # A summary is withdrawn because one of its sources was: the others are not at fault.
    if gone is not None and memory.state != State.COMPACTED:
        raise Conflict(
            f"It went into {gone.id}, which was retracted.", hint="Store it anew; a curator decides."
        )


def change(
    actor: Actor,
    memory: Memory,
    operation: Operation,
    new: dict[str, Any],
    consequences: tuple[str, ...],
    *,
    reason: str,
    dry_run: bool,
    also: Callable[[], DerivedChanges | None] | None = None,
) -> ChangeResult:
    """Write fields by compare-and-set, refresh what stands beside, do what follows, and log it. One transaction.

    Raises:
        Conflict: somebody else changed the memory meanwhile; nothing was done.
    """
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
        refresh_around([memory])
        followed = (also() if also is not None else None) or DerivedChanges()
        memory.refresh_from_db()
        what = changes(before, snapshot(memory))
        audit.append(
            actor,
            operation,
            memory_id=memory.id,
            group=memory.group.id,
            payload={"changes": what, "reason": reason} | followed.payload,
        )
        transaction.set_rollback(dry_run)
    return ChangeResult(
        operation.value, memory.id, memory.state, memory.trust, 0 if dry_run else 1 + followed.changed,
        (*consequences, *followed.consequences), dry_run, changes=what,
    )  # fmt: skip
