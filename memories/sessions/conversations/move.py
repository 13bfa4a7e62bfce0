"""Moves a conversation to another group, with its turns, checkpoints and summary."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction

from access import audit
from access.actor import CURATE, WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict, NotPermitted
from access.groups import find_group, hold_groups
from access.models import Group
from memories.lifecycle.propose import ProposalKind, propose
from memories.lifecycle.regroup.move import record_sources
from memories.lifecycle.regroup.plan import is_taken_as_is
from memories.lifecycle.target import ChangeResult
from memories.models import Checkpoint, Memory, Proposal, Thread
from memories.queries.snapshot import RELATED_ROWS, as_json
from memories.sessions.conversations import find_conversation
from memories.store.change import change_rows
from memories.store.policy import policy_doubt
from memories.store.threads import filter_tokens
from memories.store.withdrawn.marks import find_all_withdrawn
from memories.types import State, Trust, Type
from storage.bulk import batches

_ASSIGN: Final = "assign"  # the verb of a proposal


@dataclass(frozen=True)
class Moved:
    """The conversation's group now, and the number of memories moved. `queued`: why it waits for a curator there."""

    thread: Thread
    former: str
    group: str
    memories: int
    queued: str = ""
    proposal: UUID | None = None


def assign(actor: Actor, id_: str | UUID, group: str, *, reason: str = "", is_decided: bool = False) -> Moved:
    """Move a conversation to another group; where its policy holds writes back, one proposal waits for a curator.

    `is_decided`: a curator of the target approves the proposal of a person who may take it there. One transaction.

    Raises:
        NotFound, GroupNotFound: the conversation or the group is missing or closed to the actor.
        NotPermitted: the actor may not take it away, or may not write there.
        Conflict: it is there already, the target has its thread or texts, or the target does not take one of them.
    """
    target = find_group(actor, group, right=WRITE)
    thread = (
        _find_to_move(actor, id_) if not is_decided else Thread.objects.select_related("group").get(id=id_)
    )
    former = thread.group
    if former.key == target.key:
        raise Conflict(f"The conversation is in '{target.slug}' already.", hint="Nothing was changed.")
    rows = rows_of(thread)
    check_target(thread, target, rows)
    is_curator = actor.decides(target.key)
    doubt = "" if is_decided or is_curator else policy_doubt(actor, target, 1.0)
    if doubt:
        first = next((row for row in rows if row.state == State.LIVE), None)
        proposal = propose(
            actor, _ASSIGN, group=target, memory=first, version=_thread_version(thread), why=doubt,
            subject=f"thread:{thread.id}", reason=reason,
            arguments={"conversation": str(thread.id), "title": thread.label, "turns": len(rows)},
        )  # fmt: skip
        return Moved(thread, former.slug, former.slug, 0, doubt, proposal.id)
    with transaction.atomic():
        hold_groups([former.key, target.key])
        rows = rows_of(thread)
        check_target(thread, target, rows)
        _move_rows(actor, thread, rows, target, reason=reason)
    thread.group = target
    return Moved(thread, former.slug, target.slug, len(rows))


def _find_to_move(actor: Actor, id_: str | UUID) -> Thread:
    """The conversation, if the actor owns it or is a curator of its group."""
    thread = find_conversation(actor, id_, right=WRITE)
    is_own = thread.owner_id is not None and thread.owner_id == actor.user_id
    if not is_own and not actor.may(CURATE, thread.group_id):
        raise NotPermitted(
            "Only the person whose browser sent a conversation, or a curator of its group, may move it.",
            hint="Ask a curator of the group.",
        )
    return thread


def rows_of(thread: Thread) -> list[Memory]:
    """All memories of a conversation, in any state, and its summary."""
    every = Memory.objects.select_related(*RELATED_ROWS)
    rows = list(every.filter(thread=thread).order_by("key"))
    if thread.summary_id is not None:
        rows += every.filter(key=thread.summary_id, group=thread.group_id)
    return rows


