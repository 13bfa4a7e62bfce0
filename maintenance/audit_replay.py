"""How a memory stood at a past moment, rebuilt from the audit log."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from access.actor import READ, Actor
from access.audit import OWN, dropped_through
from access.audit.operations import Operation
from access.errors import InvalidInput, NotFound, NotPermitted
from access.models import AuditEntry
from maintenance.cycle.recorder import unpacked
from maintenance.models import RunChange
from memories.models import Memory
from memories.queries.snapshot import FIELDS, snapshot
from memories.queries.versions import find_memory

# Counted in batches, without rows in the log: recalls would outnumber everything else there.
BOOKKEEPING = ("access_count", "last_accessed")
TIES = ("id", "group", "thread", "root", "superseded_by", "token")
REBUILT = tuple(name for name in (*TIES, *FIELDS) if name not in BOOKKEEPING)
DECAYED = ("confidence", "decayed_at")


@dataclass(frozen=True)
class PastMemory:
    """A memory as it stood at a moment: the values that memories.queries.snapshot gives, without access counters.

    `basis` is "log" where the log alone told it, "row" where its beginning is not in the log (it was imported, or
    retention dropped it) and the changes since were taken back from the row as it is now. `rows` says how many rows of
    the log were used; `unsure` names fields that may have been others, since what a run kept was destroyed.
    """

    id: UUID
    at: datetime
    fields: dict[str, Any]
    basis: str
    rows: int
    unsure: tuple[str, ...] = ()


@dataclass(frozen=True)
class FieldChange:
    """One change: the fields before and after it; all of them where a row holds the whole memory."""

    at: datetime
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    run: UUID | None = None
    is_unknown: bool = False  # what a decay did to it is no longer kept

    @property
    def is_start(self) -> bool:
        """True where it gives the whole memory as it was after it."""
        return "content" in self.after

    @property
    def is_end(self) -> bool:
        """True where it gives the whole memory as it was before it."""
        return "content" in self.before


def memory_at(actor: Actor, id_: str | UUID, at: datetime) -> PastMemory:
    """Give a memory's fields as they were at a moment; of exactly this version, in whatever state.

    1. the last row that holds the whole memory, then each later change up to the moment; where there is none
    2. the next row that holds it as it was before, or the memory as it is now, and the changes in between taken back

    Raises:
        NotFound: there is no such memory to see, it was not stored yet, or the log no longer reaches back that far.
        NotPermitted: it is seen in all groups and the actor may not enter its own, whose log this is.
        InvalidInput: the moment has no time zone or lies in the future.
    """
    memory = find_memory(actor, id_)
    if not actor.may(READ, memory.group_id):
        raise NotPermitted("You may not read the log of the group that this memory belongs to.")
    _check(memory, at)
    changes = sorted(_changes(memory), key=lambda change: change.at)
    start = max((n for n, c in enumerate(changes) if c.is_start and c.at <= at), default=None)
    if start is not None:
        used = [change for change in changes[start:] if change.at <= at]
        return _rebuilt(memory, at, _forward(used), used, basis="log")
    _check_reach(at)
    later = [change for change in changes if change.at > at]
    end = next((n for n, change in enumerate(later) if change.is_end), None)
    used = later if end is None else later[: end + 1]
    return _rebuilt(memory, at, _backward(memory, used), used, basis="row" if end is None else "log")


def _check(memory: Memory, at: datetime) -> None:
    if at.tzinfo is None:
        raise InvalidInput("The moment has no time zone.", hint="Add 'Z' or an offset.", field="at")
    if at > timezone.now():
        raise InvalidInput("The moment lies in the future.", field="at")
    if at < memory.created_at:
        raise NotFound(
            f"{memory.id} was not stored yet: it was on {memory.created_at:%Y-%m-%d %H:%M:%S} UTC.",
            field="at",
        )


def _check_reach(at: datetime) -> None:
    """Raise NotFound where retention dropped the log of that time."""
    dropped = dropped_through()
    anchor = AuditEntry.objects.filter(origin=OWN, seq=dropped).first() if dropped else None
    if anchor is not None and at < anchor.at:
        raise NotFound(
            f"The log begins on {anchor.at:%Y-%m-%d %H:%M} UTC: what came before was past its retention.",
            hint="maintenance.log_days says how long it is kept.",
            field="at",
        )


def _rebuilt(
    memory: Memory, at: datetime, fields: Mapping[str, Any], used: Sequence[FieldChange], *, basis: str
) -> PastMemory:
    unsure = DECAYED if any(change.is_unknown for change in used) else ()
    return PastMemory(memory.id, at, {name: fields.get(name) for name in REBUILT}, basis, len(used), unsure)


def _forward(changes: Sequence[FieldChange]) -> dict[str, Any]:
    """Apply changes in order; the first holds the whole memory."""
    fields: dict[str, Any] = {}
    for change in changes:
        if not change.is_unknown:
            fields |= change.after
    return fields


def _backward(memory: Memory, changes: Sequence[FieldChange]) -> dict[str, Any]:
    """Take changes back, the last one first, from the memory as it is now."""
    fields = snapshot(memory)
    for change in reversed(changes):
        fields |= change.before
    return fields


def _changes(memory: Memory) -> Iterator[FieldChange]:
    rows = AuditEntry.objects.filter(origin=OWN, memory_id=memory.id).select_related("payload_row")
    by_run: dict[UUID | None, list[FieldChange]] = {}
    for entry in rows.order_by("seq"):
        payload = entry.payload_row.payload if hasattr(entry, "payload_row") else {}
        change = _change(entry, payload, str(memory.id))
        if payload.get("action") == "undo":
            change = _with_ties_undone(change, by_run.get(entry.run, []))
        by_run.setdefault(entry.run, []).append(change)
        yield change
    yield from _decays(memory)


def _change(entry: AuditEntry, payload: Mapping[str, Any], id_: str) -> FieldChange:
    """Give what a row says of the memory: whole snapshots, or the fields that differ."""
    before, after = (_of(payload.get(name), id_) for name in ("before", "after"))
    said = payload.get("changes")
    if isinstance(said, Mapping):
        pairs = {name: both for name, both in said.items() if name in REBUILT and isinstance(both, list)}
        before = {name: both[0] for name, both in pairs.items()} | before
        after = {name: both[1] for name, both in pairs.items()} | after
    return FieldChange(entry.at, before, after, entry.run)


def _of(said: Any, id_: str) -> dict[str, Any]:
    """Give a snapshot's fields where it is this memory's; an edit's row holds that of the version before as well."""
    if not isinstance(said, Mapping) or said.get("id") != id_:
        return {}
    return {name: said.get(name) for name in REBUILT}


