"""A quarantine holds for the fact: the former versions are hidden with the current one, and come back with it.

What an edit appended to a harmful text does not make the text before it harmless.
"""

from typing import Final

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.models import AuditEntry
from memories.models import Memory
from memories.queries.versions import versions_of
from memories.store.rows import change_row
from memories.types import WITHDRAWN_TRUSTS, State, Trust

HIDDEN_WITH: Final = "hidden_with"  # in the log: the id of the version whose quarantine hid this one


def former_versions(memory: Memory) -> list[Memory]:
    """The versions of a memory that are not live, in its group."""
    rows = versions_of(memory)
    return [row for row in rows if row.state != State.LIVE and row.group_id == memory.group_id]


def follow_quarantine(actor: Actor, memory: Memory) -> int:
    """Hide the former versions of what has just been quarantined, or bring back those that were hidden with it.

    In the caller's transaction; returns how many changed.
    """
    is_hiding = memory.trust == Trust.QUARANTINED
    if memory.state != State.LIVE or (memory.trust in WITHDRAWN_TRUSTS and not is_hiding):
        return 0  # a scan quarantines former versions by themselves
    others = [row for row in former_versions(memory) if (row.trust == Trust.QUARANTINED) is not is_hiding]
    wanted = [(row, memory.trust if is_hiding else _trust_before(row, memory)) for row in others]
    changed = [(row, trust) for row, trust in wanted if trust]
    for row, trust in changed:
        change_row(actor, Operation.TRUST, row, {"trust": trust}, **{HIDDEN_WITH: str(memory.id)})
    return len(changed)


def _trust_before(row: Memory, memory: Memory) -> str:
    """The trust that a version had before it was hidden with this one; empty if it was quarantined by itself."""
    entries = AuditEntry.objects.filter(origin=audit.OWN, memory_id=row.id, operation=Operation.TRUST)
    last = entries.select_related("payload_row").order_by("-key").first()
    if last is None or last.payload.get(HIDDEN_WITH) != str(memory.id):
        return ""
    before, after = last.payload["changes"]["trust"]
    return str(before) if after == Trust.QUARANTINED else ""
