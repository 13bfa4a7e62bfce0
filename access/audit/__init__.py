"""The audit log: append() writes one row to the chain of its group, or to the instance's.

One chain for each group, one for the instance, and the chain of heads that links them all. Each row follows the previous one
of its chain by a hash, and numbers count within one chain, so that no reader learns from the numbers of one group how much
happens in another. A piece of work (one_change(), collecting_rows()) knows the rows that it has appended, so that its answer
can name them. verify.py proves that no row was changed or removed; retention.py drops old rows.
"""

import hashlib
import random
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from json.encoder import encode_basestring
from typing import Any, NamedTuple, ParamSpec, TypeVar
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.utils import timezone

from access.actor import Actor
from access.audit.operations import Operation
from access.limits.throttle import count_writes
from access.models import AuditEntry, AuditHead, AuditPayload, Group
from access.models.audit import LEGACY
from storage.bulk import ManyInsert, can_insert_columns
from storage.call_state import CallState
from storage.canonical_json import ReadyJson, canonical_json
from storage.changes import apart, changing, continuing, current_change
from storage.compiled_queries import CompiledQuery, CompiledUpdate

__all__ = [
    "GENESIS", "HEADS", "INSTANCE", "MAX_SEQ", "OLD", "OWN", "AuditEvent", "Doer", "Operation", "Work", "append", "append_many", "chain_hash",
    "chain_labels", "chain_of", "collecting_rows", "current_work", "find_row", "group_chain", "group_of", "old_end", "one_change",
    "payload_digest", "start_hash",
]  # fmt: skip
P = ParamSpec("P")
T = TypeVar("T")
OWN = ""  # the origin of this store's own chains
OLD = ""  # the one chain of a store from before groups had their own; its last hash is what all other chains follow
INSTANCE = "instance"  # log-in, people, schedule: what belongs to no group
HEADS = "heads"  # links the ends of all chains
GENESIS = "0" * 64  # the previous hash of a store's first row
_HEAD = CompiledQuery(
    lambda chain: AuditHead.objects.select_for_update().filter(origin=OWN, chain=chain).order_by()
)
_MOVE_HEAD = CompiledUpdate(
    lambda seq, hash_, key, before: (
        AuditHead.objects.filter(pk=key, seq=before),
        {"seq": seq, "hash": hash_},
    ),
    4,
)
MAX_SEQ = 2**63 - 1


def group_chain(group: UUID | None) -> str:
    """The name of the chain for rows about a group, or about none."""
    return INSTANCE if group is None else str(group)


def group_of(chain: str) -> UUID | None:
    """The id of the group whose chain this is; None for the other chains."""
    return None if chain in (OLD, INSTANCE, HEADS) else UUID(chain)


def find_row(name: str) -> AuditEntry | None:
    """The row of this store's log with this name (AuditEntry.name), with its payload; None if there is none."""
    chain, _, seq = name.rpartition(".")
    if not chain or not (seq.isascii() and seq.isdecimal()) or int(seq) > MAX_SEQ:
        return None
    rows = AuditEntry.objects.filter(origin=OWN, chain=OLD if chain == LEGACY else chain, seq=int(seq))
    return rows.select_related("payload_row").first()


def chain_labels() -> dict[str, str]:
    """Chain names as people read them: a group's slug by its id, and the other chains' own names."""
    slugs = {str(id_): slug for id_, slug in Group.objects.values_list("id", "slug")}
    return {OLD: LEGACY, INSTANCE: INSTANCE, HEADS: HEADS, **slugs}


class LockedChains:
    """The ends of chains that the caller's transaction appends to, locked until it ends.

    `ends` holds each chain's number and hash as the caller builds the rows; save() writes them.
    """

    def __init__(self, chains: Iterable[str]) -> None:
        # Always in the same order, so that two writers never wait for each other.
        self._heads = {chain: _lock_head(chain) for chain in sorted(set(chains))}
        self.ends = {chain: (head.seq, head.hash) for chain, head in self._heads.items()}

    def save(self) -> None:
        """Move the heads to their new ends."""
        for chain, head in self._heads.items():
            if _MOVE_HEAD.run(*self.ends[chain], head.key, head.seq) != 1:
                raise RuntimeError("Something else was appended to the log meanwhile.")


def _lock_head(chain: str) -> AuditHead:
    """The locked head of one of this store's chains, created if it is missing."""
    head = _HEAD.first(chain)
    if head is None:
        start = start_hash(chain, old_end(OWN))
        AuditHead.objects.get_or_create(origin=OWN, chain=chain, defaults={"seq": 0, "hash": start})
        head = AuditHead.objects.select_for_update().get(origin=OWN, chain=chain)
    return head


