"""How the log and the answer say what a reversal put back."""

from typing import Any

from django.db.models import Model
from django.utils.translation import gettext, pgettext

from access.audit import AuditEvent, Operation
from access.models import Group
from memories.lifecycle.undo.rows import FormerRow
from memories.models import Checkpoint, Doubt, Link, LinkStatus, Memory, Proposal, Tombstone
from memories.types import State
from relations.models import Relation


def operation_of(row: FormerRow) -> Operation:
    """The operation by which the log tells that a row's values came back."""
    before, _ = row.values.get("state", (None, None))
    if before is not None and before != State.LIVE:
        return Operation.SUPERSEDE if before == State.SUPERSEDED else Operation.FORGET
    if before is not None:
        return Operation.RESTORE
    if "group_id" in row.values:
        return Operation.MOVE
    if "scope" in row.values:
        return Operation.NARROW
    if "trust" in row.values:
        return Operation.TRUST
    if "pinned" in row.values:
        return Operation.PIN if row.values["pinned"][0] else Operation.UNPIN
    return Operation.EDIT


def describe(memory: Memory, row: FormerRow) -> str:
    """What came back, in a sentence."""
    match operation_of(row):
        case Operation.RESTORE:
            return gettext("{id} is current again").format(id=memory.id)
        case Operation.MOVE:
            return gettext("it is in '{group}' again").format(group=memory.group.slug)
        case Operation.TRUST:
            return gettext("its trust is “{before}” again").format(before=pgettext("word", memory.trust))
        case Operation.PIN:
            return gettext("it is pinned again")
        case Operation.UNPIN:
            return gettext("the pin is gone")
        case Operation.SUPERSEDE if not row.last:  # a former version takes its place
            return gettext("{id} is superseded").format(id=memory.id)
        case Operation.FORGET | Operation.SUPERSEDE:
            return gettext("{id} is {state} again").format(id=memory.id, state=pgettext("word", memory.state))
        case _:
            return gettext("its fields are as before")


def told(found: Model, *, is_made: bool, reason: str) -> tuple[AuditEvent | None, str]:
    """The log row, and the sentence, of taking back a row that is not a memory; `is_made`: the change had made it."""
    because: dict[str, Any] = {"reason": reason, "undone": True}
    match found:
        case Relation():
            line = gettext("the relation is gone") if is_made else gettext("the relation is as before")
            payload = because | {"outcome": "undone"}
            return AuditEvent(Operation.RELATE, None, found.group.id, f"relation:{found.id}", payload), line
        case Checkpoint():
            others = Checkpoint.objects.filter(group=found.group, thread=found.thread, held="")
            if others.filter(key__gt=found.key).exists():
                line = gettext("the checkpoint is gone; the newest one stays the newest")
            elif others.filter(key__lt=found.key).exists():
                line = gettext("the checkpoint is gone; the one before it is the newest again")
            else:
                line = gettext("the checkpoint is gone; it was the only one")
            payload, subject = because | {"action": "undone"}, f"checkpoint:{found.id}"
            return AuditEvent(Operation.CHECKPOINT, None, found.group.id, subject, payload), line
        case Proposal():
            action = "withdrawn" if is_made else "reopened"
            line = gettext("the proposal is withdrawn") if is_made else gettext("the proposal waits again")
            about = found.memory.id if found.memory is not None else None
            payload = because | {"proposal": str(found.id), "verb": found.verb, "action": action}
            return AuditEvent(Operation.PROPOSE, about, found.group.id, found.subject, payload), line
        case Tombstone():
            payload = because | {"kind": found.kind, "action": "lifted" if is_made else "as before"}
            subject = f"tombstone:{found.id}"
            return AuditEvent(Operation.LIFT, found.memory_id, found.group.id, subject, payload), ""
        case Doubt():
            line = gettext("the dispute is taken back") if is_made else gettext("it is disputed again")
            return AuditEvent(Operation.DISPUTE, found.memory.id, found.memory.group.id, "", because), line
        case Link() if not is_made:
            found.refresh_from_db()
            payload = because | {"action": found.status, "kind": found.kind, "link": str(found.id)}
            line = gettext("the link is open again") if found.status == LinkStatus.OPEN else ""
            return AuditEvent(Operation.LINK, found.source.id, found.source.group.id, "", payload), line
        case Group():
            payload, line = (
                because | {"action": "instructions"},
                gettext("the group's instructions are as before"),
            )
            return AuditEvent(Operation.GROUP, None, found.id, f"group:{found.slug}", payload), line
    return None, ""
