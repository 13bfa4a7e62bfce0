"""Retracting: a text that was wrong is withdrawn and barred; with a successor, the right one stands in its place."""

from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from access.actor import WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, LociError
from memories.draft import Draft, clean_reason
from memories.language.cleaning import clean_text, content_hash, fold, fold_hash
from memories.lifecycle.approve import join_chain
from memories.lifecycle.edit import (
    EditDraft,
    EditOutcome,
    PreparedEdit,
    as_draft,
    carry_out_edit,
    prepare_edit,
)
from memories.lifecycle.target import ChangeResult, change, must_be, permitted
from memories.models import Memory, TombstoneKind
from memories.models.text_lookup import has_text, newest
from memories.queries.by_text import recallable_copies
from memories.queries.versions import find_memory, head_of, parse_id
from memories.store import Outcome, PreparedDraft, link_successor, prepare_store, store_prepared
from memories.store.derived import DerivedChanges, find_reach, withdraw_derived, withdraw_with
from memories.store.tombstones import lay_tombstone
from memories.types import Scope, State, Trust

# Of these the row itself is meant; of any other version the one that counts.
HISTORY: Final = (State.COMPACTED, State.MERGED, State.EXPIRED, State.FORGOTTEN)
LEADS_ON: Final = "its id leads to its successor from now on"
COUNTS: Final = (Trust.ACTIVE, Trust.VERIFIED, Trust.DISPUTED)


@dataclass(frozen=True)
class Successor:
    """What is to stand in a retracted memory's place: a memory that is there, or a text that was made ready."""

    memory: Memory | None = None
    edit: PreparedEdit | None = None
    text: PreparedDraft | None = None


@dataclass(frozen=True)
class Replacement:
    """The row that takes the retracted one's place, the successor (which may wait for a curator), and what is said of it."""

    head: Memory | None = None
    successor: Memory | None = None
    said: tuple[str, ...] = ()


def retract(
    actor: Actor, id_: str | UUID, *, successor: str | UUID = "", reason: str = "", dry_run: bool = False
) -> ChangeResult:
    """Withdraw a memory as wrong: recall never returns it, and its text may not be stored in the group again.

    `successor` is what is right instead: a text, or the id of a live memory. The retracted one's id leads there. What
    was made from the memory follows it: see memories.store.derived. One transaction.

    Raises:
        Conflict: it is retracted already, or the successor does not fit.
        InvalidInput, TooLarge: the successor says the same, or is no text.
        NotFound, NotPermitted: one of the two is not among what the actor may see, or may write.
    """
    reason = clean_reason(reason)
    memory = _meant(actor, id_)
    must_be(memory, State.LIVE, State.SUPERSEDED, *HISTORY, verb="retract")
    ready = _prepared(actor, memory, successor)
    said = (
        "recall no longer returns it",
        "the same text is refused in its group from now on; a curator can lift that",
        *_left_alone(memory),
    )
    with transaction.atomic():
        twins = recallable_copies(memory)
        reach = find_reach(memory, [memory, *twins])  # before the row forgets which summary stands for it
        placed = _put_in_place(actor, memory, ready, reason=reason)
        new: dict[str, Any] = {
            "state": State.RETRACTED, "retired_at": timezone.now(), "superseded_by": placed.head,
        }  # fmt: skip

        def follow() -> DerivedChanges:
            lay_tombstone(actor, memory, kind=TombstoneKind.RETRACTED, reason=reason)
            gone = withdraw_with(actor, twins)
            followed = withdraw_derived(actor, reach)
            return replace(followed, changed=followed.changed + gone)

        told = (*said, *(f"{twin.id} says the same and is withdrawn with it" for twin in twins), *placed.said)
        done = change(
            actor, memory, Operation.RETRACT, new, told,
            reason=reason, dry_run=False, also=follow,
        )  # fmt: skip
        transaction.set_rollback(dry_run)
    # What a dry run wrote is gone, and so is its id.
    is_there = placed.successor is not None and not (dry_run and ready.memory is None)
    named = placed.successor.id if placed.successor is not None and is_there else None
    return replace(done, dry_run=dry_run, changed=0 if dry_run else done.changed, successor=named)


def _meant(actor: Actor, id_: str | UUID) -> Memory:
    row = find_memory(actor, id_)
    return permitted(actor, row if row.state in HISTORY else head_of(row), right=WRITE)


def _left_alone(memory: Memory) -> tuple[str, ...]:
    """Say what of its history still counts."""
    if memory.state == State.MERGED and memory.superseded_by is not None:
        return (f"{memory.superseded_by.id}, which it was merged into, still counts",)
    return ()


