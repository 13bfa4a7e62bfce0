"""Decay: what nobody uses or confirms loses confidence with time, so that what is used ranks before it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import log
from typing import Any

from django.db.models import F
from django.db.models.functions import Coalesce

from access.audit.operations import Operation
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Batch, Turn
from memories.models import Memory
from memories.types import State, Trust, Type

# Rows in one transaction: 500 take about 25 ms of write lock.
ROWS = 500
DIGITS = 6  # of a confidence; more say nothing and make what runs keep longer


@dataclass(frozen=True)
class Decay:
    """Confidence × 0.95 for events and × 0.99 for the rest in each whole period since `decayed_at`.

    Pinned, verified and superseded memories keep theirs. A missed period is caught up; a second pass finds nothing.
    """

    name: str = "decay"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """Give the next memories that a whole period has passed for, by key."""
        keys = list(_due(turn, after=cursor or 0).values_list("key", flat=True)[:ROWS])
        if not keys:
            return None

        def write(recorder: Recorder) -> Mapping[str, int]:
            return _write(turn, keys, recorder)

        return Batch(cursor=keys[-1], write=write)


def _due(turn: Turn, *, after: int) -> Any:
    """Give the memories that decay now. At the floor nothing is left to lose: reinforcing starts the clock anew."""
    period = timedelta(days=turn.limits.decay_period_days)
    since = Coalesce(F("decayed_at"), F("created_at"))
    rows = Memory.objects.filter(
        group=turn.group,
        state=State.LIVE,
        pinned=False,
        confidence__gt=turn.limits.decay_floor,
        key__gt=after,
    ).exclude(trust=Trust.VERIFIED)
    return rows.annotate(since=since).filter(since__lte=turn.now - period).order_by("key")


def _write(turn: Turn, keys: list[int], recorder: Recorder) -> dict[str, int]:
    rows = list(_due(turn, after=keys[0] - 1).filter(key__lte=keys[-1]))
    rows = [row for row in rows if _decayed(row, turn)[0] != row.confidence]
    if not rows:
        return {}
    fresh = [_decayed(row, turn) for row in rows]
    recorder.edit_many(rows, confidence=[c for c, _ in fresh], decayed_at=[at for _, at in fresh])
    subject = f"decay of {len(rows)} memories"
    recorder.log(
        Operation.RUN,
        group=turn.group.id,
        subject=subject,
        payload={"step": "decay", "first": rows[0].key, "last": rows[-1].key, "count": len(rows)},
    )
    return {"decayed": len(rows)}


def _decayed(memory: Any, turn: Turn) -> tuple[float, datetime]:
    """Give the confidence that is left, and the end of the last whole period."""
    limits = turn.limits
    period = timedelta(days=limits.decay_period_days)
    periods = (turn.now - memory.since) // period
    base = limits.decay_episodic if memory.type == Type.EPISODIC else limits.decay_other
    left = decayed_confidence(
        memory.confidence,
        base=base,
        periods=periods,
        recalls=memory.access_count,
        weight=limits.decay_access_weight,
        floor=limits.decay_floor,
    )
    return left, memory.since + periods * period


def decayed_confidence(
    confidence: float, *, base: float, periods: int, recalls: int, weight: float, floor: float
) -> float:
    """Give what is left of a confidence after whole periods, never below `floor`.

    `confidence · base^(periods / (1 + weight · ln(1 + recalls)))`: in ACT-R the strength of a memory grows with the
    logarithm of its uses (Anderson & Schooler 1991); here each use slows the loss. It never raises a confidence.
    """
    if confidence <= floor:
        return confidence
    slowed = periods / (1 + weight * log(1 + recalls))
    return float(max(floor, round(confidence * base**slowed, DIGITS)))
