"""The audit log: append() writes one chained row; verify_chain() proves that none was changed or removed."""

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from json.encoder import encode_basestring
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from access.actor import Actor
from access.audit.collect import note_rows
from access.audit.operations import Operation
from access.models import AuditEntry, AuditHead, AuditPayload
from access.write_rate import count_writes
from storage.bulk_insert import MIN_BULK_ROWS, ManyInsert, can_insert_columns
from storage.canonical_json import ReadyJson, canonical_json
from storage.compiled_queries import CompiledQuery, CompiledUpdate

GENESIS = "0" * 64  # the previous hash of a chain's first row
OWN = ""  # this store's own chain
ANCHOR = Operation.ANCHOR.value
# Retention drops the oldest rows. First it appends a row "dropped:N"; then row N becomes the anchor at the chain's
# front: it keeps only its hash, which the next row follows.
ANCHOR_PREFIX, DROP_PREFIX = "after:", "dropped:"
VERIFY_BATCH_ROWS = 2000  # in memory
_HEAD = CompiledQuery(lambda origin: AuditHead.objects.select_for_update().filter(pk=origin).order_by())
_MOVE_HEAD = CompiledUpdate(
    lambda seq, hash_, origin, before: (
        AuditHead.objects.filter(pk=origin, seq=before),
        {"seq": seq, "hash": hash_},
    ),
    4,
)
_ENTRIES, _PAYLOADS = ManyInsert(AuditEntry), ManyInsert(AuditPayload)
_SALT_BYTES = 16
_NO_PAYLOAD: Mapping[str, Any] = {}
_ACTOR_FIELDS = ("actor", "via", "token", "client", "run")


@dataclass(frozen=True)
class ChainReport:
    """The result of verify_chain(): the number of rows, the head's hash and the first broken row.

    `dropped` is the number of the last row that retention dropped; 0 if the chain is complete.
    """

    origin: str
    rows: int
    head: str
    purged_payloads: int
    broken_at: int | None = None
    why: str = ""
    dropped: int = 0

    @property
    def is_whole(self) -> bool:
        """True if every row follows the previous one."""
        return self.broken_at is None


class AuditEvent(NamedTuple):
    """One operation to be logged."""

    operation: str
    memory_id: UUID | None = None
    group: UUID | None = None
    subject: str = ""
    payload: "Mapping[str, Any] | ReadyJson" = _NO_PAYLOAD


class SealedPayload(NamedTuple):
    """A row's payload with its salt and digest."""

    payload: dict[str, Any] | ReadyJson
    salt: str
    digest: str


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
    """Append one row to this store's chain, inside the caller's transaction.

    The chain's head stays locked until that transaction ends, so no two rows get the same number.
    """
    event = AuditEvent(operation, memory_id, group, subject, payload or {})
    return append_rows(actor, [event], at=at)[0]


def append_many(actor: Actor, events: Sequence[AuditEvent], *, at: datetime | None = None) -> None:
    """Append rows to this store's chain in order, like append(), but lock the head once for all."""
    if len(events) < MIN_BULK_ROWS or not can_insert_columns():
        append_rows(actor, events, at=at)
        return
    # No savepoint: if logging fails, the caller's transaction must fail with it.
    with transaction.atomic(savepoint=False):
        head = lock_head(OWN)
        rows, payloads = build_columns(actor, events, head=head, at=at or timezone.now())
        keys = _ENTRIES.add_columns(rows)
        note_rows(keys, rows["operation"])
        _PAYLOADS.add_columns({"entry_id": keys, **payloads})
        advance_head(head, head.seq + len(events), rows["hash"][-1])
        count_writes(actor, len(events))


def append_rows(
    actor: Actor, events: Sequence[AuditEvent], *, at: datetime | None = None
) -> list[AuditEntry]:
    """Append a few rows and return them; append_many() is faster for many."""
    if not events:
        return []
    # No savepoint: if logging fails, the caller's transaction must fail with it.
    with transaction.atomic(savepoint=False):
        head = lock_head(OWN)
        at = at or timezone.now()
        rows, payloads = build_rows(actor, events, first=head.seq + 1, at=at)
        previous = head.hash
        for entry in rows:
            entry.hash = previous = chain_hash(previous, entry)
        _ENTRIES.add(rows)
        note_rows((row.key for row in rows), (row.operation for row in rows))
        _PAYLOADS.add(payloads)
        advance_head(head, rows[-1].seq, previous)
        count_writes(actor, len(events))
    return rows


