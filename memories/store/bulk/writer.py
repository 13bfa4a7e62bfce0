"""Writes one batch of checked and embedded drafts; everything runs inside the caller's transaction."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar
from uuid import UUID

from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit import AuditAppender, AuditEvent, SealedPayload, seal
from access.audit.operations import Operation
from access.errors import LociError
from memories.models import Memory, Tombstone
from memories.queries.snapshot import all_after, as_json, snapshot
from memories.store import Outcome
from memories.store import write as writing
from memories.store.bulk.writer_pending import Pending
from memories.store.decide import (
    Decision,
    Fate,
    WriteContext,
    doubt_of,
    judge,
    replacing_doubt,
    to_replace,
    with_scope,
)
from memories.store.existing import StoredSource, TextKey, find_origins, find_texts
from memories.store.pieces import insert_pieces
from memories.store.supersede import replace_memory
from memories.store.threads import append_to_threads, set_contexts, take_place
from memories.store.tombstones import find_tombstones
from memories.types import State, Trust, Type
from storage.bulk_insert import is_at_hand
from storage.bulk_threads import WriterTurns

T = TypeVar("T")
CONFIRMED = ("confidence", "updated_at")  # what a restatement changes


@dataclass(frozen=True)
class Succession:
    """A row that takes the place of `old`, and its text's from `lapsed`; with `pending` it is yet to be inserted."""

    pending: Pending | None
    row: Memory
    old: Memory | None
    lapsed: Memory | None = None


