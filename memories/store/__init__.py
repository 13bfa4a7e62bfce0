"""The write path: everything that becomes a memory passes through store() or store_many().

Read it in this order: prepare (checks, vectors, neighbours; before any transaction) → lookup (what is stored) → decide
(pure, one draft at a time) → writes/executor (carries out the writes of one draft or of 256). store() returns after the
commit.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import READ, WRITE, Actor
from access.audit.collect import one_change
from access.audit.operations import Operation
from access.errors import LociError
from access.groups import find_or_create_group, leave_uncreated
from access.groups.guarding import TextFinding
from access.groups.locks import hold_groups
from access.limits.quota import GroupRoom
from access.models import Group
from memories.draft import Draft
from memories.draft.checks import check_ahead
from memories.models import Memory
from memories.queries.by_key import read_memories
from memories.store.decide import (
    UNPROBED,
    Decision,
    Outcome,
    decide_draft,
    withdrawn_doubt,
)
from memories.store.existing import find_exact
from memories.store.lookup import add_existing, look_up_stored
from memories.store.neighbours import (
    ComparedText,
    Neighbour,
    NextStep,
)
from memories.store.pieces import one_index_state, read_index_state
from memories.store.prepare import PreparedDraft, check_may_write, prepare_store, prepare_text
from memories.store.withdrawn.near import WithdrawnTexts
from memories.store.writes.doubts import (
    MAX_OPEN,
    check_may_doubt,
    raise_doubt,
    raised_by,
    settle_doubts,
    settle_replaced,
)
from memories.store.writes.executor import Executor, insert_version, live_texts
from memories.store.writes.findings import record_findings
from memories.store.writes.links import link, link_neighbours, link_successor
from memories.store.writes.plans import (
    call_off_plan,
    follow_withdrawal,
    is_withdrawn,
    is_withdrawn_now,
    put_plan_back,
    rows_called_off,
    was_called_off_after,
)
from memories.store.writes.reinforce import CONFIRMED_TODAY, REINFORCEMENT, written_today
from memories.store.writes.rows import add_alias
from memories.store.writes.supersede import (
    bring_plan_forward,
    changed_meanwhile,
    move_ends,
    point_to_successor,
    replace_memory,
    settle_on_approval,
    valid_time_end,
)
from memories.types import Scope, Trust

__all__ = [
    "CONFIRMED_TODAY",
    "MAX_OPEN",
    "REINFORCEMENT",
    "UNPROBED",
    "Outcome",
    "PreparedDraft",
    "StoreResult",
    "add_alias",
    "bring_plan_forward",
    "call_off_plan",
    "changed_meanwhile",
    "check_may_doubt",
    "check_may_write",
    "find_exact",
    "follow_withdrawal",
    "insert_version",
    "is_withdrawn",
    "is_withdrawn_now",
    "link",
    "link_neighbours",
    "link_successor",
    "log_refusal",
    "move_ends",
    "point_to_successor",
    "prepare_store",
    "prepare_text",
    "put_plan_back",
    "raise_doubt",
    "raised_by",
    "record_findings",
    "replace_memory",
    "restated_withdrawn",
    "rows_called_off",
    "settle_doubts",
    "settle_on_approval",
    "settle_replaced",
    "store",
    "store_prepared",
    "valid_time_end",
    "was_called_off_after",
    "withdrawn_doubt",
    "write_drafts",
    "written_today",
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
    owed_because: str = ""  # empty: no model is available
    removed_characters: int = 0
    findings: tuple[TextFinding, ...] = ()
    next_steps: Mapping[UUID, NextStep] = field(default_factory=dict)  # by id of a neighbour; else nothing


@one_change
def store(actor: Actor, draft: Draft) -> StoreResult:
    """Check a text, compare it with what is stored, and write it with its log row in one transaction.

    1. check the draft; find the group (a token with create-group may create it)
    2. split into pieces and embed; search for neighbours
    3. in one transaction: look up the source, the text, tombstones and newer neighbours; decide; write

    Raises:
        InvalidInput, TooLarge: the draft is invalid; `field` names the part.
        SensitiveText: it holds what the group's policy refuses, such as a password.
        GroupRequired, GroupNotFound, NotPermitted, GroupFull: the group cannot be used. Nothing is written on any error.
    """
    check_ahead(draft.expires_at, field="expires_at")
    return store_prepared(actor, prepare_store(actor, draft))


def store_prepared(actor: Actor, prepared: PreparedDraft) -> StoreResult:
    """Decide and write a draft from prepare_store() in one transaction, short enough to be part of another."""
    with transaction.atomic():
        resolved = find_or_create_group(actor, prepared.draft.group, right=WRITE)
        [result] = write_drafts(actor, [(resolved.group, prepared)])
        is_unwanted = resolved.created and (
            isinstance(result, LociError) or result.outcome == Outcome.REFUSED
        )
        transaction.set_rollback(is_unwanted)  # a refused text creates no group
    if is_unwanted:
        resolved = leave_uncreated(actor, resolved)
    if isinstance(result, LociError):
        raise result
    if is_unwanted:
        log_refusal(actor, resolved.group.slug)
    is_new = result.outcome in (Outcome.CREATED, Outcome.QUEUED)
    owed_because = prepared.embedded.owed_because if is_new else ""
    is_live = result.outcome in (Outcome.CREATED, Outcome.REINFORCED)
    return replace(
        result,
        why="; ".join(filter(None, (result.why, owed_because))),
        owed_because=owed_because,
        # Left out: quarantined text, which is compared but never returned, what a write-only token may not read, and
        # what another group withdrew.
        neighbours=tuple(
            neighbour
            for neighbour in as_written(result)
            if neighbour.memory.trust != Trust.QUARANTINED and may_read_neighbour(actor, neighbour)
        ),
        group=resolved.group.slug,
        group_created=resolved.created,
        is_embedding_owed=prepared.embedded.is_owed and is_new,
        removed_characters=prepared.draft.removed_characters,
        findings=prepared.draft.findings,
        next_steps={
            neighbour.id: neighbour.next_step
            for neighbour in (result.neighbours if is_live else ())
            if neighbour.id != result.superseded and actor.may(WRITE, neighbour.memory.group_id)
        },
    )


def log_refusal(actor: Actor, slug: str) -> None:
    """Log the refusal of a withdrawn text for a group that does not exist, in the instance's chain."""
    with transaction.atomic():
        audit.append(
            actor, Operation.REFUSE, subject=f"group:{slug}", payload={"why": "withdrawn in another group"}
        )


