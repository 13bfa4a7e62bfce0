"""Positions in threads, and the columns that serve search: a memory's context, and tokens that filter.

For one new memory, and for many with a fixed number of queries.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.db.models import F, Max, QuerySet, Value, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from access.errors import Conflict
from access.models import Group
from memories.draft import MAX_POSITION, Draft
from memories.language.cleaning import first_words
from memories.language.dates.named_days import keep_days
from memories.language.metadata import metadata_words
from memories.language.word_forms import forms_of
from memories.models import Memory, Thread
from memories.types import VISIBLE_TRUSTS, State, Trust
from storage.compiled_queries import CompiledQuery, CompiledUpdate

Line = tuple[int, str]  # a thread's key and a scope: only memories of one line are neighbours

NEIGHBOUR_WORDS = 30  # more would drown the memory's own words, since BM25 counts the whole row
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


def append_to_threads(rows: Sequence[tuple[Memory, str]]) -> None:
    """Set the thread of unsaved memories (by name, created if new) and the next free position, in order."""
    named = [(memory, name) for memory, name in rows if name]
    if not named:
        return
    threads = find_or_create_threads({(memory.group.key, name): memory.group for memory, name in named})
    last = dict(
        Memory.objects.filter(thread__in=[thread.key for thread in threads.values()])
        .values_list("thread")
        .annotate(last=Max("position"))
    )
    for memory, name in named:
        thread = threads[memory.group.key, name]
        memory.thread = thread
        memory.position = last[thread.key] = _next_position(last.get(thread.key), name)


def _next_position(last: int | None, thread: str) -> int:
    """The position after the last one. Raises Conflict if the thread has none left, as threads of older versions may."""
    if last == MAX_POSITION:
        raise Conflict(
            f"The thread '{thread}' has a memory at its last position, {MAX_POSITION}.",
            hint="Use another thread.",
            field="thread",
        )
    return 0 if last is None else last + 1


def _keeps_place(old: Memory, draft: Draft, group: Group) -> bool:
    """True if a draft keeps the place of the memory it replaces: it names no other thread or position."""
    if old.thread is None or old.group_id != group.key or draft.thread not in ("", old.thread.name):
        return False
    return draft.position in (None, old.position)


def take_place(memory: Memory, draft: Draft, group: Group, *, replaces: Memory | None) -> None:
    """Put an unsaved memory in the place of the one it `replaces`, unless the draft names another.

    What waits for a curator stands at the end of the thread; approving it moves it to the place.
    """
    if replaces is None or not _keeps_place(replaces, draft, group):
        _take_draft_place(memory, draft, group)
    elif memory.trust not in VISIBLE_TRUSTS:
        _take_draft_place(memory, replace(draft, position=None), group)
    else:
        memory.thread, memory.position = replaces.thread, replaces.position


def _take_draft_place(memory: Memory, draft: Draft, group: Group) -> None:
    """Put the memory into the draft's thread: at the position named, else at the end."""
    if not draft.thread:
        return
    thread, _ = Thread.objects.get_or_create(group=group, name=draft.thread)
    memory.thread, memory.position = thread, draft.position
    if draft.position is None:
        last = Memory.objects.filter(thread=thread).aggregate(last=Max("position"))["last"]
        memory.position = _next_position(last, draft.thread)
    elif Memory.objects.filter(thread=memory.thread, position=draft.position, root=None).exists():
        raise Conflict(
            f"The thread '{draft.thread}' has another memory at position {draft.position}.",
            hint="Leave position out to append, or choose a free one.",
            field="position",
        )


def set_contexts(rows: Sequence[Memory]) -> list[Memory]:
    """Set the context of unsaved memories appended to threads; returns the stored ones whose context changed."""
    lines: defaultdict[Line, list[Memory]] = defaultdict(list)
    for memory in rows:
        memory.context = context_of(memory, [])
        if memory.thread_id is not None:
            lines[memory.thread_id, memory.scope].append(memory)
    if not lines:
        return []
    ends = _read_line_ends({thread for thread, _ in lines})
    changed = []
    for line, added in lines.items():
        end = ends.get(line, [])
        # The first of two stored ones is only a neighbour: its own neighbours have not changed.
        changed += [row for row in stale_rows([*end, *added]) if row in end[-1:]]
    return changed


def find_or_create_threads(wanted: dict[tuple[int, str], Group]) -> dict[tuple[int, str], Thread]:
    """The threads of these groups and names; missing ones are created."""
    found = {
        (thread.group_id, thread.name): thread
        for thread in Thread.objects.filter(
            group__in={key for key, _ in wanted}, name__in={name for _, name in wanted}
        )
    }
    new = [
        Thread(group=group, name=name) for (key, name), group in wanted.items() if (key, name) not in found
    ]
    for thread in Thread.objects.bulk_create(new):
        found[thread.group_id, thread.name] = thread
    return found