def check_target(thread: Thread, target: Group, rows: Sequence[Memory]) -> None:
    """Raise Conflict unless the target accepts the conversation without changing any text."""
    if Thread.objects.filter(group=target, name=thread.name).exists():
        raise Conflict(f"'{target.slug}' has a thread '{thread.name}' already.", field="group")
    if not all(target.may_hold(row.scope) for row in rows):
        raise Conflict(
            f"'{target.slug}' is private, and the conversation has memories that every group sees.",
            field="group",
        )
    live = [row for row in rows if row.state == State.LIVE]
    barred = find_all_withdrawn((target.key, row.scope, row.content) for row in live)
    count = sum(each is not None for each in barred)
    if count:
        raise Conflict(f"{count} of its texts were withdrawn in '{target.slug}'.", field="group")
    kept_out = [row for row in live if not is_taken_as_is(row, target)]
    if kept_out:
        place = kept_out[0].position or 0
        raise Conflict(
            f"The rules of '{target.slug}' for sensitive text do not take {len(kept_out)} of its turns as they are.",
            hint=f"Edit or forget them first; the first is turn {place + 1}.",
            field="group",
        )
    facts = {(row.scope, row.type, row.content_hash) for row in live if row.type != Type.EPISODIC}
    there = Memory.objects.filter(
        group=target, state=State.LIVE, content_hash__in={hash_ for _, _, hash_ in facts}
    )
    if facts & set(there.values_list("scope", "type", "content_hash")):
        raise Conflict(
            f"'{target.slug}' has some of its facts already.", hint="Merge them first.", field="group"
        )
    sources = {(row.source, row.source_ref) for row in rows if row.source_ref}
    named = Memory.objects.filter(group=target, source_ref__in={ref for _, ref in sources})
    if sources & set(named.values_list("source", "source_ref")):
        raise Conflict(f"'{target.slug}' has some of its turns already.", field="group")


def _move_rows(actor: Actor, thread: Thread, rows: Sequence[Memory], target: Group, *, reason: str) -> None:
    """Move the rows in the caller's transaction, with an audit row for each in the target's chain."""
    former = thread.group
    for batch in batches(rows):
        for scope in {row.scope for row in batch}:
            same = [row for row in batch if row.scope == scope]
            values = {"group": target, "filter": filter_tokens(Memory(group=target, scope=scope))}
            change_rows(actor, Operation.MOVE, same, values)
    record_sources(rows, former, target)
    Checkpoint.objects.filter(thread=thread).update(group=target)
    Thread.objects.filter(pk=thread.pk).update(group=target)
    for group in (former, target):
        log_thread(
            actor, thread, group, action="move", moved=[former.slug, target.slug], memories=len(rows),
            **({"reason": reason} if reason else {}),
        )  # fmt: skip


def log_thread(actor: Actor, thread: Thread, group: Group, **payload: object) -> None:
    """Log a change of a conversation in the chain of a group."""
    audit.append(
        actor, Operation.THREAD, group=group.id, subject=f"thread:{thread.id}", payload=dict(payload)
    )


def _run_assignment(actor: Actor, proposal: Proposal, reason: str) -> ChangeResult:
    """Carry out an approved proposal to move a conversation, with the proposer's rights to take it."""
    id_ = UUID(proposal.arguments["conversation"])
    moved = assign(actor, id_, proposal.group.slug, reason=reason, is_decided=True)
    lines = (f"“{moved.thread.label}” is in '{moved.group}' with {moved.memories} memories",)
    return ChangeResult(_ASSIGN, id_, State.LIVE, Trust.ACTIVE, moved.memories, lines)


def _proposed_version(proposal: Proposal) -> str:
    """The conversation's current version; empty if it does not exist."""
    found = Thread.objects.filter(id=proposal.arguments.get("conversation")).first()
    return _thread_version(found) if found is not None else ""


def _thread_version(thread: Thread) -> str:
    """The version of a conversation for proposals, which become stale when it is moved or deleted."""
    return f"{thread.group_id} {as_json(thread.deleted_at)}"


ASSIGN_PROPOSAL: Final = ProposalKind(
    _ASSIGN, "Move a whole conversation into this group", _run_assignment, _proposed_version
)
