"""Replacing: one memory takes the place of another, and a summary that still tells the old event goes with it."""

from uuid import UUID

from access.actor import Actor
from access.audit.operations import Operation
from memories.models import Memory
from memories.store import write as writing
from memories.store.derived import withdraw_replaced


def replace_memory(
    actor: Actor, old: Memory, new: Memory, *, operation: Operation = Operation.SUPERSEDE
) -> UUID:
    """Let `new` take the place of `old`, as writing.supersede() does; inside the caller's transaction.

    Raises:
        Conflict: somebody else changed `old` meanwhile.
    """
    done = writing.supersede(actor, old, new, operation=operation)
    withdraw_replaced(actor, old)
    return done
