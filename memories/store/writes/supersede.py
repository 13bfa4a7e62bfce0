"""Supersede a memory: another takes its place, and it stays as history."""

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.models.link import ON_APPROVAL
from memories.queries.snapshot import changes, snapshot
from memories.queries.versions import head_of
from memories.store.derived import withdraw_replaced
from memories.store.search_columns import refresh_around
from memories.store.writes.doubts import settle_doubts
from memories.types import State, Trust, Type


def replace_memory(
    actor: Actor, old: Memory, new: Memory, *, operation: Operation = Operation.SUPERSEDE
) -> UUID:
    """Retire `old` in favour of `new`, and withdraw summaries that repeat the old text; returns the id of `old`.

    A superseded memory was true: its valid time ends. An edit corrects: the record time ends and the valid time stays.
    Doubt about the old text is settled. Runs inside the caller's transaction.

    Raises:
        Conflict: `old` was changed meanwhile.
    """
    now = timezone.now()
    before = snapshot(old)
    changed = Memory.objects.filter(pk=old.pk, state=State.LIVE).update(
        state=State.SUPERSEDED,
        superseded_by=new,
        state_changed_at=now,
        updated_at=now,
        **({"retired_at": now} if operation == Operation.EDIT else valid_time_end(old, new, now)),
    )
    if changed != 1:
        raise changed_meanwhile(old)
    old.refresh_from_db()
    refresh_around([old])
    audit.append(
        actor,
        Operation.SUPERSEDE,
        memory_id=old.id,
        group=old.group.id,
        payload={"before": before, "after": snapshot(old), "by": str(new.id)},
    )
    settle_doubts(actor, old, operation)
    bring_plan_forward(actor, old, new, now)
    withdraw_replaced(actor, old)
    return old.id


def valid_time_end(old: Memory, new: Memory, now: datetime) -> dict[str, datetime]:
    """The end of a superseded memory's valid time; events have none, and an earlier end stays."""
    end = max(filter(None, [new.valid_from or now, old.valid_from]))
    if old.type == Type.EPISODIC or (old.valid_to is not None and old.valid_to <= end):
        return {}
    return {"valid_to": end, "valid_to_known_at": now}


def bring_plan_forward(actor: Actor, plan: Memory, new: Memory, now: datetime) -> None:
    """If `new` begins before the plan that it replaces would have, end what the plan was to replace then already."""
    start = new.valid_from or now
    if plan.valid_from is not None and now < plan.valid_from and start < plan.valid_from:
        move_ends(actor, plan, start, now)


def move_ends(
    actor: Actor, plan: Memory, start: datetime, now: datetime, *, end: datetime | None = None
) -> None:
    """End what a fact dated ahead was to replace at another `start`, and log it; in the caller's transaction.

    Until now it ends at `end`, by default when the plan begins.
    """
    replaced = Memory.objects.filter(
        superseded_by=plan, state=State.SUPERSEDED, retired_at=None, valid_to=end or plan.valid_from
    )
    for row in replaced.exclude(type=Type.EPISODIC).select_related("group"):
        before = snapshot(row)
        row.valid_to = max(filter(None, [start, row.valid_from]))
        row.valid_to_known_at = row.updated_at = now
        row.save(update_fields=["valid_to", "valid_to_known_at", "updated_at"])
        payload = {"changes": changes(before, snapshot(row))}
        audit.append(actor, Operation.SUPERSEDE, memory_id=row.id, group=row.group.id, payload=payload)


def retire_lapsed(actor: Actor, lapsed: Memory) -> None:
    """Retire a live row whose time is over, so that its text can be stored again.

    It is expired if `expires_at` has passed, else superseded.
    """
    now, before = timezone.now(), snapshot(lapsed)
    has_expired = lapsed.expires_at is not None and lapsed.expires_at <= now
    lapsed.state = State.EXPIRED if has_expired else State.SUPERSEDED
    lapsed.state_changed_at = lapsed.updated_at = now
    lapsed.save(update_fields=["state", "state_changed_at", "updated_at"])
    refresh_around([lapsed])
    audit.append(
        actor,
        Operation.SUPERSEDE,
        memory_id=lapsed.id,
        group=lapsed.group.id,
        payload={"before": before, "after": snapshot(lapsed)},
    )


def release_source(actor: Actor, row: Memory) -> None:
    """Take the source_ref from a row, and log it."""
    before = snapshot(row)
    row.source_ref, row.updated_at = "", timezone.now()
    row.save(update_fields=["source_ref", "updated_at"])
    payload = {"changes": changes(before, snapshot(row))}
    audit.append(actor, Operation.SUPERSEDE, memory_id=row.id, group=row.group.id, payload=payload)


def point_to_successor(actor: Actor, old: Memory, new: Memory) -> bool:
    """Point a retired row at its successor, and log it; False if it has a successor already."""
    if Memory.objects.filter(pk=old.pk, superseded_by=None).update(superseded_by=new) != 1:
        return False
    audit.append(
        actor,
        Operation.SUPERSEDE,
        memory_id=old.id,
        group=old.group.id,
        payload={"changes": {"superseded_by": [None, str(new.id)]}, "by": str(new.id)},
    )
    return True


def settle_on_approval(actor: Actor, memory: Memory, now: datetime, *, is_done: bool = False) -> list[Link]:
    """Settle the open conflicts that the approval of a memory decides, and return them with their targets loaded.

    `is_done`: only those with what is no longer live, such as what the memory has just superseded.
    """
    waiting = Link.objects.filter(source=memory.root_key, kind=LinkKind.CONFLICT, status=LinkStatus.OPEN)
    links = [
        link
        for link in waiting.select_related("target__group", "target__thread")
        if ON_APPROVAL in link.evidence and not (is_done and is_another_live(memory, head_of(link.target)))
    ]
    settled = Link.objects.filter(pk__in=[link.pk for link in links])
    settled.update(status=LinkStatus.SETTLED, settled_at=now, settled_by=actor.name)
    return links


def is_another_live(memory: Memory, other: Memory) -> bool:
    """True if the other is another live memory."""
    return other.state == State.LIVE and other.key != memory.key


def changed_meanwhile(memory: Memory) -> Conflict:
    """The error of a failed compare-and-set."""
    return Conflict(
        f"{memory.id} was changed by another actor just now.", hint="Look at it again and repeat."
    )


def activate_candidate(actor: Actor, candidate: Memory) -> None:
    """Make a candidate active. Conflicts with live memories that it was written to replace stay open: nobody approved it."""
    now, before = timezone.now(), snapshot(candidate)
    activated = Memory.objects.filter(pk=candidate.pk, state=State.LIVE, trust=Trust.CANDIDATE)
    if activated.update(trust=Trust.ACTIVE, updated_at=now) != 1:
        raise changed_meanwhile(candidate)
    candidate.refresh_from_db()
    settle_on_approval(actor, candidate, now, is_done=True)
    payload = {"changes": changes(before, snapshot(candidate)), "reason": "it was stored again"}
    audit.append(actor, Operation.TRUST, memory_id=candidate.id, group=candidate.group.id, payload=payload)
