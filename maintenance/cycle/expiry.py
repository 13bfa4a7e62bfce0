"""Expiry and cleanup: what was to live until a day ends then; what nobody believes or uses is forgotten, restorably."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce

from access.audit.operations import Operation
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Batch, Turn
from memories.models import Memory
from memories.store.search_columns import refresh_around
from memories.types import State, Trust

ROWS = (
    50  # in one transaction: each retirement touches its row, its pieces in both indexes and its neighbours
)

Retire = Callable[[Memory, Turn, Recorder], bool]


@dataclass(frozen=True)
class Expire:
    """Live memories whose `expires_at` has come become expired."""

    name: str = "expire"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """Give the next memories whose time is over."""
        return _retiring(_over(turn), _expire, turn, cursor, counted="expired")


@dataclass(frozen=True)
class Cleanup:
    """Live memories of next to no confidence that nobody recalled for long are forgotten."""

    name: str = "cleanup"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """Give the next memories to forget; pinned and verified ones never."""
        return _retiring(_idle(turn), _forget, turn, cursor, counted="forgotten")


def _over(turn: Turn) -> QuerySet[Memory]:
    return Memory.objects.filter(group=turn.group, state=State.LIVE, expires_at__lte=turn.now)


def _idle(turn: Turn) -> QuerySet[Memory]:
    """Give what cleanup forgets. What was never recalled counts from when it was stored or restored."""
    since = turn.now - timedelta(days=turn.limits.cleanup_idle_days)
    rows = Memory.objects.filter(
        group=turn.group,
        state=State.LIVE,
        pinned=False,
        confidence__lt=turn.limits.cleanup_confidence,
    ).exclude(trust=Trust.VERIFIED)
    used = Coalesce("last_accessed", "created_at")
    untouched = Q(state_changed_at=None) | Q(state_changed_at__lte=since)
    return rows.annotate(used=used).filter(untouched, used__lte=since)


def _retiring(
    rows: QuerySet[Memory], retire: Retire, turn: Turn, cursor: Any, *, counted: str
) -> Batch | None:
    keys = list(rows.filter(key__gt=cursor or 0).order_by("key").values_list("key", flat=True)[:ROWS])
    if not keys:
        return None

    def write(recorder: Recorder) -> Mapping[str, int]:
        found = rows.filter(key__in=keys).select_related("group", "thread").order_by("key")
        retired = [memory for memory in found if retire(memory, turn, recorder)]
        refresh_around(retired)
        return {counted: len(retired)}

    return Batch(cursor=keys[-1], write=write)


def _expire(memory: Memory, turn: Turn, recorder: Recorder) -> bool:
    return recorder.retire(
        memory,
        Operation.RUN,
        why=f"it was to be kept until {memory.expires_at:%Y-%m-%d %H:%M}",
        at=turn.now,
        state=State.EXPIRED,
    )


def _forget(memory: Memory, turn: Turn, recorder: Recorder) -> bool:
    return recorder.retire(
        memory,
        Operation.FORGET,
        why=f"confidence {memory.confidence:.3f}, and nobody recalled it for {turn.limits.cleanup_idle_days:g} days",
        at=turn.now,
        state=State.FORGOTTEN,
        retired_at=turn.now,
    )
