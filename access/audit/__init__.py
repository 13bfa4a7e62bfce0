"""The audit log: append() writes one chained row; verify_chain() proves that none was changed or taken out."""

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
from access.models import AuditEntry, AuditHead, AuditPayload
from storage.bulk_insert import FEW, ManyInsert, is_at_hand, like
from storage.canonical_json import ReadyJson, canonical_json
from storage.compiled_queries import CompiledQuery, CompiledUpdate

GENESIS = "0" * 64  # what the first row of a chain follows
OWN = ""  # this store's own chain
ANCHOR = "anchor"  # access.audit.operations.Operation.ANCHOR, which this room may not import
# Retention drops the oldest rows. First it appends a row "dropped:N"; then the row N becomes the anchor at the chain's
# front: it keeps its hash, so the row after it still follows, and says nothing else any more.
ANCHOR_PREFIX, DROP_PREFIX = "after:", "dropped:"
VERIFY_BATCH_ROWS = 2000  # rows in memory
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
_NOTHING: Mapping[str, Any] = {}  # is said
_DOER = ("actor", "via", "token", "client", "run")


@dataclass(frozen=True)
class ChainReport:
    """What verify_chain() found: how many rows, the head's hash, and the first row that does not fit.

    `dropped` is the number of the last row that retention dropped; 0 where the chain is there from its start.
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
        """True where every row follows the one before."""
        return self.broken_at is None


class AuditEvent(NamedTuple):
    """One thing done, before it is a row of the log."""

    operation: str
    memory_id: UUID | None = None
    group: UUID | None = None
    subject: str = ""
    payload: "Mapping[str, Any] | ReadyJson" = _NOTHING


class SealedPayload(NamedTuple):
    """What a row says, with its salt and its digest."""

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
    """Write one row at the end of this store's chain, inside the caller's transaction.

    The chain's head is locked until that transaction ends, so rows never share a place.
    """
    event = AuditEvent(operation, memory_id, group, subject, payload or {})
    return _append_few(actor, [event], at=at)[0]


def append_many(actor: Actor, events: Sequence[AuditEvent], *, at: datetime | None = None) -> None:
    """Write rows at the end of this store's chain, in order, as append() does one: the head is locked once for all."""
    if len(events) < FEW or not is_at_hand():
        _append_few(actor, events, at=at)
        return
    # Without a savepoint: what cannot be logged must not be done, so the caller's transaction goes with it.
    with transaction.atomic(savepoint=False):
        head = lock_head(OWN)
        rows, said = _columns(actor, events, head=head, at=at or timezone.now())
        keys = _ENTRIES.add_columns(rows)
        _PAYLOADS.add_columns({"entry_id": keys, **said})
        advance_head(head, head.seq + len(events), rows["hash"][-1])


def _append_few(
    actor: Actor, events: Sequence[AuditEvent], *, at: datetime | None = None
) -> list[AuditEntry]:
    if not events:
        return []
    # Without a savepoint: what cannot be logged must not be done, so the caller's transaction goes with it.
    with transaction.atomic(savepoint=False):
        head = lock_head(OWN)
        at = at or timezone.now()
        rows, said = _rows(actor, events, first=head.seq + 1, at=at)
        previous = head.hash
        for entry in rows:
            entry.hash = previous = chain_hash(previous, entry)
        _ENTRIES.add(rows)
        _PAYLOADS.add(said)
        advance_head(head, rows[-1].seq, previous)
    return rows


def _columns(
    actor: Actor, events: Sequence[AuditEvent], *, head: AuditHead, at: datetime
) -> tuple[dict[str, Sequence[Any]], dict[str, Sequence[Any]]]:
    """Give the rows of events, and what they say, by columns: objects would take longer than all else here."""
    count, seqs = len(events), range(head.seq + 1, head.seq + 1 + len(events))
    said = _seal([event.payload for event in events])
    digests = [each.digest for each in said]
    subjects = [event.subject[:200] for event in events]
    moment = f'"{at.isoformat()}"'
    done = (actor.name, actor.via, actor.token_id, actor.client[:120], actor.run)
    hashes, previous = list[str](), head.hash
    ended = _parts_of(done[0], done[1], str(done[2] or ""), done[3], str(done[4] or ""))
    for seq, event, subject, digest in zip(seqs, events, subjects, digests, strict=True):
        named = _parts_of(event.operation, str(event.memory_id or ""), str(event.group or ""), subject)
        previous = _line_hash(f'"{previous}", "{seq}", {moment}', named, ended, f'"{digest}"')
        hashes.append(previous)
    rows: dict[str, Sequence[Any]] = {
        "origin": [OWN] * count,
        "seq": seqs,
        "at": [at] * count,
        "operation": [event.operation for event in events],
        "memory_id": [event.memory_id for event in events],
        "group": [event.group for event in events],
        "subject": subjects,
        **{name: [value] * count for name, value in zip(_DOER, done, strict=True)},
        "digest": digests,
        "hash": hashes,
    }
    return rows, {"salt": [each.salt for each in said], "payload": [each.payload for each in said]}


