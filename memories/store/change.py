"""Changes of stored rows: whoever sets their columns, the difference is logged. In the caller's transaction."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit import AuditEvent
from access.audit.operations import Operation
from access.errors import Conflict
from memories.models import Memory
from memories.queries.snapshot import RELATED_ROWS, changes, snapshot
from memories.store.threads import refresh_around


def change_row(
    actor: Actor,
    operation: Operation,
    row: Memory,
    values: Mapping[str, Any],
    *,
    seen: Mapping[str, Any] | None = None,
    **details: Any,
) -> dict[str, list[Any]]:
    """Set columns of a stored row, refresh what searches read around it, log what differs, and return that.

    In the caller's transaction. `details` are added to the log's payload.

    Raises:
        Conflict: the row no longer has the values `seen`.
    """
    now, before = timezone.now(), snapshot(row)
    values = {**values, "updated_at": now} | ({"state_changed_at": now} if "state" in values else {})
    if Memory.objects.filter(pk=row.pk, **(seen or {})).update(**values) != 1:
        raise changed_meanwhile(row)
    row.refresh_from_db()
    refresh_around([row])
    differences = changes(before, snapshot(row))
    payload = {"changes": differences} | details
    audit.append(actor, operation, memory_id=row.id, group=row.group.id, payload=payload)
    return differences


def change_rows(
    actor: Actor, operation: Operation, rows: Sequence[Memory], values: Mapping[str, Any], **details: Any
) -> list[Memory]:
    """change_row() for many rows that get the same values, in a fixed number of queries; returns the rows as they are then.

    What searches read around them is the caller's.
    """
    keys, now = [row.key for row in rows], timezone.now()
    stamps = {"updated_at": now} | ({"state_changed_at": now} if "state" in values else {})
    Memory.objects.filter(key__in=keys).update(**{**values, **stamps})
    fresh = Memory.objects.select_related(*RELATED_ROWS).in_bulk(keys)
    pairs = [(row, fresh[row.key]) for row in rows]
    events = [
        AuditEvent(
            operation,
            new.id,
            new.group.id,
            payload={"changes": changes(snapshot(old), snapshot(new))} | details,
        )
        for old, new in pairs
    ]
    audit.append_many(actor, events)
    return [new for _, new in pairs]


def changed_meanwhile(memory: Memory) -> Conflict:
    """The error of a failed compare-and-set."""
    return Conflict(
        f"{memory.id} was changed by another actor just now.", hint="Look at it again and repeat."
    )
