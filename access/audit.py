"""The audit log: append() writes one chained row; verify_chain() proves that none was changed or taken out."""

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from access.actor import Actor
from access.models import AuditEntry, AuditHead, AuditPayload

GENESIS = "0" * 64  # what the first row of a chain follows
OWN = ""  # this store's own chain


@dataclass(frozen=True)
class ChainReport:
    """What verify_chain() found: how many rows, the head's hash, and the first row that does not fit."""

    origin: str
    rows: int
    head: str
    purged_payloads: int
    broken_at: int | None = None
    why: str = ""

    @property
    def is_whole(self) -> bool:
        """True where every row follows the one before."""
        return self.broken_at is None


@dataclass(frozen=True)
class Event:
    """One thing done, before it is a row of the log."""

    operation: str
    memory_id: UUID | None = None
    group: UUID | None = None
    subject: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)


def append(
    actor: Actor,
    operation: str,
    *,
    memory_id: UUID | None = None,
    group: UUID | None = None,
    subject: str = "",
    payload: Mapping[str, Any] | None = None,
    at: datetime | None = None,
) -> AuditEntry:
    """Write one row at the end of this store's chain, inside the caller's transaction.

    The chain's head is locked until that transaction ends, so rows never share a place.
    """
    event = Event(operation, memory_id, group, subject, payload or {})
    return append_many(actor, [event], at=at)[0]


def append_many(actor: Actor, events: Sequence[Event], *, at: datetime | None = None) -> list[AuditEntry]:
    """Write rows at the end of this store's chain, in order, as append() does one: the head is locked once for all."""
    if not events:
        return []
    with transaction.atomic():
        head = _locked_head(OWN)
        at = at or timezone.now()
        previous, rows, said = head.hash, list[AuditEntry](), list[AuditPayload]()
        for seq, event in enumerate(events, start=head.seq + 1):
            entry, payload = _row(actor, event, seq=seq, at=at)
            entry.hash = previous = chain_hash(previous, entry)
            rows.append(entry)
            said.append(payload)
        AuditEntry.objects.bulk_create(rows)
        AuditPayload.objects.bulk_create(said)
        AuditHead.objects.filter(pk=head.pk).update(seq=rows[-1].seq, hash=previous)
    return rows


def _row(actor: Actor, event: Event, *, seq: int, at: datetime) -> tuple[AuditEntry, AuditPayload]:
    """Give the unsaved row of an event, without its hash, and what it says."""
    body = dict(event.payload)
    salt = secrets.token_hex(16)
    entry = AuditEntry(
        origin=OWN,
        seq=seq,
        at=at,
        operation=event.operation,
        memory_id=event.memory_id,
        group=event.group,
        subject=event.subject[:200],
        actor=actor.name,
        via=actor.via,
        token=actor.token_id,
        client=actor.client[:120],
        run=actor.run,
        digest=payload_digest(salt, body),
    )
    return entry, AuditPayload(entry=entry, salt=salt, payload=body)


def payload_digest(salt: str, payload: Mapping[str, Any]) -> str:
    """Give SHA-256 (hex) of the salt and the payload as canonical JSON; without the salt it says nothing."""
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(f"{salt}:{text}".encode()).hexdigest()


def chain_hash(previous: str, entry: AuditEntry) -> str:
    """Give SHA-256 (hex) over the previous row's hash and this row's ids, names and digest."""
    parts = [
        previous,
        str(entry.seq),
        entry.at.isoformat(),
        entry.operation,
        str(entry.memory_id or ""),
        str(entry.group or ""),
        entry.subject,
        entry.actor,
        entry.via,
        str(entry.token or ""),
        entry.client,
        str(entry.run or ""),
        entry.digest,
    ]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def verify_chain(origin: str = OWN) -> ChainReport:
    """Walk a chain from its start and say whether every row, payload and the head fit.

    A chain that starts with an anchor (retention) is walked from there. Payloads that purge deleted are counted.
    """
    previous, expected, rows, purged = GENESIS, 1, 0, 0
    entries = AuditEntry.objects.filter(origin=origin).order_by("seq").select_related("payload_row")
    for entry in entries.iterator(chunk_size=2000):
        if rows == 0 and entry.operation == "anchor":
            previous, expected = entry.subject.removeprefix("after:"), entry.seq
        fault = _fault(entry, previous, expected)
        if fault:
            return ChainReport(origin, rows, previous, purged, broken_at=entry.seq, why=fault)
        purged += not hasattr(entry, "payload_row")
        previous, expected, rows = entry.hash, entry.seq + 1, rows + 1
    head = AuditHead.objects.filter(origin=origin).first()
    fault = _head_fault(head, origin, seq=expected - 1, previous=previous)
    return ChainReport(origin, rows, previous, purged, broken_at=expected if fault else None, why=fault)


def _head_fault(head: AuditHead | None, origin: str, *, seq: int, previous: str) -> str:
    if head is None:
        return "the chain's head is missing" if origin == OWN and seq else ""
    return "" if (head.seq, head.hash) == (seq, previous) else "rows are missing at the end"


def _fault(entry: AuditEntry, previous: str, expected: int) -> str:
    if entry.seq != expected:
        return f"row {expected} is missing"
    if entry.hash != chain_hash(previous, entry):
        return "the row does not follow the one before"
    row = getattr(entry, "payload_row", None)
    if row is not None and payload_digest(row.salt, row.payload) != entry.digest:
        return "what the row says was changed"
    return ""


def _locked_head(origin: str) -> AuditHead:
    head = AuditHead.objects.select_for_update().filter(pk=origin).first()
    if head is None:
        head, _ = AuditHead.objects.get_or_create(origin=origin, defaults={"seq": 0, "hash": GENESIS})
        head = AuditHead.objects.select_for_update().get(pk=origin)
    return head
