"""The rule of decay: what a memory loses with time while nothing confirms it, and what protects it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import reduce
from math import floor, log
from operator import and_
from typing import Final, NamedTuple

from django.db.models import Q

from memories.draft import DECAY_FLOOR
from memories.models import Memory
from memories.types import State, Trust, Type

PERIOD: Final = timedelta(days=1)
_EPISODIC, _OTHER = 0.95, 0.99  # share of its confidence that a memory keeps in each period
# How much recalls slow decay: base-level activation grows with the logarithm of the uses (ACT-R; Anderson & Schooler 1991).
_ACCESS_WEIGHT = 0.5
_DIGITS = 6  # of a confidence; more add nothing and enlarge the changes that runs store
UNUSED_BELOW: Final = 0.05  # confidence of a memory that sleeps if it was not recalled for a long time


class _Condition(NamedTuple):
    """What a memory must be to decay, as a filter and of one row; `protection` is the word for one that is not."""

    rows: Q
    holds: Callable[[Memory], bool]
    protection: str = ""  # empty: its state


_CONDITIONS: Final = (
    _Condition(Q(state=State.LIVE), lambda memory: memory.state == State.LIVE),
    _Condition(Q(summary=None), lambda memory: memory.summary_id is None, "compacted"),
    _Condition(Q(pinned=False), lambda memory: not memory.pinned, "pinned"),
    _Condition(~Q(trust=Trust.VERIFIED), lambda memory: memory.trust != Trust.VERIFIED, "verified"),
    # It cannot lose more, and reinforcing restarts its clock.
    _Condition(
        Q(confidence__gt=DECAY_FLOOR), lambda memory: memory.confidence > DECAY_FLOOR, "fully decayed"
    ),
)
DECAYING: Final = reduce(and_, (condition.rows for condition in _CONDITIONS))


def protections_of(memory: Memory) -> tuple[str, ...]:
    """Why the memory does not decay, in words: pinned, verified, …; empty if it does."""
    return tuple(each.protection or memory.state for each in _CONDITIONS if not each.holds(memory))


def decay_to(memory: Memory, now: datetime) -> tuple[float, datetime]:
    """The confidence that a decaying memory has left, and the end of the last whole period.

    `confidence · base^(periods / (1 + weight · ln(1 + recalls)))`: in ACT-R the strength of a memory grows with the
    logarithm of its uses (Anderson & Schooler 1991); here each use slows the loss.
    """
    since = memory.decayed_at or memory.created_at
    periods = (now - since) // PERIOD
    left = max(DECAY_FLOOR, round(memory.confidence * _base(memory) ** (periods / _slowing(memory)), _DIGITS))
    return left, since + periods * PERIOD


def falls_below(memory: Memory, confidence: float) -> datetime | None:
    """When a decaying memory falls below a confidence if it is not used until then; None if it is there already."""
    if memory.confidence < confidence:
        return None
    periods = floor(log(confidence / memory.confidence) / log(_base(memory)) * _slowing(memory)) + 1
    return (memory.decayed_at or memory.created_at) + periods * PERIOD


def _base(memory: Memory) -> float:
    return _EPISODIC if memory.type == Type.EPISODIC else _OTHER


def _slowing(memory: Memory) -> float:
    return 1 + _ACCESS_WEIGHT * log(1 + memory.access_count)