def _seal(payloads: Sequence[Mapping[str, Any] | ReadyJson]) -> list[SealedPayload]:
    """A salt and a digest for each payload."""
    drawn = secrets.token_bytes(_SALT_BYTES * len(payloads)).hex()
    salts = [drawn[start : start + 2 * _SALT_BYTES] for start in range(0, len(drawn), 2 * _SALT_BYTES)]
    return [
        SealedPayload(said if isinstance(said, ReadyJson) else dict(said), salt, payload_digest(salt, said))
        for salt, said in zip(salts, payloads, strict=True)
    ]


def _rows(
    actor: Actor, events: Sequence[AuditEvent], *, first: int, at: datetime
) -> tuple[list[AuditEntry], list[AuditPayload]]:
    """Give the unsaved rows of events, without their hashes, and what they say."""
    entry = AuditEntry(
        origin=OWN,
        at=at,
        actor=actor.name,
        via=actor.via,
        token=actor.token_id,
        client=actor.client[:120],
        run=actor.run,
    )
    payload = AuditPayload()
    rows, said = list[AuditEntry](), list[AuditPayload]()
    for number, (event, sealed) in enumerate(
        zip(events, _seal([event.payload for event in events]), strict=True)
    ):
        body = sealed.payload.value() if isinstance(sealed.payload, ReadyJson) else sealed.payload
        rows.append(
            like(
                entry,
                {
                    "seq": first + number,
                    "operation": event.operation,
                    "memory_id": event.memory_id,
                    "group": event.group,
                    "subject": event.subject[:200],
                    "digest": sealed.digest,
                },
            )
        )
        said.append(like(payload, {"salt": sealed.salt, "payload": body}, {"entry": rows[-1]}))
    return rows, said


def payload_digest(salt: str, payload: Mapping[str, Any] | ReadyJson) -> str:
    """Give SHA-256 (hex) of the salt and the payload as canonical JSON; without the salt it says nothing."""
    return hashlib.sha256(f"{salt}:{canonical_json(payload)}".encode()).hexdigest()


def chain_hash(previous: str, entry: AuditEntry) -> str:
    """Give SHA-256 (hex) over the previous row's hash and this row's ids, names and digest."""
    named = _parts_of(
        entry.operation, str(entry.memory_id or ""), str(entry.group or ""), entry.subject, entry.actor, entry.via,
        str(entry.token or ""), entry.client, str(entry.run or ""), entry.digest,
    )  # fmt: skip
    return _line_hash(f'"{previous}", "{entry.seq}", "{entry.at.isoformat()}"', named)


def _parts_of(*texts: str) -> str:
    """Give texts as JSON writes them in a list."""
    return ", ".join(map(encode_basestring, texts))


def _line_hash(*parts: str) -> str:
    return hashlib.sha256(f"[{', '.join(parts)}]".encode()).hexdigest()


def chain_names() -> list[str]:
    """Give the origins of all chains, this store's own ("") first; also of one whose head is gone."""
    found = set(AuditHead.objects.values_list("origin", flat=True))
    # Not DISTINCT: the unique index on (origin, seq) finds the next origin at once, however many rows one has.
    origin = AuditEntry.objects.order_by("origin").values_list("origin", flat=True).first()
    while origin is not None:
        found.add(origin)
        later = AuditEntry.objects.filter(origin__gt=origin).order_by("origin")
        origin = later.values_list("origin", flat=True).first()
    return sorted(found)


