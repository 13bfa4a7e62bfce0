"""The fields of a memory at a past time, rebuilt from the audit log."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from access.actor import READ, Actor
from access.audit import OLD, OWN, group_chain
from access.audit.operations import Operation
from access.audit.verify import front_anchor
from access.errors import InvalidInput, NotFound, NotPermitted
from access.models import AuditEntry, RowChange
from maintenance.cycle.recorder import step_change, within
from memories.draft.registry import OLDER_VALUES
from memories.lifecycle.undo.rows import unpack_batch
from memories.models import Memory
from memories.queries.snapshot import FIELDS, as_json, snapshot
from memories.queries.versions import find_memory
from storage.changes import moment_of

# Recalls update these in batches without audit entries: they would outnumber all others.
_UNLOGGED = ("access_count", "last_accessed")
REFERENCES = ("id", "group", "thread", "root", "superseded_by", "token")
REBUILT = tuple(name for name in (*REFERENCES, *FIELDS) if name not in _UNLOGGED)
_DECAYED = ("confidence", "decayed_at")


@dataclass(frozen=True)
class _PastMemory:
    """A memory at a past time: the values of memories.queries.snapshot, without access counters.

    `basis` is "log" if the log alone was enough, "row" if its beginning is missing there (an import, or retention
    deleted it) and the later changes were reverted from the present row. `rows` is the number of audit entries used;
    `unsure` names fields that may have differed, because the values that a run stored were deleted.
    """

    id: UUID
    at: datetime
    fields: dict[str, Any]
    basis: str
    rows: int
    unsure: tuple[str, ...] = ()


@dataclass(frozen=True)
class _FieldChange:
    """One change: fields before and after it; all of them if the audit entry holds the whole memory."""

    at: datetime
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    run: UUID | None = None
    is_unknown: bool = False  # a decay whose values are no longer stored

    @property
    def is_start(self) -> bool:
        """True if it holds the whole memory after the change."""
        return "content" in self.after

    @property
    def is_end(self) -> bool:
        """True if it holds the whole memory before the change."""
        return "content" in self.before


def memory_at(actor: Actor, id_: str | UUID, at: datetime) -> _PastMemory:
    """A memory's fields at a past time; of exactly this version, in any state.

    1. the last entry that holds the whole memory, then each later change up to the time; if there is none
    2. the next entry that holds it as it was before, or the present row, with the changes in between reverted

    Raises:
        NotFound: no such memory is visible, it was not stored yet, or the log no longer reaches back that far.
        NotPermitted: the memory is visible in every group, but the actor may not read its own group, whose log this is.
        InvalidInput: the time has no time zone or is in the future.
    """
    memory = find_memory(actor, id_)
    if not actor.may(READ, memory.group_id):
        raise NotPermitted("You may not read the audit log of this memory's group.")
    check_time(memory, at)
    changes = sorted(read_changes(memory), key=lambda change: change.at)
    start = max((n for n, c in enumerate(changes) if c.is_start and c.at <= at), default=None)
    _check_purged(memory, at, changes[start].at if start is not None else None)
    if start is not None:
        used = [change for change in changes[start:] if change.at <= at]
        return _build_past_memory(memory, at, _apply_changes(used), used, basis="log")
    _check_log_reach(memory, at)
    later = [change for change in changes if change.at > at]
    end = next((n for n, change in enumerate(later) if change.is_end), None)
    used = later if end is None else later[: end + 1]
    return _build_past_memory(
        memory, at, _revert_changes(memory, used), used, basis="row" if end is None else "log"
    )


def check_time(memory: Memory, at: datetime) -> None:
    """Raise InvalidInput or NotFound unless the time lies between the memory's creation and now."""
    if at.tzinfo is None:
        raise InvalidInput("at has no time zone.", hint="Add 'Z' or an offset.", field="at")
    if at > timezone.now():
        raise InvalidInput("at lies in the future.", field="at")
    if at < memory.created_at:
        raise NotFound(
            f"{memory.id} was not stored yet: it was stored on {memory.created_at:%Y-%m-%d %H:%M:%S} UTC.",
            field="at",
        )


def _check_log_reach(memory: Memory, at: datetime) -> None:
    """Raise NotFound if retention has deleted the log of that time, in a chain that the memory has been in."""
    rows = AuditEntry.objects.filter(origin=OWN, memory_id=memory.id)
    chains = {OLD, group_chain(memory.group.id), *rows.values_list("chain", flat=True)}
    anchors = [anchor for chain in chains if (anchor := front_anchor(chain)) is not None]
    begin = max((anchor.at for anchor in anchors), default=at)
    if at < begin:
        raise NotFound(
            f"The log begins on {begin:%Y-%m-%d %H:%M} UTC; retention deleted the earlier entries.",
            hint="The setting maintenance.log_days says how long entries are kept.",
            field="at",
        )


