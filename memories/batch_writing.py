"""Writes one batch of checked and embedded drafts; everything runs inside the caller's transaction."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit import Event
from access.models import ApiToken
from memories import writing
from memories.context import context_of, neighbours_of
from memories.draft import Draft
from memories.known import Origin, TextKey, find_live, find_origins, find_superseded
from memories.models import Memory, Piece, Tombstone
from memories.pending import Pending
from memories.pieces import claim_index, piece_rows
from memories.placing import append_to_threads, set_contexts
from memories.snapshot import snapshot
from memories.store import Outcome, default_scope
from memories.text import content_hash
from memories.tombstones import find_tombstones
from memories.types import Operation, Scope, State, Trust, Type

LOOK_FIRST = (Trust.REJECTED, Trust.QUARANTINED)


class BatchWriter:
    """Decides what becomes of each draft of a batch, then writes all rows together."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self.now: datetime = timezone.now()
        token = ApiToken.objects.filter(pk=actor.token_key).first() if actor.token_key else None
        self.token = token
        self.new: list[tuple[Pending, Memory]] = []
        self.merged: list[tuple[Pending, Memory]] = []
        self.versions: list[tuple[Pending, Memory, Origin]] = []
        self.doubted: list[tuple[Memory, Origin]] = []
        self.replaced: list[tuple[Origin, Memory]] = []
        self.confirmed: list[Memory] = []
        self.events: list[Event] = []

    def write(self, batch: Sequence[Pending]) -> None:
        """Decide, insert and log; each draft has its outcome and id afterwards."""
        if not batch:
            return
        for p in batch:
            p.draft = replace(p.draft, scope=p.draft.scope or default_scope(p.draft.type, p.room))
        self._look_up([(p.room.key, p.draft) for p in batch], batch)
        for p in batch:
            self._decide(p)
        self._insert_new()
        for p, memory, origin in self.versions:
            self._insert_version(p, memory, origin)
        self._insert_merged()
        self._confirm()
        self._settle_ties()
        audit.append_many(self.actor, self.events, at=self.now)

    def _look_up(self, drafts: list[tuple[int, Draft]], batch: Sequence[Pending]) -> None:
        self.origins = find_origins(drafts)
        self.live: dict[TextKey, Memory] = find_live(drafts)
        self.former = find_superseded(drafts)
        self.barred: dict[tuple[int, str], Tombstone] = {}
        for room in {p.room.key: p.room for p in batch}.values():
            texts = [p.draft.content for p in batch if p.room.key == room.key]
            self.barred |= {(room.key, text): mark for text, mark in find_tombstones(room, texts).items()}

    def _decide(self, p: Pending) -> None:
        """Choose what becomes of a draft, by the rules of store() and in their order."""
        key = p.room.key
        hash_ = content_hash(p.draft.content)
        origin = self.origins.get((key, p.draft.source, p.draft.source_ref))
        tombstone = self.barred.get((key, p.draft.content))
        exact = self.live.get((key, p.draft.scope, p.draft.type, hash_))
        if p.room.private and p.draft.scope == Scope.GLOBAL:
            self._refuse(p, f"the group '{p.room.slug}' is private: nothing in it is global")
        elif origin is not None and hash_ in origin.texts:
            p.outcome, p.id = Outcome.UNCHANGED, origin.texts[hash_].id
        elif tombstone is not None:
            self._refuse(
                p, f"this text was {tombstone.kind} here before: {tombstone.reason or 'no reason was given'}"
            )
            self.events.append(Event(Operation.REFUSE, tombstone.memory_id, p.room.id, payload={"why": tombstone.kind}))
        elif exact is not None and exact.trust in LOOK_FIRST:
            self._refuse(p, f"this text is {exact.trust} here; a curator can change that")
            self.events.append(Event(Operation.REFUSE, exact.id, p.room.id, payload={"why": exact.trust}))
        elif exact is not None:
            self._restate(p, exact, origin)
        else:
            self._create(p, origin)

    def _refuse(self, p: Pending, why: str) -> None:
        p.outcome, p.why = Outcome.REFUSED, why

    def _restate(self, p: Pending, exact: Memory, origin: Origin | None) -> None:
        """Confirm the memory that has this text; the draft is kept as a merged row, so that its source is remembered."""
        p.outcome, p.id = Outcome.REINFORCED, exact.id
        self.confirmed.append(exact)
        if origin is not None and _replaceable(origin):
            self.replaced.append((origin, exact))
        elif p.draft.source_ref:
            row = self._row(p, Trust.ACTIVE, origin)
            row.source_ref = "" if origin is not None else row.source_ref  # the source's first row keeps it
            row.state, row.superseded_by = State.MERGED, exact
            row.retired_at = row.state_changed_at = self.now
            self.merged.append((p, row))

    def _create(self, p: Pending, origin: Origin | None) -> None:
        """A text that is not there yet: a new memory, a new version of its source's, or a candidate."""
        doubt = self._doubt(p, origin)
        p.outcome, p.why = (Outcome.QUEUED, doubt) if doubt else (Outcome.CREATED, "")
        trust = Trust.CANDIDATE if doubt else Trust.ACTIVE
        row = self._row(p, trust, None if doubt else origin)
        p.id = row.id
        if origin is not None:
            row.source_ref = ""  # the source's first row keeps it
        if origin is not None and not doubt:
            self.versions.append((p, row, origin))
        else:
            self.new.append((p, row))
            if origin is not None:
                self.doubted.append((row, origin))
        if row.type != Type.EPISODIC:
            self.live[row.group.key, row.scope, row.type, row.content_hash] = row

    def _doubt(self, p: Pending, origin: Origin | None) -> str:
        former = self.former.get((p.room.key, p.draft.type, content_hash(p.draft.content)))
        if former is not None and origin is None:
            return f"this text was superseded: {former.id} has it; store it with supersedes to make it current again"
        return writing.policy_doubt(self.actor, p.room, p.draft.confidence)

    def _row(self, p: Pending, trust: str, origin: Origin | None) -> Memory:
        after = origin.current if origin is not None else None
        row = writing.new_row(self.actor, p.draft, p.room, trust=trust, after=after, now=self.now)
        row.token = self.token
        return row

    def _insert_new(self) -> None:
        """Insert the new memories at their threads' ends, and set right the contexts of those that stood there."""
        append_to_threads([(memory, p.draft.thread) for p, memory in self.new])
        rows = [memory for _, memory in self.new]
        changed = set_contexts(rows)
        Memory.objects.bulk_create(rows)
        Memory.objects.bulk_update(changed, ["context"], batch_size=100)
        self._insert_pieces(self.new)
        self.events += [Event(Operation.STORE, row.id, row.group.id, payload={"after": snapshot(row)}) for row in rows]

    def _insert_version(self, p: Pending, memory: Memory, origin: Origin) -> None:
        """Insert what a source's changed text became, in the place of the version before, which it supersedes."""
        old = origin.current
        memory.thread, memory.position = old.thread, old.position
        memory.context = context_of(memory, [near for near in neighbours_of(memory) if near.key != old.key])
        memory.save(force_insert=True)
        self._insert_pieces([(p, memory)])
        audit.append(self.actor, Operation.STORE, memory_id=memory.id, group=memory.group.id, payload={"after": snapshot(memory)})
        if _replaceable(origin):
            writing.supersede(self.actor, old, memory)

    def _insert_merged(self) -> None:
        Memory.objects.bulk_create([row for _, row in self.merged])
        self._insert_pieces(self.merged)
        for _, row in self.merged:
            into = str(row.superseded_by.id) if row.superseded_by else None
            self.events.append(Event(Operation.MERGE, row.id, row.group.id, payload={"after": snapshot(row), "into": into}))

    def _insert_pieces(self, rows: Sequence[tuple[Pending, Memory]]) -> None:
        pieces = [piece for p, memory in rows for piece in piece_rows(memory, p.pieces)]
        if pieces:
            claim_index(next((piece.model for piece in pieces if piece.model), ""))
            Piece.objects.bulk_create(pieces)

    def _confirm(self) -> None:
        """Raise the confidence of what was restated, once per author and day, and log each restatement."""
        fresh = {memory.id for _, memory in self.new} | {memory.id for _, memory, _ in self.versions}
        known = {memory.id: memory for memory in self.confirmed}
        said = writing.confirmed_today(self.actor, known) if known else set()
        for memory in self.confirmed:
            before = memory.confidence
            if memory.id not in said | fresh:
                memory.confidence = min(1.0, round(before + writing.REINFORCEMENT, 6))
                said.add(memory.id)
            memory.updated_at = self.now
            changes = {"confidence": [before, memory.confidence]}
            self.events.append(Event(Operation.REINFORCE, memory.id, memory.group.id, payload={"changes": changes}))
        Memory.objects.bulk_update(known.values(), ["confidence", "updated_at"], batch_size=100)

    def _settle_ties(self) -> None:
        """Let restated texts take the place of what their source said before; tie candidates to what they doubt."""
        for origin, exact in self.replaced:
            writing.supersede(self.actor, origin.current, exact)
        for memory, origin in self.doubted:
            writing.link_successor(self.actor, memory, origin.row, operation=Operation.SUPERSEDE)


def _replaceable(origin: Origin) -> bool:
    """Say whether a source's text counts now, so that another can take its place."""
    return origin.current.state == State.LIVE