def as_written(result: StoreResult) -> Sequence[Neighbour]:
    """The neighbours as they are after the write, which changes a superseded one."""
    if result.superseded is None:
        return result.neighbours
    rows = read_memories(neighbour.memory.key for neighbour in result.neighbours)
    return [replace(each, memory=rows.get(each.memory.key, each.memory)) for each in result.neighbours]


def may_read_neighbour(actor: Actor, neighbour: Neighbour) -> bool:
    """True if the actor may read the memory; one that was withdrawn only in its group, global or not."""
    memory = neighbour.memory
    is_everybodys = memory.scope == Scope.GLOBAL and not neighbour.is_withdrawn
    return actor.may(READ, None if is_everybodys else memory.group_id)


def write_drafts(
    actor: Actor,
    drafts: Sequence[tuple[Group, PreparedDraft]],
) -> list[StoreResult | LociError]:
    """Decide and write drafts in order, inside the caller's transaction; a result or an error for each.

    The one write path of stores and imports: look up what is stored, then decide each draft and hand its writes to the
    executor.
    """
    now = timezone.now()
    executor = Executor(actor, now=now)
    hold_groups(group.key for group, _ in drafts)
    with one_index_state(read_index_state({group.key for group, _ in drafts})):
        decisions = decide_and_write(actor, drafts, executor, now=now)
    return [_result(decision, executor) for decision in decisions]


def decide_and_write(
    actor: Actor, drafts: Sequence[tuple[Group, PreparedDraft]], executor: Executor, *, now: datetime
) -> list[Decision | LociError]:
    """Decide each draft and hand its writes to the executor; a decision or an error for each."""
    contexts, existing = look_up_stored(drafts)
    decisions, room = list[Decision | LociError](), GroupRoom()
    for context in contexts:
        try:
            decision = decide_draft(actor, add_existing(context, existing), now=now)
            room.take(context.group, *live_texts(decision.writes))
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
    return decisions


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
    return withdrawn_doubt(neighbours)


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
