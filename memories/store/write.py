"""The writes of one draft or of a batch of 256, in one transaction: look up what is stored, decide each draft, write.

Rows, pieces, reinforcements and log rows are collected and written together. Writes that depend on the order (a
replacement, a link) are carried out singly, after everything collected before them.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit import AuditEvent, Doer
from access.audit.operations import Operation
from access.errors import LociError
from access.groups import hold_groups
from access.groups.guarding import count_kinds
from access.limits.quota import GroupRoom
from access.limits.throttle import WAITING_CHARS
from access.models import Group
from memories.draft import Draft, default_scope, rule_of
from memories.models import Memory, Unprobed
from memories.queries.snapshot import after_snapshots, snapshot
from memories.store.decide import (
    AwaitProbe,
    Decision,
    Insert,
    KeepWording,
    LinkNeighbours,
    Log,
    Outcome,
    Reinforce,
    RowWrite,
    Write,
    WriteContext,
    decide_draft,
)
from memories.store.existing import Existing, StoredSource, find_sources
from memories.store.for_review import link_neighbours
from memories.store.neighbours import ComparedText, Neighbour, compare_all
from memories.store.pieces import insert_pieces, one_index_state, read_index_state
from memories.store.prepare import PreparedDraft
from memories.store.rows import add_names, new_row, record_findings, reinforce, set_previous_version
from memories.store.supersede import replace_memory, retire_lapsed
from memories.store.threads import (
    append_to_threads,
    context_of,
    refresh_contexts_beside,
    set_contexts,
    take_place,
    thread_neighbours,
)
from memories.store.withdrawn.marks import find_all_withdrawn, find_withdrawn_labels
from memories.store.withdrawn.near import shared_texts, with_marked
from memories.types import State, Trust
from storage.bulk import ManyInsert

MEMORIES = ManyInsert(Memory)
_WAITING = frozenset({Trust.CANDIDATE, Trust.QUARANTINED})


def write_drafts(
    actor: Actor, drafts: Sequence[tuple[Group, PreparedDraft]], *, by: Sequence[Doer] = ()
) -> list[Decision | LociError]:
    """Decide and write drafts in order, inside the caller's transaction; the decision on each, or an error.

    The one write path of stores and imports: look up what is stored, then decide each draft and hand its writes to the
    executor. `by`: for whom each draft is written, if they are several stores.
    """
    now = timezone.now()
    executor, room = _Executor(now=now), GroupRoom()
    doers = by or [Doer(actor)] * len(drafts)
    decisions = list[Decision | LociError]()
    hold_groups(group.key for group, _ in drafts)
    with one_index_state(read_index_state({group.key for group, _ in drafts})):
        contexts, existing = _look_up_stored(drafts)
        for doer, context in zip(doers, contexts, strict=True):
            try:
                decision = decide_draft(doer.actor, _add_existing(context, existing), now=now)
                room.take(context.group, *live_texts(decision.writes))
            except LociError as error:
                decisions.append(error)
                continue
            decisions.append(decision)
            executor.add(doer, decision.writes)
            if decision.memory is not None and decision.outcome in (Outcome.CREATED, Outcome.QUEUED):
                existing.note_inserted(decision.memory, thread=context.draft.thread)
            if decision.memory is not None and decision.superseded is not None:
                existing.note_superseded(decision.superseded, decision.memory)
        executor.flush()
    effects = executor.reinforcements
    return [each if isinstance(each, LociError) else each.with_effect(effects) for each in decisions]


def log_refusal(actor: Actor, slug: str) -> None:
    """Log the refusal of a withdrawn text for a group that does not exist, in the instance's chain."""
    with transaction.atomic():
        audit.append(
            actor, Operation.REFUSE, subject=f"group:{slug}", payload={"why": "withdrawn in another group"}
        )