def start_hash(chain: str, end: str) -> str:
    """The hash that a chain's first row follows: of the chain's name and the end of the store's old chain."""
    return GENESIS if chain == OLD else _hash_line(_join_json(end, chain))


def old_end(origin: str) -> str:
    """The last hash of a store's old chain; GENESIS if it never had one."""
    found = AuditHead.objects.filter(origin=origin, chain=OLD).values_list("hash", flat=True).first()
    return found or GENESIS


def payload_digest(salt: str, payload: Mapping[str, Any] | ReadyJson) -> str:
    """SHA-256 (hex) of the salt and the payload as canonical JSON; it reveals nothing without the salt."""
    return hashlib.sha256(f"{salt}:{canonical_json(payload)}".encode()).hexdigest()


def chain_hash(previous: str, entry: AuditEntry) -> str:
    """SHA-256 (hex) of the previous row's hash and this row's ids, names and digest."""
    fields = _join_json(
        entry.operation, str(entry.memory_id or ""), str(entry.group or ""), entry.subject, entry.actor, entry.via,
        str(entry.token or ""), entry.client, str(entry.run or ""), entry.digest,
    )  # fmt: skip
    return _hash_line(f'"{previous}", "{entry.seq}", "{entry.at.isoformat()}"', fields)


def _join_json(*texts: str) -> str:
    """The texts as the inside of a JSON list."""
    return ", ".join(map(encode_basestring, texts))


def _hash_line(*parts: str) -> str:
    """SHA-256 (hex) of the parts as a JSON list."""
    return hashlib.sha256(f"[{', '.join(parts)}]".encode()).hexdigest()


_ENTRIES, _PAYLOADS = ManyInsert(AuditEntry), ManyInsert(AuditPayload)
_SALT_BYTES = 16
_NO_PAYLOAD: Mapping[str, Any] = {}
_ACTOR_FIELDS = ("actor", "via", "token", "client", "run")


class AuditEvent(NamedTuple):
    """One operation to be logged, in the chain of its group or of the instance unless `chain` names another."""

    operation: str
    memory_id: UUID | None = None
    group: UUID | None = None
    subject: str = ""
    payload: "Mapping[str, Any] | ReadyJson" = _NO_PAYLOAD
    chain: str = ""
    chars: int = 0  # of text that the operation stored


def append(
    actor: Actor,
    operation: str,
    *,
    memory_id: UUID | None = None,
    group: UUID | None = None,
    subject: str = "",
    payload: Mapping[str, Any] | None = None,
    at: datetime | None = None,
    chain: str = "",
    chars: int = 0,
) -> AuditEntry:
    """Append one row to the chain of its group, or of the instance or `chain`, inside the caller's transaction.

    The chain's head stays locked until that transaction ends, so no two rows get the same number.
    """
    event = AuditEvent(operation, memory_id, group, subject, payload or {}, chain, chars)
    return _append_rows(actor, [event], at=at)[0]


def append_many(actor: Actor, events: Sequence[AuditEvent], *, at: datetime | None = None) -> None:
    """Append rows in order, like append(), but lock each chain's head once for all."""
    if not events or not can_insert_columns():
        _append_rows(actor, events, at=at)
        return
    # No savepoint: if logging fails, the caller's transaction must fail with it.
    with transaction.atomic(savepoint=False):
        chains = LockedChains(map(chain_of, events))
        rows, payloads = build_columns(actor, events, ends=chains.ends, at=at or timezone.now())
        keys = _ENTRIES.add_columns(rows)
        _note_events(actor, keys, events)
        _PAYLOADS.add_columns({"entry_id": keys, **payloads})
        chains.save()


def _append_rows(
    actor: Actor, events: Sequence[AuditEvent], *, at: datetime | None = None
) -> list[AuditEntry]:
    """Append rows and return them; append_many() is faster."""
    if not events:
        return []
    # No savepoint: if logging fails, the caller's transaction must fail with it.
    with transaction.atomic(savepoint=False):
        chains = LockedChains(map(chain_of, events))
        columns, payloads = build_columns(actor, events, ends=chains.ends, at=at or timezone.now())
        rows = [
            AuditEntry(**dict(zip(columns, values, strict=True)))
            for values in zip(*columns.values(), strict=True)
        ]
        _ENTRIES.add(rows)
        _note_events(actor, [row.key for row in rows], events)
        _PAYLOADS.add(
            [
                AuditPayload(
                    entry=row, salt=salt, payload=said.value() if isinstance(said, ReadyJson) else said
                )
                for row, salt, said in zip(rows, *payloads.values(), strict=True)
            ]
        )
        chains.save()
    return rows