def verify_chain(origin: str = OWN, *, on_rows: Callable[[int], object] | None = None) -> ChainReport:
    """Walk a chain from its start and say whether every row, payload and the head fit.

    A chain whose oldest rows retention dropped is walked from its anchor; a later row must tell of the drop. Payloads
    that purge deleted are counted. What is appended meanwhile is left out. `on_rows` hears how many rows were walked.
    """
    head = AuditHead.objects.filter(origin=origin).first()
    entries = AuditEntry.objects.filter(origin=origin).order_by("seq").select_related("payload_row")
    # The head is read first: rows that are appended during the walk must not look like rows that nobody announced.
    entries = entries.filter(seq__lte=head.seq) if head else entries
    previous, expected, rows, purged, dropped = GENESIS, 1, 0, 0, 0
    for entry in entries.iterator(chunk_size=VERIFY_BATCH_ROWS):
        is_anchor = expected == 1 and _is_front(entry)
        fault = _anchor_fault(entry) if is_anchor else find_row_error(entry, previous, expected)
        if fault:
            return ChainReport(origin, rows, previous, purged, entry.seq, fault, dropped)
        previous, expected = entry.hash, entry.seq + 1
        if is_anchor:
            dropped = entry.seq
            continue
        purged += not hasattr(entry, "payload_row")
        rows += 1
        if on_rows is not None and rows % VERIFY_BATCH_ROWS == 0:
            on_rows(VERIFY_BATCH_ROWS)
    fault = _head_fault(head, rows=rows, seq=expected - 1, previous=previous) or _tail_fault(origin)
    return ChainReport(origin, rows, previous, purged, expected if fault else None, fault, dropped)


def announced_drop(origin: str = OWN) -> int:
    """Give the number of the last row that the chain says retention dropped; 0 where it says of none."""
    said = AuditEntry.objects.filter(origin=origin, operation=ANCHOR, subject__startswith=DROP_PREFIX)
    numbers = [subject.removeprefix(DROP_PREFIX) for subject in said.values_list("subject", flat=True)]
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


def dropped_through(origin: str = OWN) -> int:
    """Give the number of the last row that is gone from a chain's front: the anchor's; 0 where it is all there."""
    first = AuditEntry.objects.filter(origin=origin).order_by("seq").first()
    return first.seq if first is not None and _is_front(first) else 0


def _is_front(entry: AuditEntry) -> bool:
    return entry.operation == ANCHOR and entry.subject.startswith(ANCHOR_PREFIX)


def _anchor_fault(entry: AuditEntry) -> str:
    if entry.subject != f"{ANCHOR_PREFIX}{entry.hash}":
        return "the anchor was changed"
    if announced_drop(entry.origin) < entry.seq:
        return "no later row says that the rows before the anchor were dropped"
    return ""


def _head_fault(head: AuditHead | None, *, rows: int, seq: int, previous: str) -> str:
    if head is None:
        return "the chain's head is missing" if rows else ""
    return "" if (head.seq, head.hash) == (seq, previous) else "rows are missing at the end"


def _tail_fault(origin: str) -> str:
    """Say that rows stand behind the head. One statement: the head and the rows are of one moment."""
    head = AuditHead.objects.filter(origin=OuterRef("origin")).values("seq")
    behind = AuditEntry.objects.filter(origin=origin, seq__gt=Subquery(head))
    return "rows stand behind the chain's end" if behind.exists() else ""


def find_row_error(entry: AuditEntry, previous: str, expected: int) -> str:
    """Say why a row is not the one of this number that follows this hash; empty where it is."""
    if entry.seq != expected:
        return f"row {expected} is missing"
    if entry.hash != chain_hash(previous, entry):
        return "the row does not follow the one before"
    row = getattr(entry, "payload_row", None)
    if row is not None and payload_digest(row.salt, row.payload) != entry.digest:
        return "what the row says was changed"
    return ""


def advance_head(head: AuditHead, seq: int, hash_: str) -> None:
    """Let a chain end with another row; `head` is where it ended."""
    if _MOVE_HEAD.run(seq, hash_, head.origin, head.seq) != 1:
        raise RuntimeError("Something else was appended to the log meanwhile.")


def lock_head(origin: str) -> AuditHead:
    head = _HEAD.first(origin)
    if head is None:
        AuditHead.objects.get_or_create(origin=origin, defaults={"seq": 0, "hash": GENESIS})
        head = AuditHead.objects.select_for_update().get(pk=origin)
    return head
