"""Findings: possible duplicates and conflicts among what came in since the last run, for a person to decide about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from maintenance.cycle.compaction import usable_encoder
from maintenance.cycle.links import tie
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Batch, Turn
from maintenance.cycle.vectors import first_owed
from memories.models import Link, Memory
from memories.review.find_pairs import FoundPair, find_ties
from memories.types import State, Type

ROWS = 50  # looked at for one transaction; each costs a vector search, outside it


@dataclass(frozen=True)
class FindPairs:
    """Ties memories that are new since the last run to those that may say the same or the contrary.

    The write path looks for both as a text comes in; this finds what came by an import, or before its vector was made.
    Events are left out: two that are alike are two events, and promotion looks after them.
    """

    name: str = "findings"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """Give the ties of the next memories by key; the mark is the highest key that was looked at."""
        if usable_encoder() is None:
            return None
        memories = _next(turn, after=cursor or turn.mark or 0)
        if not memories:
            return None
        ties = find_ties(memories, now=turn.now)
        last = memories[-1].key

        def write(recorder: Recorder) -> Mapping[str, int]:
            return _write(turn, ties, recorder)

        return Batch(cursor=last, write=write, mark=last)


def _next(turn: Turn, *, after: int) -> list[Memory]:
    rows = Memory.objects.filter(group=turn.group, state=State.LIVE, key__gt=after)
    owed = first_owed(turn.group)
    if owed is not None:
        rows = rows.filter(key__lt=owed)
    lasting = rows.exclude(type=Type.EPISODIC).select_related("group")
    return list(lasting.order_by("key")[:ROWS])


def _write(turn: Turn, ties: Sequence[FoundPair], recorder: Recorder) -> dict[str, int]:
    """Write the links that are still called for, by kind."""
    counts: dict[str, int] = {}
    keys = {memory.key for each in ties for memory in (each.memory, each.other)}
    live = set(Memory.objects.filter(key__in=keys, state=State.LIVE).values_list("key", flat=True))
    for each in ties:
        if {each.memory.key, each.other.key} <= live and not _is_tied(each):
            tie(
                recorder, turn, each.memory, each.other,
                kind=each.kind, score=each.score, reason=each.reason, evidence=each.evidence,
            )  # fmt: skip
            counts[_COUNTED[each.kind]] = counts.get(_COUNTED[each.kind], 0) + 1
    return counts


_COUNTED = {"duplicate": "duplicates_found", "conflict": "conflicts_found"}


def _is_tied(found: FoundPair) -> bool:
    """Say whether somebody tied the two meanwhile, either way round."""
    one, other = found.memory.root_key, found.other.root_key
    ends = Q(source=one, target=other) | Q(source=other, target=one)
    return Link.objects.filter(ends, kind=found.kind).exists()