def _note_events(actor: Actor, keys: Sequence[int], events: Sequence[AuditEvent]) -> None:
    """Add appended rows to the current piece of work, if there is one, and count them as writes of the actor."""
    if (work := _WORK.get()) is not None:
        work.rows += [_WrittenRow(key, event.operation) for key, event in zip(keys, events, strict=True)]
    count_writes(actor, len(events), sum(event.chars for event in events))


def build_columns(
    actor: Actor, events: Sequence[AuditEvent], *, ends: dict[str, tuple[int, str]], at: datetime
) -> tuple[dict[str, Sequence[Any]], dict[str, Sequence[Any]]]:
    """The columns of the events' rows and of their payloads: model objects would take longer than everything else here.

    `ends` are the chains' numbers and hashes before; afterwards, those of their last rows.
    """
    count = len(events)
    salts = [secrets.token_hex(_SALT_BYTES) for _ in events]
    digests = [payload_digest(salt, event.payload) for salt, event in zip(salts, events, strict=True)]
    subjects = [event.subject[:200] for event in events]
    quoted_at = f'"{at.isoformat()}"'
    doer = (actor.name, actor.via, actor.token_id, actor.client[:120], actor.run)
    doer_json = _join_json(doer[0], doer[1], str(doer[2] or ""), doer[3], str(doer[4] or ""))
    hashes, seqs = list[str](), list[int]()
    chains = list(map(chain_of, events))
    for chain, event, subject, digest in zip(chains, events, subjects, digests, strict=True):
        seq, previous = ends[chain]
        event_json = _join_json(event.operation, str(event.memory_id or ""), str(event.group or ""), subject)
        hash_ = _hash_line(f'"{previous}", "{seq + 1}", {quoted_at}', event_json, doer_json, f'"{digest}"')
        ends[chain] = (seq + 1, hash_)
        seqs.append(seq + 1)
        hashes.append(hash_)
    rows: dict[str, Sequence[Any]] = {
        "origin": [OWN] * count,
        "chain": chains,
        "seq": seqs,
        "at": [at] * count,
        "operation": [event.operation for event in events],
        "memory_id": [event.memory_id for event in events],
        "group": [event.group for event in events],
        "subject": subjects,
        **{name: [value] * count for name, value in zip(_ACTOR_FIELDS, doer, strict=True)},
        "change": [current_change()] * count,
        "digest": digests,
        "hash": hashes,
    }
    said = [event.payload for event in events]
    return rows, {
        "salt": salts,
        "payload": [each if isinstance(each, ReadyJson) else dict(each) for each in said],
    }


def chain_of(event: AuditEvent) -> str:
    """The name of the chain that an event belongs to."""
    return event.chain or group_chain(event.group)


class _WrittenRow(NamedTuple):
    """The key and operation of a row that was appended."""

    key: int
    operation: str


@dataclass
class Work:
    """The number of the change that a piece of work is, and the log rows that it has appended so far."""

    change: int
    rows: list[_WrittenRow] = field(default_factory=list)


_WORK: CallState[Work] = CallState("loci_work")


@dataclass(frozen=True, eq=False)
class Doer:
    """For whom a part of a transaction is written: an actor, its piece of work, and the number of its change (0: none is kept).

    Without work it is what the transaction's caller does.
    """

    actor: Actor
    work: Work | None = None
    change: int = 0

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Do the block as a part of this work."""
        if self.work is None:
            yield
            return
        with continuing(self.change), _WORK.holding(self.work):
            yield


@contextmanager
def collecting_rows() -> Iterator[Work]:
    """Do the block as a change of its own and collect the rows that it appends, those of a rolled back transaction too."""
    with apart() as change, _WORK.holding(Work(change)) as work:
        yield work


def current_work() -> Work:
    """The current piece of work; an empty one outside of all."""
    return _WORK.get() or Work(0)


# PostgreSQL's deadlock_detected and serialization_failure; SQLite has neither, since one transaction writes at a time.
_LOST = frozenset({"40P01", "40001"})
_PAUSES_S = (0.02, 0.1, 0.3, 1.0)  # each halved or doubled at random, so that two do not meet again


def one_change(write: Callable[P, T]) -> Callable[P, T]:
    """The function as one change, or as a part of the change that is open; run anew if its transaction lost to another.

    For whole writes, which read again what they decide by. Inside a larger transaction, that one's owner runs it anew.
    """

    @wraps(write)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        work = current_work()
        count = len(work.rows)
        with changing():
            for pause in _PAUSES_S:
                try:
                    return write(*args, **kwargs)
                except OperationalError as error:
                    is_lost = getattr(error.__cause__, "sqlstate", None) in _LOST
                    if connection.in_atomic_block or not is_lost:
                        raise
                    del work.rows[count:]  # their transaction was rolled back
                time.sleep(pause * random.uniform(0.5, 2))  # noqa: S311 - no secret
            return write(*args, **kwargs)

    return run
