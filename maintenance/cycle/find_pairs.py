"""Possible duplicates and conflicts among the memories added since the last run, linked for review."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.db.models import Q

from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Batch, Turn
from maintenance.cycle.vectors import next_with_vectors, usable_encoder
from memories.models import Link, Memory
from memories.review.find_pairs import FoundPair, find_pairs
from memories.types import Scope, State, Trust, Type

ROWS = 50  # compared per transaction; each costs a vector search, outside it
_COUNT_NAMES: Final = {"duplicate": "duplicates_found", "conflict": "conflicts_found"}


@dataclass(frozen=True)
class FindPairs:
    """Links memories that are new since the last run to possible duplicates and contradictions.

    The write path looks for both when a text arrives; this step finds those that came by an import, or before their
    vector existed, and those between a group's memories and the global ones of others. Episodic memories are left out:
    similar events are separate events, and promotion handles them.
    """

    name: str = "findings"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """The pairs of the next memories by key; the mark is the highest key compared."""
        if usable_encoder() is None:
            return None
        memories = _read_next_memories(turn, after=cursor or turn.mark or 0)
        if not memories:
            return None
        pairs = find_pairs(memories, now=turn.now, group=turn.group.key, is_judged=True)
        last = memories[-1].key
        return Batch(cursor=last, write=partial(_link_pairs, turn, pairs), mark=last)


def _read_next_memories(turn: Turn, *, after: int) -> list[Memory]:
    """The next live, non-episodic memories of the group, up to the first one that lacks a vector.

    With the global ones of other groups that are newer than what a person verified here: no store compared the two.
    """
    lasting = Memory.objects.filter(state=State.LIVE).exclude(type=Type.EPISODIC)
    parts = [lasting.filter(group=turn.group, key__gt=after)]
    verified = Memory.objects.filter(group=turn.group, state=State.LIVE, trust=Trust.VERIFIED).order_by("key")
    oldest = verified.values_list("key", flat=True).first()
    if oldest is not None:
        newer = lasting.filter(scope=Scope.GLOBAL, key__gt=max(after, oldest))
        parts.append(newer.exclude(group=turn.group))
    keys = next_with_vectors(*parts, limit=ROWS)
    return list(Memory.objects.filter(key__in=keys).select_related("group").order_by("key"))


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
