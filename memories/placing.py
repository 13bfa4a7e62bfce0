"""Places in threads and context columns for many new memories at once, with a fixed number of queries."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.db.models import F, Max, Window
from django.db.models.functions import RowNumber

from access.models import Group
from memories.context import context_of
from memories.models import Memory, Thread
from memories.types import State, Trust

Line = tuple[int, str]  # a thread's key and a scope: what stands beside what


def append_to_threads(rows: Sequence[tuple[Memory, str]]) -> None:
    """Give each unsaved memory its thread (by name, made where it is new) and the place after the last, in order."""
    named = [(memory, name) for memory, name in rows if name]
    if not named:
        return
    threads = _threads({(memory.group.key, name): memory.group for memory, name in named})
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


def set_contexts(rows: Sequence[Memory]) -> list[Memory]:
    """Fill the context column of unsaved memories at their threads' ends; give the stored ones that changed by it."""
    lines: defaultdict[Line, list[Memory]] = defaultdict(list)
    for memory in rows:
        memory.context = context_of(memory, [])
        if memory.thread_id is not None:
            lines[memory.thread_id, memory.scope].append(memory)
    if not lines:
        return []
    ends = _last_two({thread for thread, _ in lines})
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


def _threads(wanted: dict[tuple[int, str], Group]) -> dict[tuple[int, str], Thread]:
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


def _last_two(threads: Iterable[int]) -> dict[Line, list[Memory]]:
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
