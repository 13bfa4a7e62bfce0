"""Open conflicts of memories: with which memory each cannot both be true, and the words that differ."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from access.audit.operations import Operation
from access.models import AuditEntry
from access.visibility import Visibility
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.models.short_id import short_id
from memories.queries.by_key import read_rows
from memories.queries.versions import has_lapsed, heads_of
from memories.queries.visibility import has_begun, matches_scope
from memories.types import VISIBLE_TRUSTS, State, Trust
from storage.compiled_queries import CompiledQuery

MAX_NAMED: Final = 3  # conflicts of one memory
MAX_VALUE_CHARS: Final = 60
# Leaving these out asks for the ends' indexes; asking for conflicts made SQLite read all conflicts instead.
_OTHER_KINDS: Final = sorted(set(LinkKind) - {LinkKind.CONFLICT})


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

    A conflict with a memory that the caller may not recall is no part of the answer; `leave_out` finds what their group
    has withdrawn. One query, and two more if any link is open. A question about the past has none: its answer is what
    was true then.
    """
    live = {memory.root_key: memory for memory in memories if memory.state == State.LIVE}
    if visibility.is_history or not live:
        return {}
    links = [row for row in read_rows(_links_query, [*live]) if row[2] == LinkStatus.OPEN]
    if not links:
        return {}
    others = live_heads({end for source, target, *_ in links for end in (source, target)}, visibility)
    hidden = leave_out(others.values(), visibility)
    found: defaultdict[int, list[OpenConflict]] = defaultdict(list)
    for source, target, _, evidence, _ in sorted(links, key=lambda row: -row[4]):
        for root, other_root, own, theirs in conflict_sides(source, target, evidence):
            memory, other = live.get(root), others.get(other_root)
            if memory is None or other is None or other.key in hidden or memory.key == other.key:
                continue
            if memory.trust == Trust.VERIFIED != other.trust:
                continue
            if still_states(memory, own) and still_states(other, theirs):
                by = verifier_of(other) if other.trust == Trust.VERIFIED != memory.trust else ""
                found[memory.key].append(OpenConflict(other.id, shorten(own), shorten(theirs), by))
    return {key: tuple(conflicts[:MAX_NAMED]) for key, conflicts in found.items()}


def verifier_of(memory: Memory) -> str:
    """Who verified a memory last, by this store's log; "a person" if it does not tell."""
    chain = Memory.objects.filter(Q(key=memory.root_key) | Q(root=memory.root_key)).values("id")
    rows = AuditEntry.objects.filter(origin="", memory_id__in=chain, operation=Operation.VERIFY)
    return rows.order_by("-key").values_list("actor", flat=True).first() or "a person"


def still_states(memory: Memory, value: str) -> bool:
    """True if the memory has the value that was compared; a later version of its chain may state another one."""
    return memory.version == 1 or value.removeprefix("not ") in memory.content


def conflict_sides(
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


def live_heads(roots: set[int], visibility: Visibility) -> dict[int, Memory]:
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
