"""Plans that are withdrawn before their day: what they were to replace counts on as before, until they come back."""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.audit_search import payload_changes
from access.errors import Conflict
from access.models import AuditEntry
from memories.draft.registry import values_from_json
from memories.models import Memory
from memories.queries.coming import read_plan
from memories.queries.snapshot import changes, snapshot
from memories.queries.versions import head_of
from memories.queries.visibility import has_begun
from memories.store.policy import protection
from memories.store.search_columns import refresh_around
from memories.store.writes.supersede import bring_plan_forward, move_ends, valid_time_end
from memories.types import WITHDRAWN_TRUSTS, State

END_FIELDS: Final = ("valid_to", "valid_to_known_at")
CALLED_OFF: Final = "called_off"  # in the log: ids of what counts on since the plan was withdrawn


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
            change_row(actor, row, {"valid_to": now}, plan, now)
    for row in revived:
        # Only what is live decays, so it does not pay for the time until now.
        values = {"state": State.LIVE, "superseded_by": None, "decayed_at": now} | former_end(row)
        change_row(actor, row, values, plan, now)
        if not has_begun(row, now) and row.valid_from is not None:  # a plan itself: its day counts again
            move_ends(actor, row, row.valid_from, now, end=plan.valid_from)
    return revived


def put_plan_back(actor: Actor, plan: Memory) -> tuple[Memory, ...]:
    """Put the end back on what a restored plan is to replace; returns those memories.

    Raises:
        Conflict: a person stands behind one of them, and an agent asks.
    """
    now = timezone.now()
    rows = rows_called_off(plan)
    for row in rows:
        if not actor.is_person and (by := protection(row)):
            raise Conflict(
                f"{plan.id} would replace {row.id}, and {by}.",
                hint="Nothing was changed. Ask a curator of the group.",
            )
        values = {"state": State.SUPERSEDED, "superseded_by": plan} | valid_time_end(row, plan, now)
        change_row(actor, row, values, plan, now, by=str(plan.id))
        bring_plan_forward(actor, row, plan, now)
    return rows


def rows_called_off(plan: Memory) -> tuple[Memory, ...]:
    """What counts on because the plan was withdrawn, as far as it is still live."""
    if not is_withdrawn_now(plan):
        return ()
    entries = AuditEntry.objects.filter(origin=audit.OWN, memory_id=plan.id).select_related("payload_row")
    withdrawn = entries.filter(
        operation__in=[Operation.RETRACT, Operation.FORGET, Operation.TRUST, Operation.RUN]
    )
    for entry in withdrawn.order_by("-key"):
        ids = entry.payload.get(CALLED_OFF)
        if ids is not None:
            rows = Memory.objects.select_related("group", "thread").filter(id__in=[UUID(id_) for id_ in ids])
            return tuple(rows.filter(state=State.LIVE).order_by("key"))
    return ()


def standing_instead(memory: Memory) -> Memory | None:
    """The live memory that counts because this plan was withdrawn; None if there is none."""
    found = next(iter(rows_called_off(memory)), None)
    return head_of(found) if found is not None else None


def was_called_off_after(memory: Memory, moment: datetime) -> bool:
    """True if a plan to replace the memory was withdrawn after this moment."""
    entries = AuditEntry.objects.filter(
        origin=audit.OWN, memory_id=memory.id, operation=Operation.SUPERSEDE, at__gte=moment
    )
    return any("plan" in entry.payload for entry in entries.select_related("payload_row"))


def follow_withdrawal(actor: Actor, memory: Memory) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Call a plan off that has just been withdrawn: the consequences, and what the log keeps of it."""
    revived = call_off_plan(actor, memory) if is_withdrawn_now(memory) else ()
    lines = tuple(f"{row.id}, which it was to replace, counts on as before" for row in revived)
    return lines, {CALLED_OFF: [str(row.id) for row in revived]} if revived else {}


def is_withdrawn_now(memory: Memory) -> bool:
    """True if the memory is withdrawn, and nothing took its place."""
    return is_withdrawn(memory.state, memory.trust) and memory.superseded_by_id is None


def former_end(row: Memory) -> dict[str, Any]:
    """The end of a memory's valid time before a plan was to replace it; none if the log does not tell."""
    entries = AuditEntry.objects.filter(origin=audit.OWN, memory_id=row.id, operation=Operation.SUPERSEDE)
    for entry in entries.select_related("payload_row").order_by("-key"):
        payload = entry.payload
        if "by" not in payload:
            continue
        changed = payload_changes(payload)
        return values_from_json({name: changed[name][0] for name in END_FIELDS if name in changed})
    return dict.fromkeys(END_FIELDS)


def change_row(
    actor: Actor, row: Memory, values: dict[str, Any], plan: Memory, now: datetime, **details: Any
) -> None:
    """Set these fields of what a plan replaces, and log it."""
    before = snapshot(row)
    Memory.objects.filter(pk=row.pk).update(**values, state_changed_at=now, updated_at=now)
    row.refresh_from_db()
    refresh_around([row])
    payload = {"changes": changes(before, snapshot(row)), "plan": str(plan.id)} | details
    audit.append(actor, Operation.SUPERSEDE, memory_id=row.id, group=row.group.id, payload=payload)
