"""Retention of the audit log: drops the oldest rows and leaves an anchor that the remaining rows follow."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Min, QuerySet

from access import audit
from access.actor import ADMIN, Actor
from access.audit import (
    ANCHOR,
    ANCHOR_PREFIX,
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
    """The rows dropped from this store's log: how many, and the number of the last one; both 0 if none."""

    rows: int
    through: int


def drop_log(
    actor: Actor, *, before: datetime, dry_run: bool = False, on_rows: Callable[[int], object] | None = None
) -> LogDrop:
    """Drop this store's own log rows up to the last one written before a moment; imported chains stay.

    1. append a row with the number of the last row to drop, so that the chain itself proves the drop
    2. in batches, one transaction each: delete from the front and turn the last row of the batch into the anchor, which
       keeps only its number, its time and its hash

    If it is killed midway, the chain is intact and the next call continues. If no row is old enough, nothing is written.

    Raises:
        NotPermitted: the actor may not administer the whole store.
        Conflict: a row does not follow the previous one; it and all later rows stay.
    """
    if not (actor.all_groups and actor.may(ADMIN)):
        raise NotPermitted("Only an admin of every group may drop rows of the audit log.")
    announced, old = announced_drop(), last_row_before(before)
    through = max(announced, old)
    rows = through - dropped_through()
    if rows <= 0:
        return LogDrop(0, 0)
    if not dry_run:
        if old > announced:
            payload = {"rows": rows, "through": old, "before": before.isoformat()}
            audit.append(actor, ANCHOR, subject=f"{DROP_PREFIX}{old}", payload=payload)
        while drop_batch(through, on_rows):
            pass
    return LogDrop(rows, through)


def last_row_before(moment: datetime) -> int:
    """The number of the last row before the first one that is not older; 0 if the first row is not older."""
    remaining = AuditEntry.objects.filter(origin=OWN, at__gte=moment).aggregate(first=Min("seq"))["first"]
    if remaining is not None:
        return int(remaining) - 1
    head = AuditHead.objects.filter(origin=OWN).first()
    return head.seq if head else 0


def drop_batch(through: int, on_rows: Callable[[int], object] | None) -> int:
    """Drop the next rows up to `through` in one transaction. Returns the number of rows."""
    with transaction.atomic():
        front = AuditEntry.objects.filter(origin=OWN).order_by("seq").first()
        gone = dropped_through()
        last = min(gone + BATCH_ROWS, through)
        if last <= gone:
            return 0
        batch = AuditEntry.objects.filter(origin=OWN, seq__gt=gone, seq__lte=last)
        check_batch(
            batch, previous=front.hash if front is not None and gone else GENESIS, first=gone + 1, last=last
        )
        AuditPayload.objects.filter(entry__in=batch.values("pk")).delete()
        AuditEntry.objects.filter(origin=OWN, seq__lt=last).delete()
        make_anchor(batch.get(seq=last))
    if on_rows is not None:
        on_rows(last - gone)
    return last - gone


def check_batch(batch: QuerySet[AuditEntry], *, previous: str, first: int, last: int) -> None:
    """Raise Conflict if the rows do not follow one another: dropping them would hide that somebody changed them."""
    number = first
    for entry in batch.order_by("seq").select_related("payload_row"):
        error = find_row_error(entry, previous, number)
        if error:
            break
        previous, number = entry.hash, number + 1
    else:
        error = "" if number == last + 1 else f"row {number} is missing"
    if error:
        raise Conflict(
            f"The audit log is broken at row {number}: {error}. This row and all later ones were kept.",
            hint="'loci audit verify' shows the chain; do not change the database until you know the cause.",
        )


def make_anchor(entry: AuditEntry) -> None:
    """Reduce a row to the hash that the next row follows; its other fields are cleared, as no hash proves them any longer."""
    entry.operation, entry.subject = ANCHOR, f"{ANCHOR_PREFIX}{entry.hash}"
    entry.memory_id = entry.group = entry.token = entry.run = None
    entry.actor = entry.via = entry.client = entry.digest = ""
    entry.save()