def _check_purged(memory: Memory, at: datetime, start: datetime | None) -> None:
    """Raise NotFound if payloads between the time and where the replay begins were purged with a former group's log."""
    lost = AuditEntry.objects.filter(origin=OWN, memory_id=memory.id, payload_row=None)
    lost = lost.filter(at__gt=at) if start is None else lost.filter(at__gt=start, at__lte=at)
    if lost.exists():
        raise NotFound(
            "The log of that time was purged in a group that the memory left, or with a person.",
            hint="Ask for a later time.",
            field="at",
        )


def _build_past_memory(
    memory: Memory, at: datetime, fields: Mapping[str, Any], used: Sequence[_FieldChange], *, basis: str
) -> _PastMemory:
    unsure = _DECAYED if any(change.is_unknown for change in used) else ()
    return _PastMemory(memory.id, at, {name: fields.get(name) for name in REBUILT}, basis, len(used), unsure)


def _apply_changes(changes: Sequence[_FieldChange]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for change in changes:
        if not change.is_unknown:
            fields |= change.after
    return fields


def _revert_changes(memory: Memory, changes: Sequence[_FieldChange]) -> dict[str, Any]:
    fields = snapshot(memory)
    for change in reversed(changes):
        fields |= change.before
    return fields


def read_changes(memory: Memory) -> Iterator[_FieldChange]:
    """The memory's changes: from its own audit entries in order, of every chain it has been in, then from decay."""
    rows = AuditEntry.objects.filter(origin=OWN, memory_id=memory.id).select_related("payload_row")
    by_run: dict[UUID | None, list[_FieldChange]] = {}
    for entry in rows.order_by("at", "key"):
        payload = entry.payload
        change = _parse_change(entry, payload, str(memory.id))
        if payload.get("action") == "undo":
            change = _with_undone_successor(change, by_run.get(entry.run, []))
        by_run.setdefault(entry.run, []).append(change)
        yield change
    yield from _read_decays(memory)


def _parse_change(entry: AuditEntry, payload: Mapping[str, Any], id_: str) -> _FieldChange:
    """The change in an audit entry: whole snapshots, or the fields that differ.

    Only snapshots of this memory count: the entry of an edit also holds one of the version before. A snapshot that
    lacks a field is from a Loci that did not have it yet.
    """
    sides: dict[str, dict[str, Any]] = {"before": {}, "after": {}}
    for side, fields in sides.items():
        stored = payload.get(side)
        if isinstance(stored, Mapping) and stored.get("id") == id_:
            fields.update({name: stored.get(name, OLDER_VALUES.get(name)) for name in REBUILT})
    before, after = sides["before"], sides["after"]
    changes = payload.get("changes")
    if isinstance(changes, Mapping):
        pairs = {name: both for name, both in changes.items() if name in REBUILT and isinstance(both, list)}
        before = {name: both[0] for name, both in pairs.items()} | before
        after = {name: both[1] for name, both in pairs.items()} | after
    return _FieldChange(entry.at, before, after, entry.run)


def _with_undone_successor(change: _FieldChange, of_run: Sequence[_FieldChange]) -> _FieldChange:
    """Add the successor that an undo removed: its entry has plain values only, the run's entries name the successor."""
    name = "superseded_by"
    written = [c for c in of_run if name in c.after]
    if not written or name in change.after:
        return change
    before = {**change.before, name: written[-1].after[name]}
    after = {**change.after, name: written[0].before.get(name)}
    return _FieldChange(change.at, before, after, change.run)


def _read_decays(memory: Memory) -> Iterator[_FieldChange]:
    """The memory's decays and their undos: the log has one entry for many memories, the run stores the values."""
    of_0_3_0 = Q(  # one entry for each batch, with the memories' first and last keys
        operation=Operation.RUN,
        payload_row__payload__step="decay",
        payload_row__payload__first__lte=memory.key,
        payload_row__payload__last__gte=memory.key,
    )
    rows = AuditEntry.objects.filter(
        of_0_3_0 | Q(operation=Operation.DECAY), origin=OWN, group=memory.group.id
    )
    for entry in rows.select_related("payload_row"):
        kept = RowChange.objects.filter(kept=Memory._meta.db_table, op="b")
        if entry.operation == Operation.DECAY:
            kept = kept.filter(within(entry.payload))
        else:
            kept = kept.filter(change=step_change(UUID(str(entry.run)), "decay"), row=entry.payload["first"])
        # The batches of a group are in the order of its memories.
        batch = kept.filter(row__lte=memory.key).order_by("-row").first()
        if batch is None and not kept.exists():
            yield _FieldChange(entry.at, is_unknown=True)
        fields = dict(unpack_batch(batch)).get(memory.key) if batch is not None else None
        if batch is None or fields is None:
            continue
        before = {name: as_json(old) for name, (old, _) in fields.items()}
        after = {name: as_json(new) for name, (_, new) in fields.items()}
        written_at = (batch.vals or {}).get("at")  # the entry of the whole step is later
        at = datetime.fromisoformat(written_at) if written_at else entry.at
        yield _FieldChange(at, before, after, entry.run)
        if batch.undone_by is not None:
            yield _FieldChange(moment_of(batch.undone_by), after, before, entry.run)
