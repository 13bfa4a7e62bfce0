"""What stands against a memory: open conflicts, with the words that differ, and the successor that is dated ahead.

And the other way: what a plan, a fact dated ahead, is to replace on its day.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db.models import Q

from access.audit.operations import Operation
from access.models import AuditEntry
from access.visibility import Visibility
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.models.short_id import short_id
from memories.queries.snapshot import RELATED_ROWS
from memories.queries.versions import has_lapsed, heads_of
from memories.queries.visibility import has_begun, is_outlasting, matches_scope
from memories.types import VISIBLE_TRUSTS, State, Trust, Type
from storage.compiled_queries import CompiledQuery, read_rows

MAX_NAMED: Final = 3  # conflicts of one memory
MAX_VALUE_CHARS: Final = 60
# Leaving these out asks for the ends' indexes; asking for conflicts made SQLite read all conflicts instead.
_OTHER_KINDS: Final = sorted(set(LinkKind) - {LinkKind.CONFLICT})


_MAX_STEPS = 20  # versions of a plan that edits replaced; a longer path names nothing
# A retired row in one of these states was replaced by another row.
_CORRECTED: Final = (State.SUPERSEDED, State.RETRACTED, State.MERGED)


@dataclass(frozen=True)
class OpenConflict:
    """A memory that contradicts another: its id and the two values, which are empty where no words were found.

    `verified_by` is the person who verified the other one, if the memory itself is not verified.
    """

    other: UUID
    own_value: str
    other_value: str
    verified_by: str = ""

    @property
    def note(self) -> str:
        """The conflict in words: "in conflict with <short id>: 8081 / 8082", or "contradicts what ann verified (<short id>)"."""
        values = f": {self.own_value} / {self.other_value}" if self.own_value and self.other_value else ""
        if self.verified_by:
            return f"contradicts what {self.verified_by} verified ({short_id(self.other)}){values}"
        return f"in conflict with {short_id(self.other)}{values}"


def find_open_conflicts(
    memories: Iterable[Memory],
    visibility: Visibility,
    *,
    leave_out: Callable[[Iterable[Memory], Visibility], set[int]],
) -> dict[int, tuple[OpenConflict, ...]]:
    """Open conflicts by key of the memories that count now, newest first.

    A verified memory has none with one that is not: it is the other one that carries the mark.

    A conflict with a memory that the caller may not recall is not part of the answer; `leave_out` finds what their group
    has withdrawn. One query, and two more if any link is open. A question about the past has none: its answer is what
    was true then.
    """
    live = {m.root_key: m for m in memories if m.state == State.LIVE and has_begun(m, visibility.now)}
    if visibility.is_history or not live:
        return {}
    links = [row for row in read_rows(_links_query, [*live]) if row[2] == LinkStatus.OPEN]
    if not links:
        return {}
    others = _live_heads({end for source, target, *_ in links for end in (source, target)}, visibility)
    hidden = leave_out(others.values(), visibility)
    found: defaultdict[int, list[OpenConflict]] = defaultdict(list)
    for source, target, _, evidence, _ in sorted(links, key=lambda row: -row[4]):
        for root, other_root, own, theirs in _conflict_sides(source, target, evidence):
            memory, other = live.get(root), others.get(other_root)
            if memory is None or other is None or other.key in hidden or memory.key == other.key:
                continue
            if memory.trust == Trust.VERIFIED != other.trust:
                continue
            if _still_states(memory, own) and _still_states(other, theirs):
                by = _verifier_of(other) if other.trust == Trust.VERIFIED != memory.trust else ""
                found[memory.key].append(OpenConflict(other.id, shorten(own), shorten(theirs), by))
    return {key: tuple(conflicts[:MAX_NAMED]) for key, conflicts in found.items()}


def _verifier_of(memory: Memory) -> str:
    """Who verified a memory last, by this store's log; "a person" if it does not tell."""
    chain = Memory.objects.filter(Q(key=memory.root_key) | Q(root=memory.root_key)).values("id")
    rows = AuditEntry.objects.filter(origin="", memory_id__in=chain, operation=Operation.VERIFY)
    return rows.order_by("-key").values_list("actor", flat=True).first() or "a person"


def _still_states(memory: Memory, value: str) -> bool:
    """True if the memory has the value that was compared; a later version of its chain may state another one."""
    return memory.version == 1 or value.removeprefix("not ") in memory.content