def _read_line_ends(threads: Iterable[int]) -> dict[Line, list[Memory]]:
    """The last two memories of each line that count as neighbours, in order."""
    place = Window(RowNumber(), partition_by=[F("thread"), F("scope")], order_by=F("position").desc())
    rows = (
        Memory.objects.filter(thread__in=list(threads), state=State.LIVE, position__isnull=False)
        .exclude(trust=Trust.QUARANTINED)
        .annotate(place=place)
        .filter(place__lte=2)
        .order_by("position")
        .only(
            "key",
            "thread_id",
            "scope",
            "position",
            "state",
            "trust",
            "content",
            "context",
            "tags",
            "metadata",
            "source",
        )
    )
    ends: defaultdict[Line, list[Memory]] = defaultdict(list)
    for row in rows:
        if row.thread_id is not None:
            ends[row.thread_id, row.scope].append(row)
    return ends


def refresh_threads(threads: Iterable[int]) -> int:
    """Write the context columns of these threads that are out of date; returns how many were written."""
    lines = (Memory.objects.filter(thread=key, position__isnull=False) for key in threads)
    changed = [row for line in lines for row in stale_rows(list(line.order_by("position", "key")))]
    Memory.objects.bulk_update(changed, ["context"], batch_size=100)
    return len(changed)


def stale_rows(rows: Sequence[Memory]) -> list[Memory]:
    """Those of a thread's memories whose context is out of date, with the new one set but not saved.

    `rows` are all memories of the thread with a position, in order."""
    beside: defaultdict[str, list[Memory]] = defaultdict(list)
    for row in rows:
        if row.state == State.LIVE and row.trust != Trust.QUARANTINED:
            beside[row.scope].append(row)
    places = {scope: [row.position or 0 for row in line] for scope, line in beside.items()}
    changed = []
    for row in rows:
        line, at = beside[row.scope], row.position or 0
        before = bisect_left(places.get(row.scope, []), at)
        after = bisect_right(places.get(row.scope, []), at)
        fresh = context_of(row, [*line[max(before - 1, 0) : before], *line[after : after + 1]])
        if fresh != row.context:
            row.context = fresh
            changed.append(row)
    return changed


@dataclass(frozen=True, slots=True)
class TextColumns:
    """The columns stored next to a text to find it by."""

    content_hash: str
    fold_hash: str
    forms: str
    days: str


def text_columns(draft: Draft) -> TextColumns:
    """The columns of a checked draft's text."""
    days = keep_days(draft.content, draft.valid_from or timezone.now())
    return TextColumns(draft.hash, draft.fold_hash, forms_of(draft.content), days)


def _thread_line(thread: int, group: int, scope: str) -> QuerySet[Memory]:
    """The memories of a thread that count as neighbours."""
    rows = Memory.objects.filter(thread=thread, group=group, scope=scope, state=State.LIVE)
    return rows.exclude(trust=Trust.QUARANTINED)


def filter_tokens(memory: Memory) -> str:
    """The tokens of the keyword index's filter column: the group, and `isglobal` for a global memory."""
    group = f"ingroup{memory.group_id}"
    return f"{group} isglobal" if memory.scope == "global" else group


def context_of(memory: Memory, neighbours: Iterable[Memory]) -> str:
    """The context column: tags, the first words of each neighbour in the thread, then those of the metadata."""
    parts = [
        " ".join(memory.tags),
        *(first_words(neighbour.content, NEIGHBOUR_WORDS) for neighbour in neighbours),
        metadata_words(memory.metadata, memory.source),
    ]
    return "\n".join(part for part in parts if part)


def thread_neighbours(memory: Memory) -> list[Memory]:
    """The live memories just before and after in the thread, in the same group and scope."""
    return [*filter(None, (_read_next(_BEFORE, memory), _read_next(_AFTER, memory)))]


def _read_next(side: CompiledQuery[Memory], memory: Memory) -> Memory | None:
    """The neighbour on one side; None at the end of the thread or outside of one."""
    if memory.thread_id is None or memory.position is None:
        return None
    return side.first(memory.thread_id, memory.group_id, memory.scope, memory.position)


def refresh_contexts_beside(memory: Memory, beside: Iterable[Memory]) -> None:
    """Write the context columns of the neighbours (`beside`) of a live memory that was just inserted."""
    for neighbour in beside:
        if (neighbour.position or 0) < (memory.position or 0):
            around = [_read_next(_BEFORE, neighbour), memory]
        else:
            around = [memory, _read_next(_AFTER, neighbour)]
        _write_context(neighbour, context_of(neighbour, filter(None, around)))


def refresh_context(memory: Memory) -> bool:
    """Write the context column if it is out of date; True if it was written."""
    return _write_context(memory, context_of(memory, thread_neighbours(memory)))


def _write_context(memory: Memory, fresh: str) -> bool:
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
