"""The write path: everything that becomes a memory passes through store() or store_many().

Read it in this order: prepare (checks, vectors, neighbours; before any transaction) → write (what is stored of the texts;
the writes of one draft or of 256) → decide (pure, one draft at a time); together joins stores that wait. store() returns after
the commit. Rows are made here alone; what the verbs do to rows that exist is in change, supersede, for_review, derived and
withdrawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from access.actor import READ, WRITE, Actor
from access.audit import one_change
from access.errors import LociError
from access.groups.guarding import TextFinding
from memories.draft import Draft
from memories.draft.kinds import check_ahead
from memories.models import Memory
from memories.search.rows import read_memories
from memories.store.decide import Decision, Outcome
from memories.store.existing import find_exact
from memories.store.neighbours import Neighbour, NextStep
from memories.store.prepare import PreparedDraft, check_store, prepare_store, prepare_text
from memories.store.rows import add_alias, record_findings
from memories.store.together import Written, write_draft
from memories.store.write import insert_version
from memories.types import Scope, Trust

__all__ = [
    "Outcome",
    "PreparedDraft",
    "StoreResult",
    "add_alias",
    "find_exact",
    "insert_version",
    "prepare_store",
    "prepare_text",
    "record_findings",
    "store",
    "store_prepared",
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
    return _result(actor, write_draft(actor, check_store(actor, draft)))


def store_prepared(actor: Actor, prepared: PreparedDraft) -> StoreResult:
    """Decide and write a draft from prepare_store() in one transaction, short enough to be part of another."""
    return _result(actor, write_draft(actor, prepared))


def _result(actor: Actor, written: Written) -> StoreResult:
    done, prepared = written.done, written.prepared
    if isinstance(done, LociError):
        raise done
    is_new = done.outcome in (Outcome.CREATED, Outcome.QUEUED)
    owed_because = prepared.embedded.owed_because if is_new else ""
    is_live = done.outcome in (Outcome.CREATED, Outcome.REINFORCED)
    superseded = done.superseded.id if done.superseded is not None else None
    return StoreResult(
        done.outcome,
        done.memory,
        "; ".join(filter(None, (done.why, owed_because))),
        superseded=superseded,
        owed_because=owed_because,
        # Left out: quarantined text, which is compared but never returned, what a write-only token may not read, and
        # what another group withdrew.
        neighbours=tuple(
            neighbour
            for neighbour in _as_written(done)
            if neighbour.memory.trust != Trust.QUARANTINED and _may_read_neighbour(actor, neighbour)
        ),
        group=written.slug,
        group_created=written.is_created,
        is_embedding_owed=prepared.embedded.is_owed and is_new,
        removed_characters=prepared.draft.removed_characters,
        findings=prepared.draft.findings,
        next_steps={
            neighbour.id: neighbour.next_step
            for neighbour in (done.neighbours if is_live else ())
            if neighbour.id != superseded and actor.may(WRITE, neighbour.memory.group_id)
        },
    )


def _as_written(done: Decision) -> Sequence[Neighbour]:
    """The neighbours as they are after the write, which changes a superseded one."""
    if done.superseded is None:
        return done.neighbours
    rows = read_memories(neighbour.memory.key for neighbour in done.neighbours)
    return [replace(each, memory=rows.get(each.memory.key, each.memory)) for each in done.neighbours]


def _may_read_neighbour(actor: Actor, neighbour: Neighbour) -> bool:
    """True if the actor may read the memory; one that was withdrawn only in its group, global or not."""
    memory = neighbour.memory
    is_everybodys = memory.scope == Scope.GLOBAL and not neighbour.is_withdrawn and actor.include_global
    return actor.may(READ, None if is_everybodys else memory.group_id)
