"""Decay: memories that are neither used nor confirmed lose confidence over time, so that used ones rank above them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from math import log
from typing import Any

from django.db.models import F
from django.db.models.functions import Coalesce

from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Batch, Turn
from memories.draft import DECAY_FLOOR
from memories.models import Memory
from memories.types import State, Trust, Type

_PERIOD = timedelta(days=1)
EPISODIC, OTHER = 0.95, 0.99  # share of its confidence that a memory keeps in each period
# How much recalls slow decay: base-level activation grows with the logarithm of the uses (ACT-R; Anderson & Schooler 1991).
_ACCESS_WEIGHT = 0.5
ROWS = 500  # per transaction: about 25 ms of write lock
_DIGITS = 6  # of a confidence; more add nothing and enlarge the changes that runs store


@dataclass(frozen=True)
class Decay:
    """Confidence × 0.95 for episodic memories and × 0.99 for the rest, per whole period since `decayed_at`.

    Pinned, verified, compacted and superseded memories are exempt. Missed periods are caught up; a second pass changes nothing.
    """

    name: str = "decay"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """The next memories, by key, for which a whole period has passed."""
        keys = list(_decaying_memories(turn, after=cursor or 0).values_list("key", flat=True)[:ROWS])
        return Batch(cursor=keys[-1], write=partial(_decay_memories, turn, keys)) if keys else None


def _decaying_memories(turn: Turn, *, after: int) -> Any:
    """The memories due for decay, annotated with `since`, the start of their current period; by key.

    Memories at the floor are left out: they cannot lose more, and reinforcing restarts their clock.
    """
    since = Coalesce(F("decayed_at"), F("created_at"))
    rows = Memory.objects.filter(
        group=turn.group,
        state=State.LIVE,
        summary=None,
        pinned=False,
        confidence__gt=DECAY_FLOOR,
        key__gt=after,
    ).exclude(trust=Trust.VERIFIED)
    return rows.annotate(since=since).filter(since__lte=turn.now - _PERIOD).order_by("key")


def _decay_memories(turn: Turn, keys: Sequence[int], recorder: Recorder) -> dict[str, int]:
    """Decay those of the memories that are still due, inside the batch's transaction."""
    due = _decaying_memories(turn, after=keys[0] - 1).filter(key__lte=keys[-1])
    decayed = [(row, *_decay_to_now(row, turn)) for row in due]
    decayed = [(row, left, until) for row, left, until in decayed if left != row.confidence]
    if not decayed:
        return {}
    rows = [row for row, _, _ in decayed]
    recorder.edit_many(
        rows, confidence=[left for _, left, _ in decayed], decayed_at=[until for _, _, until in decayed]
    )
    return {"decayed": len(rows)}


def _decay_to_now(memory: Any, turn: Turn) -> tuple[float, datetime]:
    """The remaining confidence and the end of the last whole period; `memory` comes from _decaying_memories().

    `confidence · base^(periods / (1 + weight · ln(1 + recalls)))`: in ACT-R the strength of a memory grows with the
    logarithm of its uses (Anderson & Schooler 1991); here each use slows the loss.
    """
    periods = (turn.now - memory.since) // _PERIOD
    base = EPISODIC if memory.type == Type.EPISODIC else OTHER
    slowed = periods / (1 + _ACCESS_WEIGHT * log(1 + memory.access_count))
    left = max(DECAY_FLOOR, round(memory.confidence * base**slowed, _DIGITS))
    return left, memory.since + periods * _PERIOD
