"""The stored columns that serve search: what stands around a memory, and tokens that narrow a search."""

from collections.abc import Iterable, Sequence

from memories.models import Memory
from memories.text import first_words
from memories.types import State

NEIGHBOUR_WORDS = 30  # longer ones drown the memory's own words, since BM25 counts the whole row


def filter_tokens(memory: Memory) -> str:
    """Give the tokens for the keyword index's filter column: the group, and `isglobal` for a global memory."""
    room = f"ingroup{memory.group_id}"
    return f"{room} isglobal" if memory.scope == "global" else room


def context_of(memory: Memory, neighbours: Iterable[Memory]) -> str:
    """Give the context column: tags, then the first words of each neighbour in the thread."""
    parts = [" ".join(memory.tags), *(first_words(near.content, NEIGHBOUR_WORDS) for near in neighbours)]
    return "\n".join(part for part in parts if part)


def neighbours_of(memory: Memory) -> list[Memory]:
    """Give the live memories just before and after in the thread, in the same group and scope."""
    if memory.thread_id is None or memory.position is None:
        return []
    beside = Memory.objects.filter(
        thread=memory.thread_id, group=memory.group_id, scope=memory.scope, state=State.LIVE
    ).exclude(trust="quarantined")
    before = beside.filter(position__lt=memory.position).order_by("-position").first()
    after = beside.filter(position__gt=memory.position).order_by("position").first()
    return [near for near in (before, after) if near is not None]


def refresh_context(memory: Memory) -> bool:
    """Write the context column where it is not what it should be; say whether it was written."""
    fresh = context_of(memory, neighbours_of(memory))
    if fresh == memory.context:
        return False
    memory.context = fresh
    return Memory.objects.filter(pk=memory.pk).update(context=fresh) == 1


def refresh_around(memories: Sequence[Memory]) -> int:
    """Refresh memories and those beside them in their threads; give how many were written. Inside a transaction."""
    touched = {memory.key: memory for memory in memories}
    for memory in memories:
        for near in neighbours_of(memory):
            touched.setdefault(near.key, near)
    return sum(refresh_context(memory) for memory in touched.values())
