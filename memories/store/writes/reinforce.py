"""Reinforce a memory: restatements raise its confidence, once per author and day."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.utils import timezone

from access.actor import Actor
from access.audit import AuditEvent
from access.audit.operations import Operation
from access.models import AuditEntry
from memories.draft import DECAY_FLOOR
from memories.models import Memory
from memories.queries.snapshot import as_json
from memories.store.neighbours import is_overwriting

REINFORCEMENT = 0.1  # added to the confidence, once per author and day
CONFIRMED_TODAY = "you confirmed this today already: confidence unchanged"


def reinforce(
    actor: Actor, memories: Sequence[Memory], *, now: datetime, starts: Mapping[int, datetime] | None = None
) -> tuple[list[AuditEvent], dict[UUID, str]]:
    """Count restatements of memories, in order; returns the events to log, and the effects in words by memory id.

    Repeating a fact does not prove it, so confidence rises once per author and day. With storage.dedup `overwrite` it
    rises each time, and the restatement counts as an access. `starts` are earlier beginnings of valid time by key, which
    restatements name.
    """
    starts = starts or {}
    if not memories:
        return [], {}
    overwrites = is_overwriting()
    confirmed = set() if overwrites else confirmed_today(actor, {memory.id for memory in memories})
    events, effects = list[AuditEvent](), dict[UUID, str]()
    for memory in memories:
        before, is_counted = memory.confidence, memory.id in confirmed
        values: dict[str, Any] = {"confidence": before, "updated_at": now}
        if not is_counted:
            values["confidence"] = min(1.0, round(before + REINFORCEMENT, 6))
        if before <= DECAY_FLOOR:
            values["decayed_at"] = now  # fully decayed: decay starts again from now
        was, start = memory.valid_from, starts.get(memory.key)
        if was is not None and start is not None and start < was:
            values["valid_from"] = start
        changes = {name: [as_json(getattr(memory, name)), as_json(value)] for name, value in values.items()}
        for name, value in values.items():
            setattr(memory, name, value)
        events.append(
            AuditEvent(Operation.REINFORCE, memory.id, memory.group.id, payload={"changes": changes})
        )
        effects[memory.id] = (
            CONFIRMED_TODAY if is_counted else f"confidence {before:.2f} → {memory.confidence:.2f}"
        )
        if "valid_from" in values:
            effects[memory.id] += f"; true from {memory.valid_from:%Y-%m-%d}, not only from {was:%Y-%m-%d}"
        if not overwrites:
            confirmed.add(memory.id)
    _save({memory.key: memory for memory in memories})
    if overwrites:
        for memory in memories:
            Memory.objects.filter(pk=memory.pk).update(access_count=F("access_count") + 1)
    return events, effects


def _save(memories: dict[int, Memory]) -> None:
    fields = ("confidence", "decayed_at", "valid_from", "updated_at")
    if len(memories) == 1:  # a third of the time of a bulk_update
        [memory] = memories.values()
        Memory.objects.filter(pk=memory.pk).update(**{name: getattr(memory, name) for name in fields})
    else:
        Memory.objects.bulk_update(memories.values(), fields, batch_size=100)


def confirmed_today(actor: Actor, ids: Iterable[UUID]) -> set[UUID]:
    """The memories that the actor stored or reinforced today, by id: repeating them adds no confidence."""
    entries = AuditEntry.objects.filter(
        memory_id__in=list(ids), operation__in=[Operation.REINFORCE, Operation.STORE]
    )
    return {entry.memory_id for entry in written_today(actor, entries) if entry.memory_id is not None}


def written_today(actor: Actor, entries: QuerySet[AuditEntry]) -> list[AuditEntry]:
    """The entries that the actor wrote today.

    All tokens of a user count as that user, and so does the user in the browser.
    """
    day = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    user = user_of(actor.name)
    today = entries.filter(at__gte=day).only("memory_id", "actor")
    return [entry for entry in today if user_of(entry.actor) == user]


def user_of(actor_name: str) -> str:
    """The user part of an actor's name, "user" or "user/token"; Django allows no slash in a user's name."""
    return actor_name.partition("/")[0]
