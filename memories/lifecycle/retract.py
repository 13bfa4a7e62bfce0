"""Retracting: a wrong text is withdrawn and barred; a successor, if given, takes its place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from access.actor import WRITE, Actor
from access.audit import one_change
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput
from access.groups import hold_groups
from memories.draft import EditDraft, clean_reason
from memories.language.cleaning import clean_text, content_hash, fold
from memories.language.dress import fold_hash, undressed
from memories.lifecycle.approve import join_chain
from memories.lifecycle.edit import (
    EditOutcome,
    PreparedEdit,
    as_draft,
    carry_out_edit,
    prepare_edit,
)
from memories.lifecycle.propose import change_or_propose
from memories.lifecycle.target import (
    ChangeResult,
    barred_line,
    change_fields,
    check_successor,
    require_right,
    require_state,
)
from memories.models import Memory, Tombstone, TombstoneKind
from memories.models.text_lookup import newest
from memories.queries.by_text import left_out_with, recallable_copies, texts_beside
from memories.queries.versions import find_memory, find_named, head_of, parse_short_id
from memories.store import Outcome, PreparedDraft, prepare_store, store_prepared
from memories.store.derived import DerivedChanges, find_reach, withdraw_derived, withdraw_rows
from memories.store.for_review import link_successor
from memories.store.policy import Change, is_by_agent, log_of
from memories.store.supersede import call_off_plan, move_ends
from memories.store.threads import refresh_threads
from memories.store.withdrawn.left_out import also_left_out
from memories.store.withdrawn.tombstones import lay_tombstone
from memories.types import State

# In these states an id means that row; in any other it means the current version.
HISTORY_STATES: Final = (State.DORMANT, State.MERGED, State.EXPIRED, State.FORGOTTEN)
_LEADS_ON: Final = gettext_noop("its id leads to its successor from now on")


@dataclass(frozen=True)
class Successor:
    """What takes a retracted memory's place: an existing memory, a prepared edit or a prepared text."""

    memory: Memory | None = None
    edit: PreparedEdit | None = None
    text: PreparedDraft | None = None


@dataclass(frozen=True)
class _Replacement:
    """The row that takes the retracted one's place, the successor (which may wait for a curator), the consequences."""

    head: Memory | None = None
    successor: Memory | None = None
    consequences: tuple[str, ...] = ()


@one_change
def retract(
    actor: Actor,
    id_: str | UUID,
    *,
    successor: str | UUID = "",
    reason: str = "",
    dry_run: bool = False,
    is_decided: bool = False,
) -> ChangeResult:
    """Withdraw a memory as wrong: recall never returns it, and its text may not be stored in the group again.

    A curator may also retract what an agent retracted: see confirm_retraction().

    `successor` is the right text, or the id of a live memory; the retracted id then leads there. Memories derived
    from the retracted one are withdrawn with it: see memories.store.derived. One transaction. The retraction waits as a
    proposal where memories.store.policy says so. `is_decided`: a curator chose the successor too, so that it does not wait.

    Raises:
        Conflict: it is retracted already, or the successor does not fit.
        InvalidInput, TooLarge: the successor has the same text, or is not text.
        NotFound, NotPermitted: the actor may not see, or may not write, one of the two.
    """
    reason = clean_reason(reason)
    if not successor and (retracted := find_confirmable(actor, id_)) is not None:
        return confirm_retraction(actor, retracted, reason=reason, dry_run=dry_run)
    memory = _find_retractable(actor, id_)
    ready = _prepare_successor(actor, memory, successor)
    run = partial(_carry_out_retraction, actor, memory, ready, reason=reason)
    return change_or_propose(
        actor, Change.RETRACT, memory, partial(run, is_decided=is_decided), reason=reason, dry_run=dry_run,
        arguments={"successor": str(successor)} if successor else {},
        reached=lambda: _rows_withdrawn_with(memory), preview=partial(run, dry_run=True, is_decided=True),
    )  # fmt: skip


def find_confirmable(actor: Actor, id_: str | UUID) -> Memory | None:
    """The memory, if an agent retracted it last and this actor is a curator of its group; else None."""
    memory = head_of(find_memory(actor, id_))
    if memory.state != State.RETRACTED or not actor.decides(memory.group_id):
        return None
    last = log_of(memory, Operation.RETRACT).first()
    return memory if last is not None and is_by_agent(last) else None


