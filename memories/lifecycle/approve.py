"""What approving a candidate brings with it: it takes the place of what it was written to replace, in its chain."""

from typing import Final

from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from memories.lifecycle.move_references import move_ties
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.models.link import ON_APPROVAL
from memories.queries.snapshot import changes, snapshot
from memories.queries.versions import head_of, versions_of
from memories.store import point_to_successor, replace_memory
from memories.store.search_columns import refresh_around
from memories.types import State

# What a correction takes over from the version before beside what a draft holds; it does not date anew.
CARRIED: Final = (
    "thread_id", "position", "valid_to", "valid_to_known_at", "pinned", "access_count", "last_accessed", "decayed_at",
)  # fmt: skip


def carry_out_approval(actor: Actor, memory: Memory) -> int:
    """Supersede what the memory was to replace, where that still counts; give how many. Inside the transaction.

    The memory becomes the next version of what it replaces: relations, links and names go to that chain's root. A
    correction that was queued as an edit says that the old text was never right, so that one's record time ends.
    """
    done = 0
    waiting = Link.objects.filter(source=memory.root_key, kind=LinkKind.CONFLICT, status=LinkStatus.OPEN)
    for tie in waiting.select_related("target__group", "target__thread"):
        operation = tie.evidence.get(ON_APPROVAL)
        if not operation:
            continue
        old = head_of(tie.target)
        Link.objects.filter(pk=tie.pk).update(
            status=LinkStatus.SETTLED, settled_at=timezone.now(), settled_by=actor.name
        )
        if old.state == State.LIVE and old.key != memory.key:
            _replace(actor, old, memory, operation=Operation(operation), is_first=done == 0)
            done += 1
        elif old.state == State.RETRACTED and old.key != memory.key:
            _succeed(actor, old, memory, is_first=done == 0)
            done += 1
    return done


def _succeed(actor: Actor, old: Memory, memory: Memory, *, is_first: bool) -> None:
    """Let the approved memory be the successor of what was retracted while it waited."""
    if is_first:
        join_chain(actor, old, memory)
    point_to_successor(actor, old, memory)
    memory.refresh_from_db()


def _replace(actor: Actor, old: Memory, memory: Memory, *, operation: Operation, is_first: bool) -> None:
    """Let the approved memory stand where `old` stood; a chain is joined once, to the first that is replaced."""
    values = {}
    if operation == Operation.EDIT:
        values = {name: getattr(old, name) for name in CARRIED}
    elif old.thread_id is not None and old.thread_id == memory.thread_id:
        values = {"position": old.position}
    if is_first:
        join_chain(actor, old, memory)
    Memory.objects.filter(pk=memory.pk).update(**values)
    memory.refresh_from_db()
    replace_memory(actor, old, memory, operation=operation)
    refresh_around([memory])


def join_chain(actor: Actor, old: Memory, memory: Memory) -> None:
    """Make a memory's rows the next versions of the old chain, with all that hangs on their root."""
    chain, root = versions_of(memory), memory.root_key
    if root == old.root_key:
        return
    for number, row in enumerate(chain, start=1):
        before = snapshot(row)
        Memory.objects.filter(pk=row.pk).update(root=old.root_key, version=old.version + number)
        row.refresh_from_db()
        what = {"changes": changes(before, snapshot(row))}
        audit.append(actor, Operation.SUPERSEDE, memory_id=row.id, group=row.group.id, payload=what)
    move_ties(root, old.root_key)
