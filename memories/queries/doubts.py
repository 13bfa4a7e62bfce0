"""Open doubts of memories: who doubts each, and why, in the words of its label."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Coalesce

from memories.models import Doubt, DoubtStatus, Memory
from memories.queries.by_key import read_rows
from memories.types import State
from storage.compiled_queries import CompiledQuery

MAX_REASON_CHARS: Final = 120  # of a label
_READ: Final = "_loci_doubts"  # the attribute of a memory whose doubts were read


def read_doubts(memories: Iterable[Memory]) -> None:
    """Read the open doubts of many live memories at once, for label_of() and doubts_of(); one query."""
    rows = [row for row in memories if row.state == State.LIVE]
    if not rows:
        return
    found: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for root, author, reason in read_rows(_open_query, list({row.root_key for row in rows})):
        found[root].append((author, reason))
    for row in rows:
        setattr(row, _READ, found.get(row.root_key, []))


def doubts_of(memory: Memory) -> list[tuple[str, str]]:
    """The authors and reasons of a live memory's open doubts, oldest first."""
    if memory.state == State.LIVE and not hasattr(memory, _READ):
        read_doubts([memory])
    found: list[tuple[str, str]] = getattr(memory, _READ, [])
    return found


def describe_doubt(memory: Memory) -> str:
    """The open doubts in words: "disputed by bob/agent: the port has changed"; empty without one."""
    doubts = doubts_of(memory)
    if not doubts:
        return ""
    author, reason = doubts[0]
    short = reason if len(reason) <= MAX_REASON_CHARS else f"{reason[: MAX_REASON_CHARS - 1]}…"
    more = f", and by {len(doubts) - 1} more" if len(doubts) > 1 else ""
    return f"disputed by {author}{f': {short}' if short else ''}{more}"


def is_doubted() -> Q:
    """Condition on memories: a doubt of the chain is open."""
    root = Coalesce(OuterRef("root"), OuterRef("key"))
    return Q(Exists(Doubt.objects.filter(memory=root, status=DoubtStatus.OPEN)))


@cache
def _open_query(count: int) -> CompiledQuery[tuple[Any, ...]]:
    return CompiledQuery(
        lambda *roots: (
            Doubt.objects.filter(memory__in=roots, status=DoubtStatus.OPEN)
            .order_by("key")
            .values_list("memory_id", "author_name", "reason")
        ),
        count,
    )
