"""The stored columns that serve search: what stands around a memory, and tokens that narrow a search."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet, Value

from memories.draft import Draft
from memories.language.cleaning import first_words
from memories.language.word_forms import forms_of
from memories.models import Memory
from memories.types import State, Trust
from storage.compiled_queries import CompiledQuery, CompiledUpdate


@dataclass(frozen=True, slots=True)
class TextColumns:
    """What is stored beside a text, to find it again."""

    content_hash: str
    fold_hash: str
    forms: str


def text_columns(draft: Draft) -> TextColumns:
    """Give the columns of a checked draft's text."""
    return TextColumns(draft.hash, draft.fold_hash, forms_of(draft.content))


NEIGHBOUR_WORDS = 30  # longer ones drown the memory's own words, since BM25 counts the whole row


def _thread_line(thread: int, group: int, scope: str) -> QuerySet[Memory]:
    """Give what stands in a thread and counts as a neighbour."""
    rows = Memory.objects.filter(thread=thread, group=group, scope=scope, state=State.LIVE)
    return rows.exclude(trust=Trust.QUARANTINED)


# Value: a place lies within smaller bounds than what stands in for it while the query is compiled.
_BEFORE = CompiledQuery(
    lambda thread, group, scope, place: (
        _thread_line(thread, group, scope).filter(position__lt=Value(place)).order_by("-position")[:1]
    ),
    4,
)
_AFTER = CompiledQuery(
    lambda thread, group, scope, place: (
        _thread_line(thread, group, scope).filter(position__gt=Value(place)).order_by("position")[:1]
    ),
    4,
)
_SET_CONTEXT = CompiledUpdate(lambda context, key: (Memory.objects.filter(pk=key), {"context": context}), 2)


def filter_tokens(memory: Memory) -> str:
    """Give the tokens for the keyword index's filter column: the group, and `isglobal` for a global memory."""
    room = f"ingroup{memory.group_id}"
    return f"{room} isglobal" if memory.scope == "global" else room


def context_of(memory: Memory, neighbours: Iterable[Memory]) -> str:
    """Give the context column: tags, then the first words of each neighbour in the thread."""
    parts = [" ".join(memory.tags), *(first_words(near.content, NEIGHBOUR_WORDS) for near in neighbours)]
    return "\n".join(part for part in parts if part)


def thread_neighbours(memory: Memory) -> list[Memory]:
    """Give the live memories just before and after in the thread, in the same group and scope."""
    return [near for near in (_next_to(_BEFORE, memory), _next_to(_AFTER, memory)) if near is not None]


def _next_to(side: CompiledQuery[Memory], memory: Memory) -> Memory | None:
    if memory.thread_id is None or memory.position is None:
        return None
    return side.first(memory.thread_id, memory.group_id, memory.scope, memory.position)


def refresh_contexts_beside(memory: Memory, beside: Iterable[Memory]) -> None:
    """Write the context columns of those that stand beside a memory which was just inserted, live."""
    for near in beside:
        if (near.position or 0) < (memory.position or 0):
            around = [_next_to(_BEFORE, near), memory]
        else:
            around = [memory, _next_to(_AFTER, near)]
        _write_context(near, context_of(near, filter(None, around)))


def refresh_context(memory: Memory) -> bool:
    """Write the context column where it is not what it should be; say whether it was written."""
    return _write_context(memory, context_of(memory, thread_neighbours(memory)))


def _write_context(memory: Memory, fresh: str) -> bool:
    if fresh == memory.context:
        return False
    memory.context = fresh
    return _SET_CONTEXT.run(fresh, memory.key) == 1


def refresh_around(memories: Sequence[Memory]) -> int:
    """Refresh memories and the live ones beside them in their threads; give how many were written. Inside a transaction."""
    touched = {memory.key: memory for memory in memories}
    for memory in memories:
        for near in thread_neighbours(memory):
            touched.setdefault(near.key, near)
    return sum(refresh_context(memory) for memory in touched.values())