def _prepared(actor: Actor, memory: Memory, successor: str | UUID) -> Successor:
    """Find or embed the successor, before any transaction."""
    if not successor:
        return Successor()
    id_ = _as_id(successor)
    if id_ is not None:
        return Successor(memory=_fitting(actor, memory, head_of(find_memory(actor, id_, field="successor"))))
    limit = settings.LOCI.storage.max_content_chars
    text = clean_text(str(successor), field="successor", max_chars=limit).text
    if fold(text) == fold(memory.content):
        raise _same()
    there = _live(memory, text)
    if there is not None:
        return Successor(memory=_fitting(actor, memory, there))
    if memory.state == State.LIVE:
        ready = prepare_edit(actor, memory.id, EditDraft(content=text))
        prepared = ready.prepared
    else:
        draft = as_draft(memory)
        ready = None
        prepared = prepare_store(actor, _anew(draft, text))
    if prepared is not None and any(
        n.is_same and n.memory.key == memory.key for n in prepared.probed_neighbours
    ):
        raise _same()
    return Successor(edit=ready, text=None if ready is not None else prepared)


def _anew(draft: Draft, text: str) -> Draft:
    """Give the successor of what does not count any more as a text of its own."""
    return replace(draft, content=text, valid_to=None, expires_at=None, confidence=max(draft.confidence, 0.7))


def _live(memory: Memory, text: str) -> Memory | None:
    """Give the live memory that says the successor's text already."""
    rows = Memory.objects.select_related("group", "thread").filter(
        has_text(content_hash(text), fold_hash(text)),
        group=memory.group_id,
        scope=memory.scope,
        type=memory.type,
        state=State.LIVE,
    )
    return newest(rows)


def _fitting(actor: Actor, memory: Memory, successor: Memory) -> Memory:
    """Give the successor, or raise where it may not stand there."""
    permitted(actor, successor, right=WRITE)
    must_be(successor, State.LIVE, verb="retract with this successor")
    if successor.key == memory.key or successor.root_key == memory.root_key:
        raise Conflict("A memory cannot succeed itself.", hint="Name another one.", field="successor")
    if successor.trust not in COUNTS:
        raise Conflict(
            f"{successor.id} is {successor.trust}: recall would find nothing in its place.",
            hint="Approve it first, or retract without a successor.",
            field="successor",
        )
    if successor.scope == Scope.GROUP and (
        memory.scope == Scope.GLOBAL or successor.group_id != memory.group_id
    ):
        raise Conflict(
            f"{successor.id} is seen in the group '{successor.group.slug}' alone, {memory.id} is not.",
            hint="Name one that is seen wherever this one is.",
            field="successor",
        )
    return successor


def _put_in_place(actor: Actor, memory: Memory, ready: Successor, *, reason: str) -> Replacement:
    """Write the successor where it is a new text."""
    if ready.memory is not None:
        return Replacement(ready.memory, ready.memory, (f"its id leads to {ready.memory.id} from now on",))
    if ready.edit is not None:
        edited = carry_out_edit(actor, ready.edit, reason=reason)
        memory.refresh_from_db()
        if edited.outcome == EditOutcome.QUEUED:
            return _waiting(edited.memory, edited.why)
        return Replacement(edited.memory, edited.memory, (LEADS_ON,))
    return _stored(actor, memory, ready.text) if ready.text is not None else Replacement()


def _stored(actor: Actor, memory: Memory, prepared: PreparedDraft) -> Replacement:
    """Store the successor of what did not count any more."""
    stored = store_prepared(actor, prepared)
    new = stored.memory
    if new is None or stored.outcome == Outcome.REFUSED:
        raise Conflict(f"The successor cannot be stored: {stored.why}.", field="successor")
    if stored.outcome == Outcome.QUEUED:
        link_successor(actor, new, memory, operation=Operation.EDIT)
        return _waiting(new, stored.why)
    if stored.outcome == Outcome.CREATED:
        join_chain(actor, memory, new)
    return Replacement(new, new, (LEADS_ON,))


def _waiting(successor: Memory, why: str) -> Replacement:
    return Replacement(None, successor, (f"its successor waits for a curator: {why}",))


def _as_id(said: str | UUID) -> UUID | None:
    try:
        return parse_id(said)
    except LociError:
        return None


def _same() -> InvalidInput:
    return InvalidInput(
        "The successor says the same as what is retracted.", hint="Say what is right.", field="successor"
    )