def confirm_retraction(actor: Actor, memory: Memory, *, reason: str, dry_run: bool) -> ChangeResult:
    """Record a curator as the one who withdrew a memory that an agent had retracted: the agent can no longer undo it.

    The tombstone records it, since it is the text's, whichever of its copies the agent retracted.
    """
    consequences = (gettext("it stays retracted, now by your decision: the agent can no longer undo that"),)

    def follow_up() -> DerivedChanges:
        mark = lay_tombstone(actor, memory, kind=TombstoneKind.RETRACTED, reason=reason)
        if mark is not None:
            Tombstone.objects.filter(pk=mark.pk).update(author_name=actor.name, reason=reason or mark.reason)
        return DerivedChanges(payload={"confirmed": True})

    return change_fields(
        actor,
        memory,
        Operation.RETRACT,
        {},
        consequences,
        reason=reason,
        dry_run=dry_run,
        follow_up=follow_up,
    )


def _rows_withdrawn_with(memory: Memory) -> list[Memory]:
    """The other memories that a retraction withdraws, copies of its text and the summaries of all of them, or hides."""
    twins = recallable_copies(memory)
    hidden = left_out_with([memory])
    return [*twins, *hidden, *find_reach(memory, [memory, *twins], hidden=hidden).summaries]


def _carry_out_retraction(
    actor: Actor, memory: Memory, ready: Successor, *, reason: str, dry_run: bool, is_decided: bool
) -> ChangeResult:
    """Withdraw the memory and put its successor in its place, in one transaction."""
    consequences = [
        gettext("recall no longer returns it"),
        gettext("{barred_line}; a curator can lift that").format(barred_line=barred_line(memory)),
    ]
    with transaction.atomic():
        hold_groups([memory.group_id])
        twins = recallable_copies(memory)
        hidden = [row for row in left_out_with([memory]) if row not in twins]
        consequences += also_left_out([memory], hidden)
        into = memory.superseded_by if memory.state == State.MERGED else None
        if into is not None and into not in (*twins, *hidden):
            consequences.append(gettext("{id}, which it was merged into, is not affected").format(id=into.id))
        # Before the row loses the key of its summary.
        reach = find_reach(memory, [memory, *twins], hidden=hidden)
        placed = _put_in_place(actor, memory, ready, reason=reason, is_decided=is_decided)
        new: dict[str, Any] = {
            "state": State.RETRACTED, "retired_at": timezone.now(), "superseded_by": placed.head,
        }  # fmt: skip

        def follow_up() -> DerivedChanges:
            lay_tombstone(actor, memory, kind=TombstoneKind.RETRACTED, reason=reason)
            gone = _withdraw_with(actor, twins)
            followed = withdraw_derived(actor, reach)
            if placed.head is not None and placed.head.valid_from != memory.valid_from:
                now = timezone.now()
                move_ends(actor, memory, placed.head.valid_from or now, now)
            return replace(followed, changed=followed.changed + gone)

        consequences += [
            gettext("{id} has the same text and is withdrawn with it").format(id=twin.id) for twin in twins
        ]
        consequences += placed.consequences
        done = change_fields(
            actor, memory, Operation.RETRACT, new, tuple(consequences),
            reason=reason, dry_run=False, follow_up=follow_up, settles=True,
        )  # fmt: skip
        transaction.set_rollback(dry_run)
    # A dry run's new successor is gone, and so is its id.
    is_new = ready.memory is None
    successor_id = None if placed.successor is None or (dry_run and is_new) else placed.successor.id
    return replace(done, dry_run=dry_run, changed=0 if dry_run else done.changed, successor=successor_id)


def _withdraw_with(actor: Actor, twins: Sequence[Memory]) -> int:
    """Withdraw what has the same words as a memory that is being retracted, inside the verb's transaction."""
    withdrawn = withdraw_rows(actor, twins)
    for twin in twins:  # one may be a plan
        withdrawn += len(call_off_plan(actor, twin))
    refresh_threads(sorted({row.thread_id for row in twins if row.thread_id is not None}))
    return withdrawn