def _with_ties_undone(change: FieldChange, of_run: Sequence[FieldChange]) -> FieldChange:
    """Add the successor that undoing a run took away: its row names values alone, what the run wrote names the tie."""
    tie = "superseded_by"
    wrote = [c for c in of_run if tie in c.after]
    if not wrote or tie in change.after:
        return change
    before, after = (
        {**change.before, tie: wrote[-1].after[tie]},
        {**change.after, tie: wrote[0].before.get(tie)},
    )
    return FieldChange(change.at, before, after, change.run)


def _decays(memory: Memory) -> Iterator[FieldChange]:
    """Give what decay did: the log has one row for many memories, the run keeps their values."""
    rows = AuditEntry.objects.filter(
        origin=OWN,
        operation=Operation.RUN,
        group=memory.group.id,
        payload_row__payload__step="decay",
        payload_row__payload__first__lte=memory.key,
        payload_row__payload__last__gte=memory.key,
    ).select_related("payload_row")
    for entry in rows:
        kept = RunChange.objects.filter(
            run__id=str(entry.run),
            table=Memory._meta.db_table,
            row=entry.payload_row.payload["first"],
            is_batch=True,
        ).first()
        if kept is None:
            yield FieldChange(entry.at, is_unknown=True)
        else:
            yield from _decay(memory.key, entry, kept)


def _decay(key: int, entry: AuditEntry, kept: RunChange) -> Iterator[FieldChange]:
    before = dict(unpacked(kept.before or {"pk": []})).get(key)
    after = dict(unpacked(kept.after or {"pk": []})).get(key)
    if before is None or after is None:
        return
    yield FieldChange(entry.at, before, after, entry.run)
    if kept.undone_at is not None:
        yield FieldChange(kept.undone_at, after, before, entry.run)
