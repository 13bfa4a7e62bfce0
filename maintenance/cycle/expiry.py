"""Expiry and cleanup: memories past their end date expire; unused ones of very low confidence are forgotten."""

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
from memories.store.threads import refresh_around
from memories.types import State, Trust

_FORGET_BELOW = 0.05  # confidence of a memory that was not recalled for a long time
# Per transaction: each retirement touches the row, its pieces in both indexes, and its neighbours.
ROWS = 50

_RetireMemory = Callable[[Memory, Turn, Recorder], bool]


@dataclass(frozen=True)
class Expire:
    """Live memories whose `expires_at` has passed become expired."""

    name: str = "expire"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """The next memories past their end date."""
        ended = Memory.objects.filter(group=turn.group, state=State.LIVE, expires_at__lte=turn.now)
        return _prepare_retirements(ended, _expire_memory, turn, cursor, count_name="expired")


@dataclass(frozen=True)
class Cleanup:
    """Live memories of very low confidence that have not been recalled for a long time are forgotten."""

    name: str = "cleanup"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """The next memories to forget; never pinned or verified ones.

        The idle time of a memory that was never recalled starts when it was stored or restored.
        """
        since = turn.now - timedelta(days=turn.limits.cleanup_idle_days)
        doubtful = Memory.objects.filter(
            group=turn.group,
            state=State.LIVE,
            pinned=False,
            confidence__lt=_FORGET_BELOW,
        ).exclude(trust=Trust.VERIFIED)
        used = Coalesce("last_accessed", "created_at")
        untouched = Q(state_changed_at=None) | Q(state_changed_at__lte=since)
        idle = doubtful.annotate(used=used).filter(untouched, used__lte=since)
        return _prepare_retirements(idle, forget_memory, turn, cursor, count_name="forgotten")


def _prepare_retirements(
    rows: QuerySet[Memory], retire: _RetireMemory, turn: Turn, cursor: Any, *, count_name: str
) -> Batch | None:
    """A batch that retires the next of `rows` after the key `cursor`; None when none are left."""
    keys = list(rows.filter(key__gt=cursor or 0).order_by("key").values_list("key", flat=True)[:ROWS])
    if not keys:
        return None

    def write(recorder: Recorder) -> Mapping[str, int]:
        found = rows.filter(key__in=keys).select_related("group", "thread").order_by("key")
        retired = [memory for memory in found if retire(memory, turn, recorder)]
        refresh_around(retired)
        return {count_name: len(retired)}

    return Batch(cursor=keys[-1], write=write)


def _expire_memory(memory: Memory, turn: Turn, recorder: Recorder) -> bool:
    return recorder.retire(
        memory,
        Operation.RUN,
        reason=f"expired on {memory.expires_at:%Y-%m-%d %H:%M}",
        at=turn.now,
        state=State.EXPIRED,
    )


def forget_memory(memory: Memory, turn: Turn, recorder: Recorder) -> bool:
    """Forget a memory, restorably; False if it changed meanwhile."""
    return recorder.retire(
        memory,
        Operation.FORGET,
        reason=f"confidence {memory.confidence:.3f}, not recalled for {turn.limits.cleanup_idle_days:g} days",
        at=turn.now,
        state=State.FORGOTTEN,
        retired_at=turn.now,
    )
