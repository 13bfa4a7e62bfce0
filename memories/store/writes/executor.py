"""The executor of the write path, for a single draft as for a batch of 256.

Rows, pieces, reinforcements and log rows are collected and written together. Writes that depend on the order (a
replacement, a link) are carried out singly, after everything collected before them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from access import audit
from access.actor import Actor
from access.audit import AuditEvent
from access.audit.operations import Operation
from access.groups.guarding import count_kinds
from access.models import Group
from memories.models import Memory, Unprobed
from memories.queries.snapshot import after_snapshots, snapshot
from memories.store.neighbours import Neighbour
from memories.store.pieces import insert_pieces
from memories.store.prepare import PreparedDraft
from memories.store.search_columns import context_of, refresh_contexts_beside, thread_neighbours
from memories.store.threads import append_to_threads, set_contexts, take_place
from memories.store.writes.findings import record_findings
from memories.store.writes.links import link_neighbours, link_successor
from memories.store.writes.reinforce import reinforce
from memories.store.writes.rows import add_names, new_row, set_previous_version
from memories.store.writes.supersede import (
    activate_candidate,
    point_to_successor,
    release_source,
    replace_memory,
    retire_lapsed,
)
from memories.types import State
from storage.bulk import ManyInsert

MEMORIES = ManyInsert(Memory)


@dataclass(frozen=True)
class Insert:
    """Insert a new memory at its place in the thread: that of the memory it `replaces`, the one named, or the end.

    `after` is the previous version of its chain. `why`: the reason why it waits, for the log.
    """

    row: Memory
    prepared: PreparedDraft
    group: Group
    after: Memory | None = None
    replaces: Memory | None = None
    why: str = ""

    @property
    def is_appended(self) -> bool:
        """True if it goes to the end of its thread and starts a chain."""
        return self.after is None and self.replaces is None and self.prepared.draft.position is None


@dataclass(frozen=True)
class KeepWording:
    """Keep a restatement's wording and source as a row merged into the memory `into`."""

    row: Memory
    prepared: PreparedDraft
    into: Memory
    after: Memory | None = None


@dataclass(frozen=True)
class Reinforce:
    """Count a restatement of a memory; `valid_from` is an earlier beginning of its valid time that it names."""

    memory: Memory
    valid_from: datetime | None = None


@dataclass(frozen=True)
class RetireLapsed:
    """Retire a live row whose time is over, so that its text can be stored again."""

    memory: Memory


@dataclass(frozen=True)
class ReleaseSource:
    """Take the source_ref from the row that has it, for another row."""

    row: Memory


@dataclass(frozen=True)
class PointToSuccessor:
    """Point a retired row at its successor."""

    old: Memory
    new: Memory


@dataclass(frozen=True)
class Supersede:
    """Retire a live memory in favour of another."""

    old: Memory
    new: Memory


@dataclass(frozen=True)
class Activate:
    """Make a candidate count at once."""

    memory: Memory


@dataclass(frozen=True)
class LinkSuccessor:
    """Record that a candidate will supersede `old` once approved."""

    candidate: Memory
    old: Memory


@dataclass(frozen=True)
class LinkNeighbours:
    """Link a memory to the neighbours that it may duplicate or contradict.

    `has_links` False: no link leads from its chain yet, so none is looked up.
    """

    memory: Memory
    neighbours: tuple[Neighbour, ...]
    has_links: bool = True


@dataclass(frozen=True)
class AwaitProbe:
    """Record that a candidate waits for the comparison with the withdrawn texts, and the trust it then gets."""

    memory: Memory
    trust: str


@dataclass(frozen=True)
class Log:
    """Log a refusal."""

    event: AuditEvent


Write = (
    Insert | KeepWording | Reinforce | RetireLapsed | ReleaseSource | PointToSuccessor | Activate | Supersede | LinkSuccessor
    | LinkNeighbours | AwaitProbe | Log
)  # fmt: skip


def live_texts(writes: Sequence[Write]) -> tuple[list[str], list[str]]:
    """The texts of the live memories that writes add, and of those that they retire."""
    gained = [each.row for each in writes if isinstance(each, Insert) and each.row.state == State.LIVE]
    lost = [
        each.old if isinstance(each, Supersede) else each.memory
        for each in writes
        if isinstance(each, Supersede | RetireLapsed)
    ]
    return [row.content for row in gained], [row.content for row in lost]