def _find_retractable(actor: Actor, id_: str | UUID) -> Memory:
    """The row to retract: for a historic version the row itself, otherwise the current version."""
    row = find_memory(actor, id_)
    memory = require_right(actor, row if row.state in HISTORY_STATES else head_of(row), right=WRITE)
    require_state(memory, State.LIVE, State.SUPERSEDED, *HISTORY_STATES, verb="retract")
    return memory


def _prepare_successor(actor: Actor, memory: Memory, successor: str | UUID) -> Successor:
    """Find or embed the successor, before any transaction."""
    if not successor:
        return Successor()
    # Of a short id that leads to nothing visible, the digits must not become the right text.
    find = find_memory if parse_short_id(successor) else find_named
    named = find(actor, str(successor), field="successor")
    if named is not None:
        return _existing_successor(actor, memory, head_of(named))
    limit = settings.LOCI.storage.max_content_chars
    text = clean_text(str(successor), field="successor", max_chars=limit).text
    is_same_dressed = bool(undressed(text)) and undressed(text) == undressed(memory.content)
    if fold(text) == fold(memory.content) or is_same_dressed:
        raise _same_text_error()
    same = texts_beside(memory, content_hash(text), fold_hash(text))
    live = newest(same.select_related("group", "thread"))
    if live is not None:
        return _existing_successor(actor, memory, live)
    if memory.state == State.LIVE:
        ready = Successor(edit=prepare_edit(actor, memory.id, EditDraft(content=text)))
    else:  # a memory of its own: what was retracted no longer counted
        draft = replace(as_draft(memory), content=text, valid_to=None, expires_at=None)
        draft = replace(draft, confidence=max(draft.confidence, 0.7))
        ready = Successor(text=prepare_store(actor, draft))
    prepared = ready.edit.prepared if ready.edit is not None else ready.text
    near = prepared.probed_neighbours if prepared is not None else ()
    if any(each.is_same and each.memory.key == memory.key for each in near):
        raise _same_text_error()
    return ready


def _existing_successor(actor: Actor, memory: Memory, found: Memory) -> Successor:
    """A stored memory as the successor; raises Conflict if it may not take the retracted one's place."""
    require_right(actor, found, right=WRITE)
    check_successor(memory, found, field="successor")
    return Successor(memory=found)


def _put_in_place(
    actor: Actor, memory: Memory, ready: Successor, *, reason: str, is_decided: bool
) -> _Replacement:
    """Write the successor if it is a new text; inside the transaction."""
    if ready.memory is not None:
        ready.memory.refresh_from_db()  # it may have changed before the group was held
        check_successor(memory, ready.memory, field="successor")
        line = gettext("its id leads to {id} from now on").format(id=ready.memory.id)
        return _Replacement(ready.memory, ready.memory, (line,))
    if ready.edit is not None:
        edited = carry_out_edit(actor, ready.edit, reason=reason, is_decided=is_decided)
        memory.refresh_from_db()
        if edited.outcome == EditOutcome.QUEUED:
            return _waiting_successor(edited.memory, edited.why)
        return _Replacement(edited.memory, edited.memory, (gettext(_LEADS_ON),))
    return _store_successor(actor, memory, ready.text) if ready.text is not None else _Replacement()


def _store_successor(actor: Actor, memory: Memory, prepared: PreparedDraft) -> _Replacement:
    stored = store_prepared(actor, prepared)
    new = stored.memory
    if new is None or stored.outcome == Outcome.REFUSED:
        raise Conflict(f"The successor cannot be stored: {stored.why}.", field="successor")
    if stored.outcome == Outcome.QUEUED:
        link_successor(actor, new, memory, operation=Operation.EDIT)
        return _waiting_successor(new, stored.why)
    if stored.outcome == Outcome.CREATED:
        join_chain(actor, memory, new)
    return _Replacement(new, new, (gettext(_LEADS_ON),))


def _waiting_successor(successor: Memory, why: str) -> _Replacement:
    line = gettext("its successor waits for a curator: {why}").format(why=why)
    return _Replacement(None, successor, (line,))


def _same_text_error() -> InvalidInput:
    return InvalidInput(
        "The successor has the same text as the retracted memory.",
        hint="Pass the right text.",
        field="successor",
    )
