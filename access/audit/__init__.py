"""The audit log: append() writes one row to the chain of its group, or to the instance's.

Besides it: chains.py names and links the chains, verify.py proves that no row was changed or removed, links.py writes the
chain of heads, retention.py drops old rows.
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from access.actor import Actor
from access.audit.chains import (
    INSTANCE,
    OWN,
    LockedChains,
    find_row,
    group_chain,
    hash_line,
    join_json,
    payload_digest,
)
from access.audit.collect import note_rows
from access.audit.operations import Operation
from access.limits.throttle import count_writes
from access.models import AuditEntry, AuditPayload
from storage.bulk import MIN_BULK_ROWS, ManyInsert, can_insert_columns
from storage.canonical_json import ReadyJson
from storage.changes import current_change

__all__ = [
    "INSTANCE", "OWN", "AuditEvent", "Operation", "append", "append_many", "find_row",
]  # fmt: skip
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
    if len(events) < MIN_BULK_ROWS or not can_insert_columns():
        _append_rows(actor, events, at=at)
        return
    # No savepoint: if logging fails, the caller's transaction must fail with it.
    with transaction.atomic(savepoint=False):
        chains = LockedChains(map(chain_of, events))
        rows, payloads = build_columns(actor, events, ends=chains.ends, at=at or timezone.now())
        keys = _ENTRIES.add_columns(rows)
        note_rows(keys, rows["operation"])
        _PAYLOADS.add_columns({"entry_id": keys, **payloads})
        chains.save()
        count_writes(actor, len(events), sum(event.chars for event in events))


def _append_rows(
    actor: Actor, events: Sequence[AuditEvent], *, at: datetime | None = None
) -> list[AuditEntry]:
    """Append a few rows and return them; append_many() is faster for many."""
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
        note_rows((row.key for row in rows), columns["operation"])
        _PAYLOADS.add(
            [
                AuditPayload(
                    entry=row, salt=salt, payload=said.value() if isinstance(said, ReadyJson) else said
                )
                for row, salt, said in zip(rows, *payloads.values(), strict=True)
            ]
        )
        chains.save()
        count_writes(actor, len(events), sum(event.chars for event in events))
    return rows


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
    hashes, seqs = list[str](), list[int]()
    chains = list(map(chain_of, events))
    doer_json = join_json(doer[0], doer[1], str(doer[2] or ""), doer[3], str(doer[4] or ""))
    for chain, event, subject, digest in zip(chains, events, subjects, digests, strict=True):
        seq, previous = ends[chain]
        event_json = join_json(event.operation, str(event.memory_id or ""), str(event.group or ""), subject)
        hash_ = hash_line(f'"{previous}", "{seq + 1}", {quoted_at}', event_json, doer_json, f'"{digest}"')
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
