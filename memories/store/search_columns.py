"""The stored columns that serve search: the context of a memory in its thread, and tokens that filter a search."""

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
    """The columns stored beside a text to find it by."""

    content_hash: str
    fold_hash: str
    forms: str


def text_columns(draft: Draft) -> TextColumns:
    """The columns of a checked draft's text."""
    return TextColumns(draft.hash, draft.fold_hash, forms_of(draft.content))


NEIGHBOUR_WORDS = 30  # more would drown the memory's own words, since BM25 counts the whole row


def _thread_line(thread: int, group: int, scope: str) -> QuerySet[Memory]:
    """The memories of a thread that count as neighbours."""
    rows = Memory.objects.filter(thread=thread, group=group, scope=scope, state=State.LIVE)
    return rows.exclude(trust=Trust.QUARANTINED)


# Value(): the placeholder of the compiled query is outside the range of a position.
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
    """The tokens of the keyword index's filter column: the group, and `isglobal` for a global memory."""
    group = f"ingroup{memory.group_id}"
    return f"{group} isglobal" if memory.scope == "global" else group


def context_of(memory: Memory, neighbours: Iterable[Memory]) -> str:
    """The context column: tags, then the first words of each neighbour in the thread."""
    parts = [
        " ".join(memory.tags),
        *(first_words(neighbour.content, NEIGHBOUR_WORDS) for neighbour in neighbours),
    ]
    return "\n".join(part for part in parts if part)


def thread_neighbours(memory: Memory) -> list[Memory]:
    """The live memories just before and after in the thread, in the same group and scope."""
    return [*filter(None, (read_next(_BEFORE, memory), read_next(_AFTER, memory)))]


def read_next(side: CompiledQuery[Memory], memory: Memory) -> Memory | None:
    """The neighbour on one side; None at the end of the thread or outside of one."""
    if memory.thread_id is None or memory.position is None:
        return None
    return side.first(memory.thread_id, memory.group_id, memory.scope, memory.position)


def refresh_contexts_beside(memory: Memory, beside: Iterable[Memory]) -> None:
    """Write the context columns of the neighbours (`beside`) of a live memory that was just inserted."""
    for neighbour in beside:
        if (neighbour.position or 0) < (memory.position or 0):
            around = [read_next(_BEFORE, neighbour), memory]
        else:
            around = [memory, read_next(_AFTER, neighbour)]
        write_context(neighbour, context_of(neighbour, filter(None, around)))


def refresh_context(memory: Memory) -> bool:
    """Write the context column if it is out of date; True if it was written."""
    return write_context(memory, context_of(memory, thread_neighbours(memory)))


def write_context(memory: Memory, fresh: str) -> bool:
    """Write the context column if it changed; True if it was written."""
    if fresh == memory.context:
        return False
    memory.context = fresh
    return _SET_CONTEXT.run(fresh, memory.key) == 1


def refresh_around(memories: Sequence[Memory]) -> int:
    """Refresh the contexts of memories and their live neighbours, in a transaction; returns how many were written."""
    touched = {memory.key: memory for memory in memories}
    for memory in memories:
        for neighbour in thread_neighbours(memory):
            touched.setdefault(neighbour.key, neighbour)
    return sum(refresh_context(memory) for memory in touched.values())
