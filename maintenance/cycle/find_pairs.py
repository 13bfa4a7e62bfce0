"""Possible duplicates and conflicts among the memories added since the last run, linked for review."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.db.models import Q

from maintenance.cycle.compaction import usable_encoder
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Batch, Turn
from maintenance.cycle.vectors import first_key_without_vector
from memories.models import Link, Memory
from memories.review.find_pairs import FoundPair, find_pairs
from memories.types import State, Type

ROWS = 50  # compared per transaction; each costs a vector search, outside it
_COUNT_NAMES: Final = {"duplicate": "duplicates_found", "conflict": "conflicts_found"}


@dataclass(frozen=True)
class FindPairs:
    """Links memories that are new since the last run to possible duplicates and contradictions.

    The write path looks for both when a text arrives; this step finds those that came by an import, or before their
    vector existed. Episodic memories are left out: similar events are separate events, and promotion handles them.
    """

    name: str = "findings"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """The pairs of the next memories by key; the mark is the highest key compared."""
        if usable_encoder() is None:
            return None
        # Up to the first memory that lacks a vector: the next run compares from there.
        rows = Memory.objects.filter(group=turn.group, state=State.LIVE, key__gt=cursor or turn.mark or 0)
        unembedded = first_key_without_vector(turn.group)
        if unembedded is not None:
            rows = rows.filter(key__lt=unembedded)
        lasting = rows.exclude(type=Type.EPISODIC).select_related("group")
        memories = list(lasting.order_by("key")[:ROWS])
        if not memories:
            return None
        pairs = find_pairs(memories, now=turn.now)
        last = memories[-1].key
        return Batch(cursor=last, write=partial(_link_pairs, turn, pairs), mark=last)


def _link_pairs(turn: Turn, pairs: Sequence[FoundPair], recorder: Recorder) -> dict[str, int]:
    """Link the pairs that are still live and unlinked, inside the batch's transaction; counts by kind."""
    counts: dict[str, int] = {}
    keys = {memory.key for pair in pairs for memory in (pair.memory, pair.other)}
    live = set(Memory.objects.filter(key__in=keys, state=State.LIVE).values_list("key", flat=True))
    for pair in pairs:
        if {pair.memory.key, pair.other.key} <= live and not _is_linked(pair):
            recorder.link(
                pair.memory, pair.other, at=turn.now,
                kind=pair.kind, score=pair.score, reason=pair.reason, evidence=pair.evidence,
            )  # fmt: skip
            name = _COUNT_NAMES[pair.kind]
            counts[name] = counts.get(name, 0) + 1
    return counts


def _is_linked(pair: FoundPair) -> bool:
    """True if the two have been linked meanwhile, in either direction."""
    one, other = pair.memory.root_key, pair.other.root_key
    ends = Q(source=one, target=other) | Q(source=other, target=one)
    return Link.objects.filter(ends, kind=pair.kind).exists()
