"""The write path: everything that becomes a memory passes through store() or store_many().

Read it in this order: prepare (checks, vectors, neighbours; before any transaction) → existing (what is stored) → decide
(pure, one draft at a time) → writes/executor (carries out one draft's writes or those of 256). What was answered is
committed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from access.actor import READ, WRITE, Actor
from access.errors import LociError
from access.groups import find_or_create_group
from access.models import Group
from memories.draft import Draft
from memories.models import Memory
from memories.store.decide import (
    Decision,
    Outcome,
    WriteContext,
    decide_draft,
    with_scope,
    withdrawn_doubt,
)
from memories.store.existing import Existing, find_exact, find_sources
from memories.store.neighbours import (
    ComparedText,
    Neighbour,
    WithdrawnTexts,
)
from memories.store.prepare import PreparedDraft, check_may_write, prepare_store, prepare_text
from memories.store.tombstones import find_tombstones
from memories.store.writes.executor import Executor, insert_version
from memories.store.writes.links import link_successor
from memories.store.writes.reinforce import REINFORCEMENT
from memories.store.writes.rows import add_alias
from memories.store.writes.supersede import point_to_successor, replace_memory, valid_time_end
from memories.types import Scope, Trust

__all__ = [
    "REINFORCEMENT",
    "Outcome",
    "PreparedDraft",
    "StoreResult",
    "add_alias",
    "check_may_write",
    "find_exact",
    "insert_version",
    "link_successor",
    "point_to_successor",
    "prepare_store",
    "prepare_text",
    "replace_memory",
    "restated_withdrawn",
    "store",
    "store_prepared",
    "valid_time_end",
    "withdrawn_doubt",
    "write_drafts",
]


@dataclass(frozen=True)
class StoreResult:
    """The answer to a store: what became of it, which memory it is now, what is near and why."""

    outcome: str
    memory: Memory | None
    why: str = ""
    near: tuple[Neighbour, ...] = ()
    superseded: UUID | None = None
    group: str = ""
    group_created: bool = False
    is_embedding_owed: bool = False
    removed_characters: int = 0


def store(actor: Actor, draft: Draft) -> StoreResult:
    """Store a text: checked, compared with what is stored, written with its log row in one transaction.

    1. check the draft; find the group (a token with create-group may create it)
    2. cut into pieces and embed; search for neighbours
    3. in one transaction: look up the source, the text, tombstones and what came since; decide; write

    Raises:
        InvalidInput, TooLarge: the draft is at fault; `field` says where.
        GroupRequired, GroupNotFound, NotPermitted: the group is; nothing was written.
    """
    return store_prepared(actor, prepare_store(actor, draft))


def store_prepared(actor: Actor, prepared: PreparedDraft) -> StoreResult:
    """Decide and write what prepare_store() prepared; one transaction, short enough to be part of another."""
    with transaction.atomic():
        resolved = find_or_create_group(actor, prepared.draft.group, right=WRITE)
        [result] = write_drafts(actor, [(resolved.group, prepared)])
    if isinstance(result, LociError):
        raise result
    return replace(
        result,
        # Quarantined text is compared with, but never comes back; nor does what a write-only token may not read.
        near=tuple(
            neighbour
            for neighbour in result.near
            if neighbour.memory.trust != Trust.QUARANTINED and _may_read(actor, neighbour.memory)
        ),
        group=resolved.group.slug,
        group_created=resolved.created,
        is_embedding_owed=prepared.embedded.is_owed and result.outcome in (Outcome.CREATED, Outcome.QUEUED),
        removed_characters=prepared.draft.removed_characters,
    )


def _may_read(actor: Actor, memory: Memory) -> bool:
    return actor.may(READ, None if memory.scope == Scope.GLOBAL else memory.group_id)


def write_drafts(
    actor: Actor,
    drafts: Sequence[tuple[Group, PreparedDraft]],
    *,
    withdrawn: dict[int, WithdrawnTexts] | None = None,
) -> list[StoreResult | LociError]:
    """Decide and write drafts in order, inside the caller's transaction; a draft that is refused with an error has it.

    The one path of stores and imports: look up what is stored, then decide each draft and hand its writes to the
    executor. `withdrawn` has each group's withdrawn texts from the batch before.
    """
    now, executor = timezone.now(), Executor(actor, now=timezone.now())
    contexts, existing = _look_up(drafts, {} if withdrawn is None else withdrawn)
    decisions: list[Decision | LociError] = []
    for context in contexts:
        decision = _decide(actor, _with_existing(context, existing), now=now)
        decisions.append(decision)
        if isinstance(decision, Decision):
            executor.add(decision.writes)
            _note(existing, context.draft, decision)
    executor.flush()
    return [_result(decision, executor) for decision in decisions]


def _look_up(
    drafts: Sequence[tuple[Group, PreparedDraft]], withdrawn: dict[int, WithdrawnTexts]
) -> tuple[list[WriteContext], Existing]:
    """What is stored and bears on the drafts, in a number of queries that does not grow with them."""
    sources = find_sources([(group.key, prepared.draft) for group, prepared in drafts])
    scoped = []
    for group, prepared in drafts:
        draft = prepared.draft
        source = sources.get((group.key, draft.source, draft.source_ref)) if draft.source_ref else None
        replaces = prepared.superseded or (source.current if source is not None else None)
        scoped.append((group, replace(prepared, draft=with_scope(draft, group, replaces))))
    existing = Existing([(group.key, prepared.draft) for group, prepared in scoped], sources)
    tombstones = {
        (group.key, text): tombstone
        for group in {group.key: group for group, _ in scoped}.values()
        for text, tombstone in find_tombstones(
            group, [prepared.draft.content for of, prepared in scoped if of.key == group.key]
        ).items()
    }
    neighbours = _find_neighbours(scoped, withdrawn)
    contexts = [
        WriteContext(
            prepared,
            group,
            tombstone=tombstones.get((group.key, prepared.draft.content)),
            neighbours=neighbours[number],
        )
        for number, (group, prepared) in enumerate(scoped)
    ]
    return contexts, existing


def _find_neighbours(
    drafts: Sequence[tuple[Group, PreparedDraft]], withdrawn: dict[int, WithdrawnTexts]
) -> list[tuple[Neighbour, ...]]:
    """Each draft's neighbours as they are now: of those that were probed, all; of the others, the withdrawn ones."""
    found: list[tuple[Neighbour, ...]] = [()] * len(drafts)
    unprobed: dict[tuple[int, str], list[int]] = {}
    for number, (group, prepared) in enumerate(drafts):
        if prepared.found is not None:
            found[number] = prepared.current_neighbours(group.key)
        elif prepared.vector is not None:
            unprobed.setdefault((group.key, prepared.embedded.model), []).append(number)
    for (group_key, model), numbers in unprobed.items():
        texts = withdrawn.setdefault(group_key, WithdrawnTexts(group_key, model))
        texts.refresh()
        pairs = [
            (ComparedText.of(p.draft), v)
            for _, p in (drafts[n] for n in numbers)
            if (v := p.vector) is not None
        ]
        for number, neighbours in zip(numbers, texts.neighbours(pairs), strict=True):
            found[number] = neighbours
    return found