def _look_up_stored(drafts: Sequence[tuple[Group, PreparedDraft]]) -> tuple[list[WriteContext], Existing]:
    """The drafts' contexts (scope, withdrawn texts, neighbours) and what is stored of their texts.

    The number of queries does not grow with the drafts.
    """
    sources = find_sources([(group.key, prepared.draft) for group, prepared in drafts])
    scoped = []
    for group, prepared in drafts:
        draft = prepared.draft
        source = sources.get((group.key, draft.source, draft.source_ref)) if draft.source_ref else None
        replaces = prepared.superseded or _current_of(source)
        scoped.append((group, replace(prepared, draft=with_scope(draft, group, replaces))))
    existing = Existing([(group.key, prepared.draft) for group, prepared in scoped], sources)
    withdrawn = find_all_withdrawn((group.key, p.draft.scope, p.draft.content) for group, p in scoped)
    labels = find_withdrawn_labels([(group, p.draft) for group, p in scoped])
    neighbours = with_marked(_find_current_neighbours(scoped), withdrawn)
    probed = [prepared.is_probed(group.key) for group, prepared in scoped]
    contexts = [
        WriteContext(
            prepared,
            group,
            withdrawn=withdrawn[number],
            withdrawn_label=labels[number],
            is_probed=probed[number],
            neighbours=neighbours[number],
        )
        for number, (group, prepared) in enumerate(scoped)
    ]
    return contexts, existing


def with_scope(draft: Draft, group: Group, replaces: Memory | None) -> Draft:
    """The draft with the default scope, if the caller named none."""
    if draft.scope:
        return draft
    replaced = replaces.scope if replaces is not None else None
    rule = rule_of(group, read_index_state())
    return draft.in_scope(default_scope(draft.type, group, rule=rule, replaced=replaced))


def _find_current_neighbours(
    drafts: Sequence[tuple[Group, PreparedDraft]],
) -> list[tuple[Neighbour, ...]]:
    """Each draft's neighbours as they are now: all of them if it was probed, else the withdrawn ones."""
    found: list[tuple[Neighbour, ...]] = [()] * len(drafts)
    unprobed: dict[tuple[int, str], list[int]] = {}
    for number, (group, prepared) in enumerate(drafts):
        if prepared.found is not None:
            found[number] = prepared.current_neighbours(group.key)
        elif prepared.vector is not None:
            unprobed.setdefault((group.key, prepared.embedded.model), []).append(number)
    for (group_key, model), numbers in unprobed.items():
        pairs = [
            (ComparedText.of(p.draft), v)
            for _, p in (drafts[n] for n in numbers)
            if (v := p.vector) is not None
        ]
        for number, neighbours in zip(numbers, shared_texts(group_key, model).neighbours(pairs), strict=True):
            found[number] = neighbours
    return found


def _add_existing(context: WriteContext, existing: Existing) -> WriteContext:
    """The context with what is stored of its text now, after the drafts before it."""
    group, draft = context.group.key, context.draft
    source = existing.source(group, draft)
    replaces = existing.current(context.prepared.superseded or _current_of(source))
    exact = existing.exact(group, draft)
    if exact is not None and exact.state != State.LIVE and replaces is not None:
        exact = None  # it counts until a plan begins; what replaces the plan is a new version
    return replace(
        context,
        source=source,
        replaces=replaces,
        exact=exact,
        former=existing.former(group, draft),
        neighbours=_with_dressed(context, existing.dressed(group, draft) if exact is None else None),
    )


def _current_of(source: StoredSource | None) -> Memory | None:
    """The memory that the source's next text replaces; None if it starts a chain."""
    return source.current if source is not None and not source.is_merged else None


def _with_dressed(context: WriteContext, memory: Memory | None) -> tuple[Neighbour, ...]:
    """The context's neighbours, first of all the one with its text in other dress, which the vectors may have missed."""
    if memory is None:
        return context.neighbours
    others = (each for each in context.neighbours if each.memory.root_key != memory.root_key)
    return (*compare_all(ComparedText.of(context.draft), [(memory, 1.0)]), *others)


def live_texts(writes: Sequence[Write]) -> tuple[list[str], list[str]]:
    """The texts of the live memories that writes add, and of those that they retire."""
    gained = [each.row for each in writes if isinstance(each, Insert) and each.row.state == State.LIVE]
    retiring = (replace_memory, retire_lapsed)
    lost = [each.rows[0] for each in writes if isinstance(each, RowWrite) and each.do in retiring]
    return [row.content for row in gained], [row.content for row in lost]


