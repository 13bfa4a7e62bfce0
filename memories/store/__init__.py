"""The write path: everything that becomes a memory passes through store() or store_many().

Read it in this order: prepare (checks, vectors, neighbours; before any transaction) → existing (what is stored) →
decide (pure, one draft at a time) → writes/executor (carries out the writes of one draft or of 256). store() returns
after the commit.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from access.actor import READ, WRITE, Actor
from access.errors import LociError
from access.groups import find_or_create_group
from access.models import Group
from memories.draft import Draft
from memories.models import Memory, Tombstone
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
    """The result of a store: the outcome, the memory that holds the text, its neighbours, the reason in words."""

    outcome: str
    memory: Memory | None
    why: str = ""
    neighbours: tuple[Neighbour, ...] = ()
    superseded: UUID | None = None
    group: str = ""
    group_created: bool = False
    is_embedding_owed: bool = False
    removed_characters: int = 0


def store(actor: Actor, draft: Draft) -> StoreResult:
    """Check a text, compare it with what is stored, and write it with its log row in one transaction.

    1. check the draft; find the group (a token with create-group may create it)
    2. split into pieces and embed; search for neighbours
    3. in one transaction: look up the source, the text, tombstones and newer neighbours; decide; write

    Raises:
        InvalidInput, TooLarge: the draft is invalid; `field` names the part.
        GroupRequired, GroupNotFound, NotPermitted: the group cannot be used. Nothing is written on any error.
    """
    return store_prepared(actor, prepare_store(actor, draft))


def store_prepared(actor: Actor, prepared: PreparedDraft) -> StoreResult:
    """Decide and write a draft from prepare_store() in one transaction, short enough to be part of another."""
    with transaction.atomic():
        resolved = find_or_create_group(actor, prepared.draft.group, right=WRITE)
        [result] = write_drafts(actor, [(resolved.group, prepared)])
    if isinstance(result, LociError):
        raise result
    return replace(
        result,
        # Left out: quarantined text, which is compared but never returned, and what a write-only token may not read.
        neighbours=tuple(
            neighbour
            for neighbour in result.neighbours
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
    """Decide and write drafts in order, inside the caller's transaction; a result or an error for each.

    The one write path of stores and imports: look up what is stored, then decide each draft and hand its writes to the
    executor. `withdrawn` caches the withdrawn texts by group key between the batches of an import.
    """
    now = timezone.now()
    executor = Executor(actor, now=now)
    contexts, existing = look_up_stored(drafts, {} if withdrawn is None else withdrawn)
    decisions: list[Decision | LociError] = []
    for context in contexts:
        try:
            decision = decide_draft(actor, add_existing(context, existing), now=now)
        except LociError as error:
            decisions.append(error)
            continue
        decisions.append(decision)
        executor.add(decision.writes)
        if decision.memory is not None and decision.outcome in (Outcome.CREATED, Outcome.QUEUED):
            existing.note_inserted(decision.memory, thread=context.draft.thread)
        if decision.memory is not None and decision.superseded is not None:
            existing.note_superseded(decision.superseded, decision.memory)
    executor.flush()
    return [_result(decision, executor) for decision in decisions]


def look_up_stored(
    drafts: Sequence[tuple[Group, PreparedDraft]], withdrawn: dict[int, WithdrawnTexts]
) -> tuple[list[WriteContext], Existing]:
    """The drafts' contexts (scope, tombstones, neighbours) and what is stored of their texts.

    The number of queries does not grow with the drafts.
    """
    sources = find_sources([(group.key, prepared.draft) for group, prepared in drafts])
    scoped = []
    for group, prepared in drafts:
        draft = prepared.draft
        source = sources.get((group.key, draft.source, draft.source_ref)) if draft.source_ref else None
        replaces = prepared.superseded or (source.current if source is not None else None)
        scoped.append((group, replace(prepared, draft=with_scope(draft, group, replaces))))
    existing = Existing([(group.key, prepared.draft) for group, prepared in scoped], sources)
    tombstones: dict[tuple[int, str], Tombstone] = {}
    for group in {group.key: group for group, _ in scoped}.values():
        texts = [prepared.draft.content for other, prepared in scoped if other.key == group.key]
        tombstones |= {(group.key, text): found for text, found in find_tombstones(group, texts).items()}
    neighbours = find_current_neighbours(scoped, withdrawn)
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


def find_current_neighbours(
    drafts: Sequence[tuple[Group, PreparedDraft]], withdrawn: dict[int, WithdrawnTexts]
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


def restated_withdrawn(
    texts: WithdrawnTexts, prepared: PreparedDraft, *, among: Collection[int] | None = None
) -> str:
    """Why a text may restate a withdrawn memory, for callers that decide on their own; empty if it does not.

    `texts` are the withdrawn texts as of their last refresh(); `among` limits them to these keys.
    """
    vector = prepared.vector
    if vector is None:
        return ""
    [neighbours] = texts.neighbours([(ComparedText.of(prepared.draft), vector)], among=among)
    return withdrawn_doubt(neighbours, prepared.draft.content)


def add_existing(context: WriteContext, existing: Existing) -> WriteContext:
    """The context with what is stored of its text now, after the drafts before it."""
    group, draft = context.group.key, context.draft
    source = existing.source(group, draft)
    return replace(
        context,
        source=source,
        replaces=existing.current(context.prepared.superseded or (source.current if source else None)),
        exact=existing.exact(group, draft),
        former=existing.former(group, draft),
    )


def _result(decision: Decision | LociError, executor: Executor) -> StoreResult | LociError:
    if isinstance(decision, LociError):
        return decision
    memory = decision.memory
    reinforced = (
        executor.reinforcements.get(memory.id, "")
        if memory and decision.outcome == Outcome.REINFORCED
        else ""
    )
    return StoreResult(
        decision.outcome,
        memory,
        "; ".join(filter(None, (decision.why, reinforced, decision.note))),
        neighbours=decision.neighbours,
        superseded=decision.superseded.id if decision.superseded is not None else None,
    )