def build_columns(
    actor: Actor, events: Sequence[AuditEvent], *, head: AuditHead, at: datetime
) -> tuple[dict[str, Sequence[Any]], dict[str, Sequence[Any]]]:
    """The columns of the events' rows and of their payloads: model objects would take longer than everything else here."""
    count, seqs = len(events), range(head.seq + 1, head.seq + 1 + len(events))
    sealed = seal([event.payload for event in events])
    digests = [each.digest for each in sealed]
    subjects = [event.subject[:200] for event in events]
    quoted_at = f'"{at.isoformat()}"'
    doer = (actor.name, actor.via, actor.token_id, actor.client[:120], actor.run)
    hashes, previous = list[str](), head.hash
    doer_json = join_json(doer[0], doer[1], str(doer[2] or ""), doer[3], str(doer[4] or ""))
    for seq, event, subject, digest in zip(seqs, events, subjects, digests, strict=True):
        event_json = join_json(event.operation, str(event.memory_id or ""), str(event.group or ""), subject)
        previous = _hash_line(f'"{previous}", "{seq}", {quoted_at}', event_json, doer_json, f'"{digest}"')
        hashes.append(previous)
    rows: dict[str, Sequence[Any]] = {
        "origin": [OWN] * count,
        "seq": seqs,
        "at": [at] * count,
        "operation": [event.operation for event in events],
        "memory_id": [event.memory_id for event in events],
        "group": [event.group for event in events],
        "subject": subjects,
        **{name: [value] * count for name, value in zip(_ACTOR_FIELDS, doer, strict=True)},
        "digest": digests,
        "hash": hashes,
    }
    return rows, {"salt": [each.salt for each in sealed], "payload": [each.payload for each in sealed]}


def seal(payloads: Sequence[Mapping[str, Any] | ReadyJson]) -> list[SealedPayload]:
    """The payloads with a random salt and a digest each."""
    drawn = secrets.token_bytes(_SALT_BYTES * len(payloads)).hex()
    salts = [drawn[start : start + 2 * _SALT_BYTES] for start in range(0, len(drawn), 2 * _SALT_BYTES)]
    return [
        SealedPayload(
            payload if isinstance(payload, ReadyJson) else dict(payload), salt, payload_digest(salt, payload)
        )
        for salt, payload in zip(salts, payloads, strict=True)
    ]


def build_rows(
    actor: Actor, events: Sequence[AuditEvent], *, first: int, at: datetime
) -> tuple[list[AuditEntry], list[AuditPayload]]:
    """The unsaved rows of the events, without hashes, and the rows of their payloads."""
    rows, payloads = list[AuditEntry](), list[AuditPayload]()
    for number, (event, sealed) in enumerate(
        zip(events, seal([event.payload for event in events]), strict=True)
    ):
        body = sealed.payload.value() if isinstance(sealed.payload, ReadyJson) else sealed.payload
        entry = AuditEntry(
            origin=OWN,
            seq=first + number,
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
            digest=sealed.digest,
        )
        rows.append(entry)
        payloads.append(AuditPayload(entry=entry, salt=sealed.salt, payload=body))
    return rows, payloads


def payload_digest(salt: str, payload: Mapping[str, Any] | ReadyJson) -> str:
    """SHA-256 (hex) of the salt and the payload as canonical JSON; it reveals nothing without the salt."""
    return hashlib.sha256(f"{salt}:{canonical_json(payload)}".encode()).hexdigest()


def chain_hash(previous: str, entry: AuditEntry) -> str:
    """SHA-256 (hex) of the previous row's hash and this row's ids, names and digest."""
    fields = join_json(
        entry.operation, str(entry.memory_id or ""), str(entry.group or ""), entry.subject, entry.actor, entry.via,
        str(entry.token or ""), entry.client, str(entry.run or ""), entry.digest,
    )  # fmt: skip
    return _hash_line(f'"{previous}", "{entry.seq}", "{entry.at.isoformat()}"', fields)


def join_json(*texts: str) -> str:
    """The texts as the inside of a JSON list."""
    return ", ".join(map(encode_basestring, texts))


def _hash_line(*parts: str) -> str:
    return hashlib.sha256(f"[{', '.join(parts)}]".encode()).hexdigest()


def chain_names() -> list[str]:
    """The origins of all chains, this store's own ("") first, including chains whose head is missing."""
    found = set(AuditHead.objects.values_list("origin", flat=True))
    # Not DISTINCT: the unique index on (origin, seq) finds the next origin at once, however many rows an origin has.
    origin = AuditEntry.objects.order_by("origin").values_list("origin", flat=True).first()
    while origin is not None:
        found.add(origin)
        later = AuditEntry.objects.filter(origin__gt=origin).order_by("origin")
        origin = later.values_list("origin", flat=True).first()
    return sorted(found)


