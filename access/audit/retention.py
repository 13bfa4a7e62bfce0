"""Retention of the audit log: drops each chain's oldest rows and leaves an anchor that the remaining rows follow."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Min, QuerySet

from access import audit
from access.actor import Actor
from access.audit import HEADS, INSTANCE, OLD, OWN, chain_labels, group_of, old_end, start_hash
from access.audit.operations import Operation
from access.audit.verify import (
    ANCHOR,
    ANCHOR_PREFIX,
    DROP_PREFIX,
    OLD_DROP_PREFIX,
    announced_drop,
    chain_names,
    dropped_through,
    find_row_error,
)
from access.errors import Conflict, NotPermitted
from access.models import AuditEntry, AuditHead, AuditPayload


def has_unlinked() -> bool:
    """True if a chain has grown since it was last linked."""
    return _unlinked_heads().exists()


def link_heads(actor: Actor) -> None:
    """Link the ends of the chains that have grown since the last time, in one row; none if nothing has."""
    if not has_unlinked():
        return
    with transaction.atomic():
        heads = list(_unlinked_heads().select_for_update().order_by("chain"))
        if not heads:
            return
        payload = {"chains": {head.chain: [head.seq, head.hash] for head in heads}}
        row = audit.append(actor, Operation.HEADS, chain=HEADS, payload=payload)
        linked = AuditHead.objects.filter(pk__in=[head.pk for head in heads])
        linked.update(linked=F("seq"), linked_in=row.seq)


def _unlinked_heads() -> QuerySet[AuditHead]:
    """The heads of this store's chains that have grown since they were last linked."""
    return AuditHead.objects.filter(origin=OWN, seq__gt=F("linked")).exclude(chain=HEADS)


BATCH_ROWS = 500  # in one transaction: about 15 ms of write lock


@dataclass(frozen=True)
class LogDrop:
    """The rows dropped from this store's log: how many, and the number of the last one of each chain with any."""

    rows: int
    through: dict[str, int]


def drop_log(actor: Actor, *, before: datetime, on_rows: Callable[[int], object] | None = None) -> LogDrop:
    """Drop the rows of this store's own chains up to the last one written before a moment; imported chains stay.

    For each chain:

    1. append a row with the number of the last row to drop, so that the log itself proves the drop
    2. in batches, one transaction each: delete from the front and turn the last row of the batch into the anchor, which
       keeps only its number, its time and its hash

    If it is killed midway, the chains are intact and the next call continues. If no row is old enough, nothing is
    written.

    Raises:
        NotPermitted: the actor may not administer the whole store.
        Conflict: a row does not follow the previous one; it and all later rows of its chain stay.
    """
    if not actor.is_admin_of_all:
        raise NotPermitted(
            "Only an admin of every group may drop rows of the audit log.",
            hint="Run 'loci store retention' on the machine itself.",
        )
    chains = [chain for origin, chain in chain_names() if origin == OWN]
    through = dict[str, int]()
    rows = 0
    # The instance's chain comes last: it announces the drops of the old one.
    for chain in sorted(chains, key=lambda name: (name == INSTANCE, name)):
        announced, old = announced_drop(chain), _last_row_before(chain, before)
        last, gone = max(announced, old), dropped_through(chain)
        if last <= gone:
            continue
        rows, through[chain] = rows + last - gone, last
        with transaction.atomic():
            if old > announced:
                payload = {"rows": last - gone, "through": old, "before": before.isoformat()}
                _announce(actor, chain, old, payload)
            if chain == INSTANCE:
                _repeat_old_drop(actor, last)
        while _drop_batch(chain, last, on_rows):
            pass
    return LogDrop(rows, through)


def _announce(actor: Actor, chain: str, through: int, payload: dict[str, Any]) -> None:
    prefix, where = (OLD_DROP_PREFIX, INSTANCE) if chain == OLD else (DROP_PREFIX, chain)
    audit.append(
        actor, ANCHOR, chain=where, group=group_of(chain), subject=f"{prefix}{through}", payload=payload
    )


def _repeat_old_drop(actor: Actor, through: int) -> None:
    """Announce the old chain's drop again if the row that does is among those to drop from the instance's chain."""
    announced = announced_drop(OLD)
    later = AuditEntry.objects.filter(
        origin=OWN, chain=INSTANCE, seq__gt=through, subject=f"{OLD_DROP_PREFIX}{announced}"
    )
    if announced and not later.exists():
        _announce(actor, OLD, announced, {"through": announced})


def _last_row_before(chain: str, moment: datetime) -> int:
    """The number of the last row before the first one that is not older; 0 if the first row is not older."""
    rows = AuditEntry.objects.filter(origin=OWN, chain=chain)
    remaining = rows.filter(at__gte=moment).aggregate(first=Min("seq"))["first"]
    if remaining is not None:
        return int(remaining) - 1
    head = AuditHead.objects.filter(origin=OWN, chain=chain).first()
    return head.seq if head else 0


def _drop_batch(chain: str, through: int, on_rows: Callable[[int], object] | None) -> int:
    """Drop the next rows up to `through` in one transaction. Returns the number of rows."""
    rows = AuditEntry.objects.filter(origin=OWN, chain=chain)
    with transaction.atomic():
        front = rows.order_by("seq").first()
        gone = dropped_through(chain)
        last = min(gone + BATCH_ROWS, through)
        if last <= gone:
            return 0
        batch = rows.filter(seq__gt=gone, seq__lte=last)
        start = front.hash if front is not None and gone else start_hash(chain, old_end(OWN))
        # Rows that do not follow one another stay: dropping them would hide that they were changed.
        previous, number = start, gone + 1
        for entry in batch.order_by("seq").select_related("payload_row"):
            error = find_row_error(entry, previous, number)
            if error:
                break
            previous, number = entry.hash, number + 1
        else:
            error = "" if number == last + 1 else f"row {number} is missing"
        if error:
            label = chain_labels().get(chain, chain)
            raise Conflict(
                f"The audit log is broken at row {number} of the chain {label}: {error}. "
                "This row and all later ones were kept.",
                hint="'loci audit verify' shows the chains; do not change the database until you know the cause.",
            )
        AuditPayload.objects.filter(entry__in=batch.values("pk")).delete()
        rows.filter(seq__lt=last).delete()
        # The last row becomes the anchor: it keeps the hash that the next row follows, and no hash proves its other fields.
        anchor = batch.get(seq=last)
        anchor.operation, anchor.subject = ANCHOR, f"{ANCHOR_PREFIX}{anchor.hash}"
        anchor.memory_id = anchor.group = anchor.token = anchor.run = None
        anchor.actor = anchor.via = anchor.client = anchor.digest = ""
        anchor.save()
        if chain == HEADS:  # the chains whose last link was dropped are linked anew
            heads = AuditHead.objects.filter(origin=OWN, linked_in__range=(1, last))
            heads.update(linked=0, linked_in=0)
    if on_rows is not None:
        on_rows(last - gone)
    return last - gone
