"""Supersede a memory: another takes its place, and it stays as history.

If the other is dated ahead and is withdrawn before its day, the current fact stays valid until the plan comes back.
"""

from copy import copy
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.audit_search import payload_changes
from access.errors import Conflict
from memories.draft.registry import values_from_json
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.models.link import ON_APPROVAL
from memories.queries.by_text import find_twin
from memories.queries.conflicts import read_plan, read_replaced
from memories.queries.versions import head_of
from memories.queries.visibility import has_begun, is_outlasting
from memories.store.change import change_row
from memories.store.derived import withdraw_summaries
from memories.store.for_review import settle_doubts
from memories.store.policy import log_of, protection
from memories.types import WITHDRAWN_TRUSTS, State, Trust, Type

_END_FIELDS: Final = ("valid_to", "valid_to_known_at")
_CALLED_OFF: Final = "called_off"  # in the log: ids of what counts on since the plan was withdrawn


def replace_memory(
    actor: Actor, old: Memory, new: Memory, *, operation: Operation = Operation.SUPERSEDE
) -> None:
    """Retire `old` in favour of `new`, and withdraw summaries that repeat the old text.

    A superseded memory was true: its valid time ends. An edit corrects: the record time ends and the valid time stays.
    Doubt about the old text is settled. Runs inside the caller's transaction.

    Raises:
        Conflict: `old` was changed meanwhile.
    """
    now = timezone.now()
    end = {"retired_at": now} if operation == Operation.EDIT else valid_time_end(old, new, now)
    values = {"state": State.SUPERSEDED, "superseded_by": new} | end
    change_row(actor, Operation.SUPERSEDE, old, values, seen={"state": State.LIVE}, by=str(new.id))
    settle_doubts(actor, old, operation)
    if operation == Operation.EDIT and new.valid_from != old.valid_from:
        move_ends(actor, old, new.valid_from or now, now)
    else:
        bring_plan_forward(actor, old, new, now)
    withdraw_summaries(actor, old)


def valid_time_end(old: Memory, new: Memory, now: datetime) -> dict[str, datetime]:
    """The end of a superseded memory's valid time; events have none, and an earlier end stays."""
    end = max(filter(None, [new.valid_from or now, old.valid_from]))
    if old.type == Type.EPISODIC or (old.valid_to is not None and old.valid_to <= end):
        return {}
    return {"valid_to": end, "valid_to_known_at": now}


def bring_plan_forward(actor: Actor, plan: Memory, new: Memory, now: datetime) -> None:
    """If `new` begins before the plan whose place it takes would have, end what the plan was to replace then already."""
    start = new.valid_from or now
    if plan.valid_from is not None and now < plan.valid_from and start < plan.valid_from:
        move_ends(actor, plan, start, now)


def move_ends(
    actor: Actor, plan: Memory, start: datetime, now: datetime, *, was: datetime | None = None
) -> None:
    """End what a plan is to replace when it begins, at `start`, and log it; in the caller's transaction.

    `plan` is any version of it with its former day. If one of its days (`was`) has come and `start` is ahead, what ended then
    counts again. An end that a memory had before, and that is earlier, stays.
    """
    rows, replaced = read_replaced(plan)
    was = min(was or plan.moment, *(row.moment for row in rows))
    for row in replaced:
        has_ended = row.valid_to is not None and row.valid_to >= was
        if not is_outlasting(row, now) and not (has_ended and start > now):
            continue
        then = copy(row)
        for name, value in (former := _former_end(row)).items():
            setattr(then, name, value)
        end = former | valid_time_end(then, Memory(valid_from=start), now)
        if end.get("valid_to", row.valid_to) != row.valid_to:
            change_row(actor, Operation.SUPERSEDE, row, end)
        if row.valid_from is not None and not has_begun(row, now):  # a plan itself: another one follows it
            move_ends(actor, row, min(start, row.valid_from), now, was=min(was, row.valid_from))


def retire_lapsed(actor: Actor, lapsed: Memory) -> None:
    """Retire a live row whose time is over, so that its text can be stored again.

    It is expired if `expires_at` has passed, else superseded.
    """
    has_expired = lapsed.expires_at is not None and lapsed.expires_at <= timezone.now()
    values = {"state": State.EXPIRED if has_expired else State.SUPERSEDED}
    change_row(actor, Operation.SUPERSEDE, lapsed, values)


def release_source(actor: Actor, row: Memory) -> None:
    """Take the source_ref from a row, and log it."""
    change_row(actor, Operation.SUPERSEDE, row, {"source_ref": ""})


def point_to_successor(actor: Actor, old: Memory, new: Memory) -> None:
    """Point a retired row at its successor, and log it, unless it has a successor already."""
    if Memory.objects.filter(pk=old.pk, superseded_by=None).update(superseded_by=new) == 1:
        payload = {"changes": {"superseded_by": [None, str(new.id)]}, "by": str(new.id)}
        audit.append(actor, Operation.SUPERSEDE, memory_id=old.id, group=old.group.id, payload=payload)


def settle_on_approval(actor: Actor, memory: Memory, now: datetime, *, is_done: bool = False) -> list[Link]:
    """Settle the open conflicts that the approval of a memory decides, and return them with their targets loaded.

    A conflict with a memory of another group stays open: it is not replaced. `is_done`: only those with what is no longer live, such as what the memory has just superseded.
    """
    waiting = Link.objects.filter(source=memory.root_key, kind=LinkKind.CONFLICT, status=LinkStatus.OPEN)
    links = [
        link
        for link in waiting.select_related("target__group", "target__thread")
        if ON_APPROVAL in link.evidence
        and (head := head_of(link.target)).group_id == memory.group_id
        and not (is_done and head.state == State.LIVE and head.key != memory.key)
    ]
    settled = Link.objects.filter(pk__in=[link.pk for link in links])
    settled.update(status=LinkStatus.SETTLED, settled_at=now, settled_by=actor.name)
    return links