def _conflict_sides(
    source: int, target: int, evidence: Mapping[str, Any]
) -> Iterator[tuple[int, int, str, str]]:
    """A link as each end sees it: its root, the other end's root, its own value and the other's.

    The link leads from the newer memory to the older one.
    """
    new, old = str(evidence.get("new", "")), str(evidence.get("old", ""))
    yield source, target, new, old
    yield target, source, old, new


def shorten(value: str) -> str:
    """The value, cut to MAX_VALUE_CHARS."""
    return value if len(value) <= MAX_VALUE_CHARS else f"{value[: MAX_VALUE_CHARS - 1]}…"


def _live_heads(roots: set[int], visibility: Visibility) -> dict[int, Memory]:
    """Current versions by root, of the chains that the caller may recall now whatever else the request filters by."""
    rows = list(Memory.objects.filter(key__in=roots))
    heads = heads_of(rows)
    anywhere = replace(visibility, scope="")
    return {
        root: head
        for root, head in heads.items()
        if head.state == State.LIVE
        and head.trust in VISIBLE_TRUSTS
        and has_begun(head, visibility.now)
        and not has_lapsed(head, visibility.now)
        and matches_scope(head, anywhere)
    }


@cache
def _links_query(count: int) -> CompiledQuery[tuple[Any, ...]]:
    return CompiledQuery(
        lambda *roots: (
            Link.objects.filter(Q(source__in=roots) | Q(target__in=roots))
            .exclude(kind__in=_OTHER_KINDS)
            .order_by()
            .values_list("source_id", "target_id", "status", "evidence", "key")
        ),
        count,
    )


def coming_after(memories: Iterable[Memory], visibility: Visibility) -> dict[int, Memory]:
    """The visible successor that is dated ahead, by key of the memory that counts until then.

    No query if none of the memories is superseded; a query about the past names none.
    """
    if visibility.is_history:
        return {}
    found = {}
    for memory in memories:
        if is_outlasting(memory, visibility.now) and (coming := _find_coming(memory, visibility)):
            found[memory.key] = coming
    return found


def _find_coming(memory: Memory, visibility: Visibility) -> Memory | None:
    """The next memory of the chain that will count; None if it was withdrawn or is hidden from the caller."""
    rows = Memory.objects.select_related(*RELATED_ROWS)
    row = memory
    for _ in range(_MAX_STEPS):
        key = row.superseded_by_id
        found = rows.filter(key=key).first() if key is not None else None
        if found is None:
            return None
        row = found
        is_corrected = row.retired_at is not None and row.superseded_by_id is not None
        if is_corrected or (row.state == State.SUPERSEDED and row.valid_to == row.valid_from):
            continue  # an edit, a right text or another plan took its place
        is_ahead = row.valid_from is not None and row.valid_from > visibility.now
        will_count = row.state in (State.LIVE, State.SUPERSEDED) and row.trust in VISIBLE_TRUSTS
        is_plain = row.type != Type.EPISODIC and matches_scope(row, visibility)
        return row if is_ahead and will_count and is_plain else None
    return None


def describe_start(coming: Memory) -> str:
    """When it begins to count, in words: "from 3 March 2027"."""
    start = coming.valid_from
    return f"from {start.day} {start:%B %Y}" if start is not None else ""


class _Plan(NamedTuple):
    """A fact dated ahead: the rows of its versions, newest first, and the memories that count until its day."""

    rows: tuple[Memory, ...]
    replaces: tuple[Memory, ...]


def read_plan(head: Memory, now: datetime) -> _Plan:
    """The plan whose current version is `head`; without `replaces` if its day has come or it replaces nothing."""
    if has_begun(head, now):
        return _Plan((head,), ())
    plan = read_replaced(head)
    return plan._replace(replaces=tuple(row for row in plan.replaces if is_outlasting(row, now)))


def read_replaced(head: Memory) -> _Plan:
    """The rows of a fact, and whatever it replaced or is to replace."""
    rows, replaces, step = [head], list[Memory](), [head]
    while step:
        before = Memory.objects.select_related("group", "thread").filter(superseded_by__in=step)
        found = list(before.exclude(pk__in=[row.pk for row in rows]).order_by("key"))
        replaces += [row for row in found if row.retired_at is None and row.state == State.SUPERSEDED]
        step = [row for row in found if row.retired_at is not None and row.state in _CORRECTED]
        rows += step
    return _Plan(tuple(rows), tuple(replaces))