def restated_withdrawn(group: Group, prepared: PreparedDraft) -> str:
    """Which withdrawn memory a text may restate, for callers that decide on their own what to write; empty if none."""
    [neighbours] = _find_neighbours([(group, prepared)], {})
    return withdrawn_doubt(neighbours, prepared.draft.content)


def _with_existing(context: WriteContext, existing: Existing) -> WriteContext:
    """The context with what is stored now, after the drafts before it."""
    group, draft = context.group.key, context.draft
    source = existing.source(group, draft)
    return replace(
        context,
        source=source,
        replaces=existing.current(context.prepared.superseded or (source.current if source else None)),
        exact=existing.exact(group, draft),
        former=existing.former(group, draft),
    )


def _decide(actor: Actor, context: WriteContext, *, now: datetime) -> Decision | LociError:
    try:
        return decide_draft(actor, context, now=now)
    except LociError as error:
        return error


def _note(existing: Existing, draft: Draft, decision: Decision) -> None:
    if decision.memory is None:
        return
    if decision.outcome in (Outcome.CREATED, Outcome.QUEUED):
        existing.note_inserted(decision.memory, thread=draft.thread)
    if decision.superseded is not None:
        existing.note_superseded(decision.superseded, decision.memory)


def _result(decision: Decision | LociError, executor: Executor) -> StoreResult | LociError:
    if isinstance(decision, LociError):
        return decision
    memory = decision.memory
    reinforced = executor.done.get(memory.id, "") if memory and decision.outcome == Outcome.REINFORCED else ""
    return StoreResult(
        decision.outcome,
        memory,
        "; ".join(filter(None, (decision.why, reinforced, decision.note))),
        near=decision.neighbours,
        superseded=decision.superseded.id if decision.superseded is not None else None,
    )