class Executor:
    """Carries out writes in order, inside the caller's transaction; call flush() at the end.

    `reinforcements` has the effect of each reinforcement in words, by memory id.
    """

    def __init__(self, actor: Actor, *, now: datetime) -> None:
        self._actor, self._now = actor, now
        self._inserts: list[Insert] = []
        self._wordings: list[KeepWording] = []
        self._reinforced: list[Memory] = []
        self._starts: dict[int, datetime] = {}
        self._events: list[AuditEvent] = []
        self.reinforcements: dict[UUID, str] = {}

    def add(self, writes: Sequence[Write]) -> None:
        """Take one decision's writes: collect those that can wait, carry out the others now."""
        for write in writes:
            match write:
                case Insert() if write.is_appended:
                    self._inserts.append(write)
                case KeepWording() if write.after is None:
                    self._wordings.append(write)
                case Reinforce():
                    self._reinforced.append(write.memory)
                    self._note_start(write)
                case Log():
                    self._events.append(write.event)
                case _:
                    self.flush()
                    self._carry_out(write)

    def _carry_out(self, write: Write) -> None:
        match write:
            case Insert():
                insert_placed(write)
                self._events.append(stored_events([write])[0])
            case KeepWording():
                self._wordings.append(write)
            case RetireLapsed():
                retire_lapsed(self._actor, write.memory)
            case ReleaseSource():
                release_source(self._actor, write.row)
            case PointToSuccessor():
                point_to_successor(self._actor, write.old, write.new)
            case Activate():
                activate_candidate(self._actor, write.memory)
            case Supersede():
                replace_memory(self._actor, write.old, write.new)
            case LinkSuccessor():
                link_successor(self._actor, write.candidate, write.old, operation=Operation.SUPERSEDE)
            case LinkNeighbours():
                link_neighbours(self._actor, write.memory, write.neighbours, has_links=write.has_links)
            case AwaitProbe():
                Unprobed.objects.create(memory=write.memory, trust=write.trust)

    def flush(self) -> None:
        """Write everything collected so far, and its log rows."""
        self._insert_appended()
        self._insert_wordings()
        audit.append_many(self._actor, self._events, at=self._now)
        # After the log rows: what this batch stored counts as confirmed today.
        events, effects = reinforce(self._actor, self._reinforced, now=self._now, starts=self._starts)
        audit.append_many(self._actor, events, at=self._now)
        self.reinforcements |= effects
        self._inserts, self._wordings, self._reinforced, self._events = [], [], [], []
        self._starts = {}

    def _note_start(self, write: Reinforce) -> None:
        key = write.memory.key
        if write.valid_from is not None:
            self._starts[key] = min(write.valid_from, self._starts.get(key, write.valid_from))

    def _insert_appended(self) -> None:
        if not self._inserts:
            return
        rows = [write.row for write in self._inserts]
        append_to_threads([(write.row, write.prepared.draft.thread) for write in self._inserts])
        changed = set_contexts(rows)
        MEMORIES.add(rows)
        if changed:
            Memory.objects.bulk_update(changed, ["context"], batch_size=100)
        insert_pieces([(write.row, write.prepared.embedded) for write in self._inserts])
        add_names(rows)
        record_findings((write.row, write.prepared.draft.findings) for write in self._inserts)
        self._events += stored_events(self._inserts)

    def _insert_wordings(self) -> None:
        if not self._wordings:
            return
        for write in self._wordings:
            if write.after is not None:
                set_previous_version(write.row, write.after)
            write.row.superseded_by = write.into
        MEMORIES.add([write.row for write in self._wordings])
        insert_pieces([(write.row, write.prepared.embedded) for write in self._wordings])
        record_findings((write.row, write.prepared.draft.findings) for write in self._wordings)
        self._events += [
            AuditEvent(
                Operation.MERGE,
                write.row.id,
                write.row.group.id,
                payload={"after": snapshot(write.row), "into": str(write.into.id)},
                chars=len(write.row.content),
            )
            for write in self._wordings
        ]


def stored_events(inserts: Sequence[Insert]) -> list[AuditEvent]:
    """Log events of new memories, with the reason of those that wait."""
    rows = [write.row for write in inserts]
    return [
        AuditEvent(
            Operation.STORE,
            write.row.id,
            write.row.group.id,
            payload=payload.value() | noted if (noted := notes_of(write)) else payload,
            chars=len(write.row.content),
        )
        for write, payload in zip(inserts, after_snapshots(rows), strict=True)
    ]


def notes_of(write: Insert) -> dict[str, Any]:
    """What the log says beside the new row: why it waits, and how often the guard found each kind."""
    found = write.prepared.draft.findings
    why = {"why": write.why} if write.why else {}
    return why | {"guard": count_kinds(found)} if found else why


def insert_placed(write: Insert) -> None:
    """Insert one memory with a predecessor or a position of its own, and update its neighbours' contexts."""
    row = write.row
    if write.after is not None:
        set_previous_version(row, write.after)
    take_place(row, write.prepared.draft, write.group, replaces=write.replaces)
    beside = thread_neighbours(row)
    row.context = context_of(row, beside)
    MEMORIES.add([row])
    insert_pieces([(row, write.prepared.embedded)])
    add_names([row])
    record_findings([(row, write.prepared.draft.findings)])
    if row.state == State.LIVE:
        refresh_contexts_beside(row, beside)


def insert_version(
    actor: Actor,
    prepared: PreparedDraft,
    group: Group,
    *,
    trust: str,
    after: Memory | None = None,
    now: datetime,
) -> Memory:
    """Insert a memory without a decision: an edit, a restored version, a summary or a proposed fact.

    Runs inside the caller's transaction; the caller logs it.
    """
    row = new_row(actor, prepared.draft, group, trust=trust, now=now)
    insert_placed(Insert(row, prepared, group, after=after))
    return row