def verify_chain(origin: str = OWN, *, on_rows: Callable[[int], object] | None = None) -> ChainReport:
    """Walk a chain from its start and check every row, every payload and the head.

    If retention dropped the oldest rows, the walk starts at the anchor, and a later row must announce the drop. Purged
    payloads are counted. Rows appended during the walk are ignored. `on_rows` is called with the number of rows of each
    batch.
    """
    head = AuditHead.objects.filter(origin=origin).first()
    entries = AuditEntry.objects.filter(origin=origin).order_by("seq").select_related("payload_row")
    # The head is read first: rows appended during the walk must not look like rows beyond the head.
    entries = entries.filter(seq__lte=head.seq) if head else entries
    previous, expected, rows, purged, dropped = GENESIS, 1, 0, 0, 0
    for entry in entries.iterator(chunk_size=VERIFY_BATCH_ROWS):
        is_front = expected == 1 and is_anchor(entry)
        error = find_anchor_error(entry) if is_front else find_row_error(entry, previous, expected)
        if error:
            return ChainReport(origin, rows, previous, purged, entry.seq, error, dropped)
        previous, expected = entry.hash, entry.seq + 1
        if is_front:
            dropped = entry.seq
            continue
        purged += not hasattr(entry, "payload_row")
        rows += 1
        if on_rows is not None and rows % VERIFY_BATCH_ROWS == 0:
            on_rows(VERIFY_BATCH_ROWS)
    error = find_head_error(head, rows=rows, seq=expected - 1, previous=previous) or find_tail_error(origin)
    return ChainReport(origin, rows, previous, purged, expected if error else None, error, dropped)


def announced_drop(origin: str = OWN) -> int:
    """The number of the last row whose drop by retention the chain announces; 0 if there is none."""
    drops = AuditEntry.objects.filter(origin=origin, operation=ANCHOR, subject__startswith=DROP_PREFIX)
    numbers = [subject.removeprefix(DROP_PREFIX) for subject in drops.values_list("subject", flat=True)]
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


def dropped_through(origin: str = OWN) -> int:
    """The number of the last row missing at a chain's front, which is the anchor's; 0 if the chain is complete."""
    first = AuditEntry.objects.filter(origin=origin).order_by("seq").first()
    return first.seq if first is not None and is_anchor(first) else 0


def is_anchor(entry: AuditEntry) -> bool:
    """True if the row is the anchor in place of dropped rows."""
    return entry.operation == ANCHOR and entry.subject.startswith(ANCHOR_PREFIX)


def find_anchor_error(entry: AuditEntry) -> str:
    """What is wrong with a chain's anchor; empty if nothing is."""
    if entry.subject != f"{ANCHOR_PREFIX}{entry.hash}":
        return "the anchor was changed"
    if announced_drop(entry.origin) < entry.seq:
        return "no later row announces that the rows before the anchor were dropped"
    return ""


def find_head_error(head: AuditHead | None, *, rows: int, seq: int, previous: str) -> str:
    """What is wrong with a chain's head after the last row (`seq`, hash `previous`); empty if nothing is."""
    if head is None:
        return "the chain's head is missing" if rows else ""
    return "" if (head.seq, head.hash) == (seq, previous) else "rows are missing at the end"


def find_tail_error(origin: str) -> str:
    """The error if rows follow the head. One statement, so head and rows are of the same moment."""
    head = AuditHead.objects.filter(origin=OuterRef("origin")).values("seq")
    behind = AuditEntry.objects.filter(origin=origin, seq__gt=Subquery(head))
    return "there are rows behind the chain's end" if behind.exists() else ""


def find_row_error(entry: AuditEntry, previous: str, expected: int) -> str:
    """Why a row is not number `expected` after the hash `previous`; empty if it is."""
    if entry.seq != expected:
        return f"row {expected} is missing"
    if entry.hash != chain_hash(previous, entry):
        return "the row does not follow the one before"
    row = getattr(entry, "payload_row", None)
    if row is not None and payload_digest(row.salt, row.payload) != entry.digest:
        return "the payload of the row was changed"
    return ""


def advance_head(head: AuditHead, seq: int, hash_: str) -> None:
    """Move a chain's end from `head` to another row."""
    if _MOVE_HEAD.run(seq, hash_, head.origin, head.seq) != 1:
        raise RuntimeError("Something else was appended to the log meanwhile.")


def lock_head(origin: str) -> AuditHead:
    """The locked head of a chain, created if it is missing."""
    head = _HEAD.first(origin)
    if head is None:
        AuditHead.objects.get_or_create(origin=origin, defaults={"seq": 0, "hash": GENESIS})
        head = AuditHead.objects.select_for_update().get(pk=origin)
    return head
