"""Places in threads: of one new memory, and of many at once, with their context columns and a fixed number of queries."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from django.db.models import F, Max, Window
from django.db.models.functions import RowNumber

from access.errors import Conflict
from access.models import Group
from memories.draft import Draft
from memories.models import Memory, Thread
from memories.store.search_columns import context_of
from memories.types import State, Trust
from storage.compiled_queries import CompiledQuery

Line = tuple[int, str]  # a thread's key and a scope: what stands beside what

_THREAD_BY_NAME = CompiledQuery(
    lambda group, name: Thread.objects.filter(group=group, name=name).order_by(), 2
)
_LAST_POSITION = CompiledQuery(
    lambda thread: (
        Memory.objects.filter(thread=thread, position__isnull=False)
        .order_by("-position")
        .values_list("position")[:1]
    )
)


def append_to_threads(rows: Sequence[tuple[Memory, str]]) -> None:
    """Give each unsaved memory its thread (by name, made where it is new) and the place after the last, in order."""
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
        place = last.get(thread.key)
        memory.thread = thread
        memory.position = last[thread.key] = 0 if place is None else place + 1


def keeps_place(old: Memory, draft: Draft, group: Group) -> bool:
    """Say whether a draft means the place of what it replaces: it names no other thread and no other position."""
    if old.thread is None or old.group_id != group.key or draft.thread not in ("", old.thread.name):
        return False
    return draft.position in (None, old.position)


def take_place(memory: Memory, draft: Draft, group: Group, *, replaces: Memory | None) -> None:
    """Put an unsaved memory where what it `replaces` stands, unless the draft means another place.

    A candidate waits after the last; approving it brings it to the place.
    """
    if replaces is None or not keeps_place(replaces, draft, group):
        _take_place(memory, draft, group)
    elif memory.trust == Trust.CANDIDATE:
        _take_place(memory, replace(draft, position=None), group)
    else:
        memory.thread, memory.position = replaces.thread, replaces.position


def _take_place(memory: Memory, draft: Draft, group: Group) -> None:
    """Put the memory into its thread: at the place named, else after the last."""
    if not draft.thread:
        return
    thread = _THREAD_BY_NAME.first(group.key, draft.thread)
    if thread is None:
        thread, _ = Thread.objects.get_or_create(group=group, name=draft.thread)
    memory.thread, memory.position = thread, draft.position
    if draft.position is None:
        last = _LAST_POSITION.first(thread.key)
        memory.position = 0 if last is None else (last[0] or 0) + 1
    elif Memory.objects.filter(thread=memory.thread, position=draft.position, root=None).exists():
        raise Conflict(
            f"The thread '{draft.thread}' has another memory at position {draft.position}.",
            hint="Leave position out to append, or choose a free one.",
            field="position",
        )


def set_contexts(rows: Sequence[Memory]) -> list[Memory]:
    """Fill the context column of unsaved memories at their threads' ends; give the stored ones that changed by it."""
    lines: defaultdict[Line, list[Memory]] = defaultdict(list)
    for memory in rows:
        memory.context = context_of(memory, [])
        if memory.thread_id is not None:
            lines[memory.thread_id, memory.scope].append(memory)
    if not lines:
        return []
    ends = read_line_ends({thread for thread, _ in lines})
    changed = []
    for line, added in lines.items():
        changed += _set_line(ends.get(line, []), added)
    return changed


def _set_line(end: list[Memory], added: list[Memory]) -> list[Memory]:
    """Set the contexts of what is added after a line's end, and of the last memory there; give that if it changed."""
    line = [*end, *added]
    changed = []
    # The first of two stored ones lends its words alone: what follows it was there before.
    for at in range(max(len(end) - 1, 0), len(line)):
        beside = [*line[max(at - 1, 0) : at], *line[at + 1 : at + 2]]
        fresh = context_of(line[at], beside)
        if at < len(end) and fresh != line[at].context:
            changed.append(line[at])
        line[at].context = fresh
    return changed


def find_or_create_threads(wanted: dict[tuple[int, str], Group]) -> dict[tuple[int, str], Thread]:
    """Give the threads of these groups and names; those that are not there are made."""
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


def read_line_ends(threads: Iterable[int]) -> dict[Line, list[Memory]]:
    """Give the last two memories of each line that count as neighbours, in order."""
    place = Window(RowNumber(), partition_by=[F("thread"), F("scope")], order_by=F("position").desc())
    rows = (
        Memory.objects.filter(thread__in=list(threads), state=State.LIVE, position__isnull=False)
        .exclude(trust=Trust.QUARANTINED)
        .annotate(place=place)
        .filter(place__lte=2)
        .order_by("position")
        .only("key", "thread_id", "scope", "position", "content", "context", "tags")
    )
    ends: defaultdict[Line, list[Memory]] = defaultdict(list)
    for row in rows:
        if row.thread_id is not None:
            ends[row.thread_id, row.scope].append(row)
    return ends


def refresh_threads(threads: Iterable[int]) -> int:
    """Write the context columns of all memories of these threads where they are not what they should be."""
    changed = [memory for thread in threads for memory in _stale(thread)]
    Memory.objects.bulk_update(changed, ["context"], batch_size=100)
    return len(changed)


def _stale(thread: int) -> list[Memory]:
    """Give a thread's memories whose context is out of date, with the fresh one set."""
    rows = Memory.objects.filter(thread=thread, position__isnull=False).order_by("position", "key")
    return stale_rows(list(rows))


def stale_rows(rows: Sequence[Memory]) -> list[Memory]:
    """Give those of a thread's memories, all with a place and in order, whose context is out of date, with the fresh one set."""
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
