"""Decay: memories that are neither used nor confirmed lose confidence over time, so that used ones rank above them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models.functions import Coalesce

from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Batch, Turn
from memories.decay import DECAYING, PERIOD, decay_to
from memories.models import Memory

ROWS = 500  # per transaction: about 25 ms of write lock


@dataclass(frozen=True)
class Decay:
    """One pass of the rule of memories.decay. Missed periods are caught up; a second pass changes nothing."""

    name: str = "decay"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """The next memories, by key, for which a whole period has passed."""
        keys = list(_decaying_memories(turn, after=cursor or 0).values_list("key", flat=True)[:ROWS])
        return Batch(cursor=keys[-1], write=partial(_decay_memories, turn, keys)) if keys else None


def _decaying_memories(turn: Turn, *, after: int) -> Any:
    """The memories for which a whole period of decay has passed, by key."""
    rows = Memory.objects.filter(DECAYING, group=turn.group, key__gt=after)
    since = Coalesce("decayed_at", "created_at")
    return rows.alias(since=since).filter(since__lte=turn.now - PERIOD).order_by("key")


def _decay_memories(turn: Turn, keys: Sequence[int], recorder: Recorder) -> dict[str, int]:
    """Decay those of the memories that are still due, inside the batch's transaction."""
    due = list(_decaying_memories(turn, after=keys[0] - 1).filter(key__lte=keys[-1]))
    decayed = [decay_to(row, turn.now) for row in due]
    confidence, decayed_at = [left for left, _ in decayed], [until for _, until in decayed]
    return {"decayed": recorder.edit_many(due, confidence=confidence, decayed_at=decayed_at)}
