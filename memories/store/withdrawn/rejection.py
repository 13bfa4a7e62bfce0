"""What a rejection leaves behind: a tombstone of the text, lifted again when the decision is taken back."""

from access.actor import Actor
from memories.models import Memory, TombstoneKind
from memories.store.withdrawn.tombstones import find_tombstones, lay_tombstone, lift
from memories.types import Trust


def follow_trust(actor: Actor, memory: Memory, *, reason: str) -> None:
    """Lay or lift the tombstone of a memory whose trust a person has just set; inside the transaction.

    A quarantined text that was rejected before stays barred.
    """
    if memory.trust == Trust.REJECTED:
        lay_tombstone(actor, memory, kind=TombstoneKind.REJECTED, reason=reason)
    elif memory.trust != Trust.QUARANTINED:
        lift_rejection(actor, memory)


def lift_rejection(actor: Actor, memory: Memory) -> None:
    """Lift the tombstone that a rejection of the memory's text laid; former texts of its chain stay barred."""
    mark = find_tombstones(memory.group, [memory.content]).get(memory.content)
    if mark is not None and mark.kind == TombstoneKind.REJECTED:
        lift(actor, mark)