class BatchWriter:
    """Decides what becomes of each draft of a batch, then writes all rows together."""

    def __init__(self, actor: Actor, *, aside: Executor, turns: WriterTurns) -> None:
        self.actor, self.aside, self.turns = actor, aside, turns
        self.now: datetime = timezone.now()
        self.new: list[tuple[Pending, Memory]] = []
        self.merged: list[tuple[Pending, Memory]] = []
        self.steps: list[Succession] = []
        self.gone: set[TextKey] = set()  # texts that a step will supersede
        self.successors: dict[UUID, Memory] = {}
        self.fresh: set[UUID] = set()
        self.doubted: list[tuple[Memory, Memory]] = []
        self.confirmed: list[Memory] = []
        self.events: list[AuditEvent] = []

    def write(self, batch: Sequence[Pending]) -> None:
        """Decide, insert and log; each draft has its outcome and id afterwards."""
        if not batch:
            return
        self._look_up(batch)
        for p in batch:
            try:
                self._decide(p)
            except LociError as fault:
                p.outcome, p.why = Outcome.REFUSED, str(fault)
        self._insert()
        self._confirm()
        for memory, old in self.doubted:
            writing.link_successor(self.actor, memory, old, operation=Operation.SUPERSEDE)
        audit.append_many(self.actor, self.events, at=self.now)

    def _look_up(self, batch: Sequence[Pending]) -> None:
        self.origins = find_origins([(p.room.key, p.draft) for p in batch])
        for p in batch:
            origin = self._origin(p)
            p.draft = with_scope(p.draft, p.room, origin.current if origin is not None else None)
        drafts = [(p.room.key, p.draft) for p in batch]
        texts = find_texts(drafts)
        self.live, self.former = texts.live, texts.former
        self.barred: dict[tuple[int, str], Tombstone] = {}
        for room in {p.room.key: p.room for p in batch}.values():
            said = [p.draft.content for p in batch if p.room.key == room.key]
            self.barred |= {(room.key, text): mark for text, mark in find_tombstones(room, said).items()}

    def _origin(self, p: Pending) -> StoredSource | None:
        return self.origins.get((p.room.key, p.draft.source, p.draft.source_ref))

    def _case(self, p: Pending) -> WriteContext:
        """Give what is known of a draft, with what the drafts before it changed."""
        draft, room, hash_ = p.draft, p.room.key, p.draft.hash
        key = (room, draft.scope, draft.type, hash_)
        if key in self.gone:
            self._insert()
        origin = self._origin(p)
        replaces = origin.current if origin is not None else None
        while replaces is not None and replaces.id in self.successors:
            replaces = self.successors[replaces.id]
        return WriteContext(
            draft,
            p.room,
            origin=origin,
            replaces=replaces,
            tombstone=self.barred.get((room, draft.content)),
            exact=self.live.get(key),
            former=self.former.get((room, draft.type, hash_)),
        )

    def _decide(self, p: Pending) -> None:
        """Choose what becomes of a draft, by the rules of store()."""
        case = self._case(p)
        verdict = judge(self.actor, case, at=self.now)
        match verdict.fate:
            case Fate.UNCHANGED if verdict.memory is not None:
                p.outcome, p.id = Outcome.UNCHANGED, verdict.memory.id
            case Fate.REFUSED:
                self._refuse(p, case, verdict)
            case Fate.RESTATED if verdict.memory is not None:
                self._restate(p, verdict.memory, case)
            case _:
                self._create(p, case, verdict.lapsed)

    def _refuse(self, p: Pending, case: WriteContext, verdict: Decision) -> None:
        p.outcome, p.why = Outcome.REFUSED, verdict.why
        if case.tombstone is not None:
            said = (case.tombstone.memory_id, case.tombstone.kind)
        elif verdict.memory is not None:
            said = (verdict.memory.id, verdict.memory.trust)
        else:
            return
        self.events.append(AuditEvent(Operation.REFUSE, said[0], p.room.id, payload={"why": said[1]}))

    def _restate(self, p: Pending, exact: Memory, case: WriteContext) -> None:
        """Confirm the memory that has this text; the draft is kept as a merged row, so that its source is remembered."""
        p.outcome, p.id = Outcome.REINFORCED, exact.id
        self.confirmed.append(exact)
        old = case.replaced
        if old is not None and replacing_doubt(self.actor, exact):
            self.doubted.append((exact, old))
        elif old is not None:
            self.steps.append(Succession(None, exact, old))
            self._superseded(old, exact)
        elif p.draft.source_ref:
            row = self._row(p, Trust.ACTIVE, case.origin.current if case.origin is not None else None)
            row.source_ref = (
                "" if case.origin is not None else row.source_ref
            )  # the source's first row keeps it
            row.state, row.superseded_by = State.MERGED, exact
            row.retired_at = row.state_changed_at = self.now
            self.merged.append((p, row))

    def _create(self, p: Pending, case: WriteContext, lapsed: Memory | None) -> None:
        """A text that is not there yet: a new memory, a new version of its source's, or a candidate."""
        doubt = doubt_of(self.actor, case)
        after = None if doubt else case.replaces or lapsed
        if (after is not None and after.pk is None) or (lapsed is not None and lapsed.pk is None):
            self._insert()
        if lapsed is not None:
            writing.make_way(self.actor, lapsed)
        p.outcome, p.why = (Outcome.QUEUED, doubt) if doubt else (Outcome.CREATED, "")
        row = self._row(p, Trust.CANDIDATE if doubt else Trust.ACTIVE, after)
        p.id = row.id
        self.fresh.add(row.id)
        if case.origin is not None:
            row.source_ref = ""  # the source's first row keeps it
        waits_for = to_replace(case) if doubt else None
        if waits_for is not None:
            self.doubted.append((row, waits_for))
        if case.replaces is not None and not doubt:
            self.steps.append(Succession(p, row, case.replaces, lapsed))
            self._superseded(case.replaces, row)
        else:
            self.new.append((p, row))
            if lapsed is not None and not doubt:
                self.steps.append(Succession(None, row, None, lapsed))
        if row.type != Type.EPISODIC:
            self.live[_text_key(row)] = row

    def _superseded(self, old: Memory, by: Memory) -> None:
        """Remember, for the drafts that follow, what a step will supersede."""
        self.successors[old.id] = by
        key = _text_key(old)
        known = self.live.get(key)
        if known is not None and known.id == old.id:
            del self.live[key]
        if old.type != Type.EPISODIC and old.state == State.LIVE:
            self.gone.add(key)
            self.former[old.group_id, old.type, old.content_hash] = old

    def _row(self, p: Pending, trust: str, after: Memory | None) -> Memory:
        return writing.new_row(
            self.actor, p.draft, p.room, trust=trust, after=after, now=self.now, columns=p.columns
        )

    def _insert(self) -> None:
        """Write what is decided so far."""
        if self.new:
            self._insert_new()
        for step in self.steps:
            self._take(step)
        if self.merged:
            self._insert_merged()
        self.new, self.steps, self.merged = [], [], []
        self.gone.clear()

    def _insert_new(self) -> None:
        """Insert the new memories at their threads' ends, and set right the contexts of those that stood there."""
        append_to_threads([(memory, p.draft.thread) for p, memory in self.new])
        rows = [memory for _, memory in self.new]
        changed = set_contexts(rows)
        said = self._said(rows)
        writing.MEMORIES.add(rows)
        Memory.objects.bulk_update(changed, ["context"], batch_size=100)
        self.events += [
            AuditEvent(Operation.STORE, row.id, p.room.id, payload=payload)
            for (p, row), payload in zip(self.new, said(), strict=True)
        ]
        # Elsewhere the chain's head is locked last: who restates one of these locks the row first, then the head.
        log = self._log() if is_at_hand() else None
        self._insert_pieces(self.new)
        writing.add_names(rows)
        if log is not None:
            log()

    def _said(self, rows: Sequence[Memory]) -> Callable[[], Sequence[SealedPayload]]:
        """Begin to make what the log says of new rows, while the database takes them; give what waits for it."""
        if any(
            row.root_id is not None for row in rows
        ):  # a thread would read the root over another connection
            return partial(seal, all_after(rows))
        return self._begun(lambda: seal(all_after(rows)))

    def _log(self) -> Callable[[], None]:
        """Begin to make the log's rows of what was done, while the database takes the pieces; give what writes them."""
        appending, self.events = AuditAppender(self.actor, self.events, at=self.now), []
        made = self._begun(appending.make)

        def write() -> None:
            made()
            appending.write()

        return write

    def _begun(self, make: Callable[[], T]) -> Callable[[], T]:
        """Begin to make in the helping thread what is asked for next; give what waits for it."""

        def pressed() -> T:
            with self.turns.pressing():
                return make()

        return partial(self.turns.result, self.aside.submit(pressed))

    def _take(self, step: Succession) -> None:
        """Insert what a source's changed text became, and let it, or what says so already, take the former's place."""
        row, old = step.row, step.old
        if step.pending is not None:
            take_place(row, step.pending.draft, step.pending.room, replaces=old)
            writing.insert_row(row, step.pending.pieces)
            audit.append(
                self.actor,
                Operation.STORE,
                memory_id=row.id,
                group=row.group.id,
                payload={"after": snapshot(row)},
            )
        if step.lapsed is not None:
            writing.lead_on(self.actor, step.lapsed, row)
        if old is not None and old.state == State.LIVE:
            replace_memory(self.actor, old, row)

    def _insert_merged(self) -> None:
        writing.MEMORIES.add([row for _, row in self.merged])
        self._insert_pieces(self.merged)
        for _, row in self.merged:
            into = str(row.superseded_by.id) if row.superseded_by else None
            self.events.append(
                AuditEvent(
                    Operation.MERGE, row.id, row.group.id, payload={"after": snapshot(row), "into": into}
                )
            )

    def _insert_pieces(self, rows: Sequence[tuple[Pending, Memory]]) -> None:
        insert_pieces([(memory, p.pieces) for p, memory in rows])

    def _confirm(self) -> None:
        """Raise the confidence of what was restated, once per author and day, and log each restatement."""
        known = {memory.id: memory for memory in self.confirmed}
        said = writing.confirmed_today(self.actor, known) if known else set()
        for memory in self.confirmed:
            before = {name: as_json(getattr(memory, name)) for name in CONFIRMED}
            if memory.id not in said | self.fresh:
                memory.confidence = min(1.0, round(memory.confidence + writing.REINFORCEMENT, 6))
                said.add(memory.id)
            memory.updated_at = self.now
            changes = {name: [before[name], as_json(getattr(memory, name))] for name in CONFIRMED}
            self.events.append(
                AuditEvent(Operation.REINFORCE, memory.id, memory.group.id, payload={"changes": changes})
            )
        Memory.objects.bulk_update(known.values(), CONFIRMED, batch_size=100)


def _text_key(memory: Memory) -> TextKey:
    return memory.group_id, memory.scope, memory.type, memory.content_hash
