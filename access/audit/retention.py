"""Retention of the audit log: its oldest rows are dropped, and an anchor proves that the rest follows them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Min, QuerySet

from access import audit
from access.actor import ADMIN, Actor
from access.audit import (
    ANCHOR,
    DROP_PREFIX,
    GENESIS,
    OWN,
    announced_drop,
    dropped_through,
    find_row_error,
)
from access.errors import Conflict, NotPermitted
from access.models import AuditEntry, AuditHead, AuditPayload

BATCH_ROWS = 500  # in one transaction: about 15 ms of write lock


@dataclass(frozen=True)
class LogDrop:
    """What was dropped of this store's log: how many rows, and the number of the last one; 0 where none."""

    rows: int
    through: int


def drop_log(
    actor: Actor, *, before: datetime, dry_run: bool = False, on_rows: Callable[[int], object] | None = None
) -> LogDrop:
    """Drop this store's own log rows up to the last one written before a moment; what imports brought stays.

    1. append a row that says up to which row they go, so that the chain itself proves the drop
    2. in batches, each one transaction: delete from the front, and make the last row of the batch the anchor, which
       keeps nothing but its place, its time and its hash

    Killed midway, the chain is whole and the next call goes on. Where nothing is old enough nothing is written.

    Raises:
        NotPermitted: the actor may not administrate the whole store.
        Conflict: a row that is to go does not follow the one before it; it and what follows stay as they are.
    """
    if not (actor.all_groups and actor.may(ADMIN)):
        raise NotPermitted("Only an admin of everything may drop rows of the audit log.")
    announced, old = announced_drop(), _last_before(before)
    through = max(announced, old)
    rows = through - dropped_through()
    if rows <= 0:
        return LogDrop(0, 0)
    if not dry_run:
        if old > announced:
            payload = {"rows": rows, "through": old, "before": before.isoformat()}
            audit.append(actor, ANCHOR, subject=f"{DROP_PREFIX}{old}", payload=payload)
        while _drop_batch(through, on_rows):
            pass
    return LogDrop(rows, through)


def _last_before(moment: datetime) -> int:
    """Give the number of the last row of those, from the start on, that are all older; 0 where none is."""
    kept = AuditEntry.objects.filter(origin=OWN, at__gte=moment).aggregate(first=Min("seq"))["first"]
    if kept is not None:
        return int(kept) - 1
    head = AuditHead.objects.filter(origin=OWN).first()
    return head.seq if head else 0


def _drop_batch(through: int, on_rows: Callable[[int], object] | None) -> int:
    """Drop the next rows up to `through`; give how many."""
    with transaction.atomic():
        front = AuditEntry.objects.filter(origin=OWN).order_by("seq").first()
        gone = dropped_through()
        last = min(gone + BATCH_ROWS, through)
        if last <= gone:
            return 0
        batch = AuditEntry.objects.filter(origin=OWN, seq__gt=gone, seq__lte=last)
        _check(
            batch, previous=front.hash if front is not None and gone else GENESIS, first=gone + 1, last=last
        )
        AuditPayload.objects.filter(entry__in=batch.values("pk")).delete()
        AuditEntry.objects.filter(origin=OWN, seq__lt=last).delete()
        _make_anchor(batch.get(seq=last))
    if on_rows is not None:
        on_rows(last - gone)
    return last - gone


def _check(batch: QuerySet[AuditEntry], *, previous: str, first: int, last: int) -> None:
    """Raise Conflict where the rows do not follow one another: dropping them would hide that somebody changed them."""
    number = first
    for entry in batch.order_by("seq").select_related("payload_row"):
        fault = find_row_error(entry, previous, number)
        if fault:
            break
        previous, number = entry.hash, number + 1
    else:
        fault = "" if number == last + 1 else f"row {number} is missing"
    if fault:
        raise Conflict(
            f"The audit log is broken at row {number}: {fault}. Nothing from there on is dropped.",
            hint="'loci audit verify' shows the chain; keep the database as it is until you know who did that.",
        )


def _make_anchor(entry: AuditEntry) -> None:
    """Leave of a row what the next one follows. The rest of it is not proved any more, so it goes."""
    entry.operation, entry.subject = ANCHOR, f"{ANCHOR_PREFIX}{entry.hash}"
    entry.memory_id = entry.group = entry.token = entry.run = None
    entry.actor = entry.via = entry.client = entry.digest = ""
    entry.save()