class _Executor:
    """Carries out writes in order, inside the caller's transaction; call flush() at the end.

    What different stores write is not collected together. `reinforcements` has the effect of each reinforcement in words, by
    memory id.
    """

    def __init__(self, *, now: datetime) -> None:
        self._now = now
        self._doer: Doer | None = None  # of what is collected
        self._inserts: list[Insert] = []
        self._wordings: list[KeepWording] = []
        self._reinforced: list[Memory] = []
        self._starts: dict[int, datetime] = {}
        self._events: list[AuditEvent] = []
        self.reinforcements: dict[UUID, str] = {}

    def add(self, doer: Doer, writes: Sequence[Write]) -> None:
        """Take one decision's writes: collect those that can wait, carry out the others now."""
        if self._doer is not doer:
            self.flush()
        self._doer = doer
        with doer.acting():
            self._take(doer, writes)

    def _take(self, doer: Doer, writes: Sequence[Write]) -> None:
        for write in writes:
            match write:
                case Insert() if write.is_appended:
                    self._inserts.append(write)
                case KeepWording() if write.after is None:
                    self._wordings.append(write)
                case Reinforce():
                    self._reinforced.append(write.memory)
                    if write.valid_from is not None:
                        known = self._starts.get(write.memory.key, write.valid_from)
                        self._starts[write.memory.key] = min(write.valid_from, known)
                case Log():
                    self._events.append(write.event)
                case _:
                    self.flush()
                    self._carry_out(doer.actor, write)

    def _carry_out(self, actor: Actor, write: Write) -> None:
        match write:
            case Insert():
                _insert_placed(write)
                self._events.append(_stored_events([write])[0])
            case KeepWording():
                self._wordings.append(write)
            case RowWrite():
                write.do(actor, *write.rows)
            case LinkNeighbours():
                link_neighbours(actor, write.memory, write.neighbours, has_links=write.has_links)
            case AwaitProbe():
                Unprobed.objects.create(memory=write.memory, trust=write.trust)

    def flush(self) -> None:
        """Write everything collected so far, and its log rows."""
        if (doer := self._doer) is None:
            return
        with doer.acting():
            self._insert_appended()
            self._insert_wordings()
            audit.append_many(doer.actor, self._events, at=self._now)
            # After the log rows: what this batch stored counts as confirmed today.
            events, effects = reinforce(doer.actor, self._reinforced, now=self._now, starts=self._starts)
            audit.append_many(doer.actor, events, at=self._now)
        self.reinforcements |= effects
        self._inserts, self._wordings, self._reinforced, self._events = [], [], [], []
        self._starts = {}

    def _insert_appended(self) -> None:
        if not self._inserts:
            return
        rows = [write.row for write in self._inserts]
        append_to_threads([(write.row, write.prepared.draft.thread) for write in self._inserts])
        changed = set_contexts(rows)
        insert_rows(self._inserts)
        if changed:
            Memory.objects.bulk_update(changed, ["context"], batch_size=100)
        self._events += _stored_events(self._inserts)

    def _insert_wordings(self) -> None:
        if not self._wordings:
            return
        for write in self._wordings:
            if write.after is not None:
                set_previous_version(write.row, write.after)
            write.row.superseded_by = write.into
        insert_rows(self._wordings)
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


def _stored_events(inserts: Sequence[Insert]) -> list[AuditEvent]:
    """Log events of new memories, with the reason of those that wait."""
    rows = [write.row for write in inserts]
    return [
        AuditEvent(
            Operation.STORE,
            write.row.id,
            write.row.group.id,
            payload=payload.value() | noted if (noted := notes_of(write)) else payload,
            chars=len(write.row.content) + (WAITING_CHARS if write.row.trust in _WAITING else 0),
        )
        for write, payload in zip(inserts, after_snapshots(rows), strict=True)
    ]


def notes_of(write: Insert) -> dict[str, Any]:
    """What the log says besides the new row: why it waits, and how often the guard found each kind."""
    found = write.prepared.draft.findings
    why = {"why": write.why} if write.why else {}
    return why | {"guard": count_kinds(found)} if found else why


def insert_rows(writes: Sequence[Insert | KeepWording]) -> None:
    """Insert rows with their pieces and findings, and the names of new entities."""
    MEMORIES.add([write.row for write in writes])
    insert_pieces([(write.row, write.prepared.embedded) for write in writes])
    add_names(write.row for write in writes if isinstance(write, Insert))
    record_findings((write.row, write.prepared.draft.findings) for write in writes)


def _insert_placed(write: Insert) -> None:
    """Insert one memory with a predecessor or a position of its own, and update its neighbours' contexts."""
    row = write.row
    if write.after is not None:
        set_previous_version(row, write.after)
    take_place(row, write.prepared.draft, write.group, replaces=write.replaces)
    beside = thread_neighbours(row)
    row.context = context_of(row, beside)
    insert_rows([write])
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
    _insert_placed(Insert(row, prepared, group, after=after))
    return row
