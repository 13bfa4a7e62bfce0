"""Moves a conversation to another group, with its turns, checkpoints and summary."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Model

from access import audit
from access.actor import CURATE, WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict, NotPermitted
from access.groups import find_group, hold_groups
from access.limits.quota import GroupRoom
from access.models import Group
from memories.draft import clean_reason
from memories.lifecycle.entering import CONTENT, find_barred
from memories.lifecycle.propose import ProposalKind, propose
from memories.lifecycle.regroup.move import record_sources
from memories.lifecycle.regroup.plan import MOVABLE_TRUST, MovingFamily, is_taken_as_is, rows_going_along
from memories.lifecycle.target import ChangeResult, require_person
from memories.models import Checkpoint, Memory, Proposal, Thread
from memories.queries.snapshot import RELATED_ROWS, as_json
from memories.sessions.conversations import find_conversation
from memories.store.change import change_rows
from memories.store.derived import withdraw_left_behind
from memories.store.policy import policy_doubt
from memories.store.threads import filter_tokens
from memories.store.withdrawn.marks import read_marks, refuse_withdrawn_reason
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
        NotPermitted: the actor is an agent, may not take it away, or may not write there.
        Conflict: it is there already, the target has its thread or texts, does not take one of them, or is full.
    """
    target = find_group(actor, group, right=WRITE)
    threads = Thread.objects.select_related("group")
    thread = threads.get(id=id_) if is_decided else _find_to_move(actor, id_)
    former = thread.group
    if former.key == target.key:
        raise Conflict(f"The conversation is in '{target.slug}' already.", hint="Nothing was changed.")
    reason = check_reason(actor, reason, former, target)
    rows = rows_of(thread)
    check_target(thread, target, rows)
    live = [row for row in rows if row.state == State.LIVE]
    doubt = (
        "" if is_decided or actor.decides(target.key) else policy_doubt(actor, target, 1.0) or _trusted(live)
    )
    if doubt:
        first = next(iter(live), None)
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


def may_move(actor: Actor, thread: Thread) -> bool:
    """Whether the actor may take a conversation away: the person whose browser sent it, or a curator of its group.

    What the group's curators judge does not leave them: a turn in quarantine, for one.
    """
    if not actor.is_person or not actor.may(WRITE, thread.group_id):
        return False
    if actor.may(CURATE, thread.group_id):
        return True
    judged = Memory.objects.filter(thread=thread, state=State.LIVE).exclude(trust__in=MOVABLE_TRUST)
    return thread.owner_id is not None and thread.owner_id == actor.user_id and not judged.exists()


def _find_to_move(actor: Actor, id_: str | UUID) -> Thread:
    """The conversation, if the actor may move it."""
    thread = find_conversation(actor, id_, right=WRITE)
    require_person(actor, "move")
    if not may_move(actor, thread):
        raise NotPermitted(
            "Only the person whose browser sent a conversation, or a curator of its group, may move it, and only a curator"
            " if a turn is quarantined or rejected.",
            hint="Ask a curator of the group.",
        )
    return thread


def _trusted(rows: Sequence[Memory]) -> str:
    """Why the target's curators decide about these turns: the trust that another group's gave them is not theirs."""
    if any(row.pinned or row.trust == Trust.VERIFIED for row in rows):
        return "a person verified or pinned some of it, so a curator of the other group decides"
    return ""


def check_reason(actor: Actor, reason: str, *groups: Group) -> str:
    """The reason of a change in its shape; Conflict if it is a text that was withdrawn in one of the groups."""
    reason = clean_reason(reason)
    for group in groups:
        refuse_withdrawn_reason(actor, group, reason)
    return reason


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
    if read_marks(target.key).exact:
        along = rows_going_along([MovingFamily(rows[0], [*rows])] if rows else [])
        saved = Checkpoint.objects.filter(thread=thread)
        _refuse_withdrawn(target, [thread, *rows, *saved, *(row for _, row in along)])
    kept_out = [row for row in live if not is_taken_as_is(row, target)]
    if kept_out:
        raise Conflict(
            f"The rules of '{target.slug}' for sensitive text do not take {len(kept_out)} of its turns as they are.",
            hint=f"Edit or forget them first; the first is turn {(kept_out[0].position or 0) + 1}.",
            field="group",
        )
    facts = {(row.scope, row.type, row.content_hash) for row in live if row.type != Type.EPISODIC}
    there = Memory.objects.filter(group=target)
    same = there.filter(state=State.LIVE, content_hash__in={hash_ for _, _, hash_ in facts})
    if facts & set(same.values_list("scope", "type", "content_hash")):
        line = f"'{target.slug}' has some of its facts already."
        raise Conflict(line, hint="Merge them first.", field="group")
    sources = {(row.source, row.source_ref) for row in rows if row.source_ref}
    named = there.filter(source_ref__in={ref for _, ref in sources})
    if sources & set(named.values_list("source", "source_ref")):
        raise Conflict(f"'{target.slug}' has some of its turns already.", field="group")


def _refuse_withdrawn(target: Group, rows: Sequence[Model]) -> None:
    """Raise Conflict if a row of the conversation says what was withdrawn in the target."""
    barred = [path for path, _ in filter(None, find_barred(target, rows))]
    if count := barred.count(CONTENT):
        raise Conflict(f"{count} of its texts were withdrawn in '{target.slug}'.", field="group")
    if barred:
        raise Conflict(
            f"Its '{barred[0]}' repeats a text that was withdrawn in '{target.slug}'.",
            hint="Change it first, or ask a curator of that group to lift the tombstone.",
            field="group",
        )


def _move_rows(actor: Actor, thread: Thread, rows: Sequence[Memory], target: Group, *, reason: str) -> None:
    """Move the rows in the caller's transaction, with an audit row for each in the target's chain."""
    former = thread.group
    GroupRoom().take(target, [row.content for row in rows if row.state == State.LIVE])
    for batch in batches(rows):
        for scope in {row.scope for row in batch}:
            same = [row for row in batch if row.scope == scope]
            values = {"group": target, "filter": filter_tokens(Memory(group=target, scope=scope))}
            change_rows(actor, Operation.MOVE, same, values)
    withdraw_left_behind(actor, rows, target)
    record_sources(rows, former, target)
    Checkpoint.objects.filter(thread=thread).update(group=target)
    Thread.objects.filter(pk=thread.pk).update(group=target)
    for group in (former, target):
        log_thread(
            actor, thread, group, action="move", moved=[former.slug, target.slug], memories=len(rows),
            reason=reason,
        )  # fmt: skip


def log_thread(actor: Actor, thread: Thread, group: Group, *, reason: str = "", **payload: object) -> None:
    """Log a change of a conversation in the chain of a group."""
    why = {"reason": reason} if reason else {}
    audit.append(
        actor, Operation.THREAD, group=group.id, subject=f"thread:{thread.id}", payload=payload | why
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