def activate_candidate(actor: Actor, candidate: Memory) -> None:
    """Make a candidate active. Conflicts with live memories that it was written to replace stay open: it was not approved."""
    seen = {"state": State.LIVE, "trust": Trust.CANDIDATE}
    because = "it was stored again"
    change_row(actor, Operation.TRUST, candidate, {"trust": Trust.ACTIVE}, seen=seen, reason=because)
    settle_on_approval(actor, candidate, timezone.now(), is_done=True)


def is_withdrawn(state: str, trust: str) -> bool:
    """True of a memory that was taken back: it will not count on its day."""
    if state == State.LIVE:
        return trust in WITHDRAWN_TRUSTS
    return state in (State.RETRACTED, State.FORGOTTEN, State.EXPIRED)


def call_off_plan(actor: Actor, plan: Memory, *, besides: frozenset[int] = frozenset()) -> tuple[Memory, ...]:
    """Take the end off what a plan was to replace, and log it; returns those memories, without the keys `besides`.

    The plan is withdrawn before its day, in the caller's transaction: what it was to replace counts as before.
    """
    now = timezone.now()
    replaces = [row for row in read_plan(plan, now).replaces if row.key not in besides]
    # A retraction bars the text: what has it as well does not come back.
    revived = tuple(
        row for row in replaces if plan.state != State.RETRACTED or row.fold_hash != plan.fold_hash
    )
    for row in replaces:
        if row not in revived:
            change_row(actor, Operation.SUPERSEDE, row, {"valid_to": now}, plan=str(plan.id))
    for row in revived:
        # Only what is live decays, so it does not pay for the time until now.
        values = {"state": State.LIVE, "superseded_by": None, "decayed_at": now} | _former_end(row)
        values |= _merge_twin(actor, row, now)
        change_row(actor, Operation.SUPERSEDE, row, values, plan=str(plan.id))
        if not has_begun(row, now) and row.valid_from is not None:  # a plan itself: its day counts again
            move_ends(actor, row, row.valid_from, now)
    return revived


def _merge_twin(actor: Actor, row: Memory, now: datetime) -> dict[str, Any]:
    """Merge a live memory with this text into the former version that comes back; what a person decided about it passes on."""
    if (twin := find_twin(row)) is None:
        return {}
    values = {"state": State.MERGED, "superseded_by": row, "retired_at": now}
    change_row(actor, Operation.MERGE, twin, values, into=str(row.id))
    is_decided = twin.trust == Trust.VERIFIED and row.trust == Trust.ACTIVE and row.outside <= twin.outside
    return {"trust": Trust.VERIFIED} if is_decided else {}


def put_plan_back(actor: Actor, plan: Memory) -> None:
    """Put the end back on what a restored plan is to replace.

    Raises:
        Conflict: a person stands behind one of them, and an agent asks.
    """
    now = timezone.now()
    for row in rows_called_off(plan):
        if not actor.is_person and (by := protection(row)):
            raise Conflict(
                f"{plan.id} would replace {row.id}, and {by}.",
                hint="Nothing was changed. Ask a curator of the group.",
            )
        values = {"state": State.SUPERSEDED, "superseded_by": plan} | valid_time_end(row, plan, now)
        change_row(actor, Operation.SUPERSEDE, row, values, plan=str(plan.id), by=str(plan.id))
        bring_plan_forward(actor, row, plan, now)


def rows_called_off(plan: Memory) -> tuple[Memory, ...]:
    """What counts on because the plan was withdrawn, as far as it is still live."""
    if not is_withdrawn_now(plan):
        return ()
    for entry in log_of(plan, Operation.RETRACT, Operation.FORGET, Operation.TRUST, Operation.RUN):
        ids = entry.payload.get(_CALLED_OFF)
        if ids is not None:
            rows = Memory.objects.select_related("group", "thread").filter(id__in=[UUID(id_) for id_ in ids])
            return tuple(rows.filter(state=State.LIVE, group=plan.group_id).order_by("key"))
    return ()


def standing_instead(memory: Memory) -> Memory | None:
    """The live memory that counts because this plan was withdrawn; None if there is none."""
    found = next(iter(rows_called_off(memory)), None)
    return head_of(found) if found is not None else None


def was_called_off_after(memory: Memory, moment: datetime) -> bool:
    """True if a plan to replace the memory was withdrawn after this moment."""
    return any(
        "plan" in entry.payload for entry in log_of(memory, Operation.SUPERSEDE).filter(at__gte=moment)
    )


def follow_withdrawal(actor: Actor, memory: Memory) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Call a plan off that has just been withdrawn: the consequences, and what the log keeps of it."""
    revived = call_off_plan(actor, memory) if is_withdrawn_now(memory) else ()
    lines = tuple(f"{row.id} stays valid: what was to replace it is withdrawn" for row in revived)
    return lines, {_CALLED_OFF: [str(row.id) for row in revived]} if revived else {}


def is_withdrawn_now(memory: Memory) -> bool:
    """True if the memory is withdrawn, and nothing took its place."""
    return is_withdrawn(memory.state, memory.trust) and memory.superseded_by_id is None


def _former_end(row: Memory) -> dict[str, Any]:
    """The end of a memory's valid time before a plan was to replace it; none if the log does not tell."""
    former = dict[str, Any]()
    for entry in log_of(row, Operation.SUPERSEDE):
        changed = payload_changes(entry.payload)
        former |= {name: changed[name][0] for name in _END_FIELDS if name in changed}
        if "by" in entry.payload:
            return values_from_json(former)
    return dict.fromkeys(_END_FIELDS)
