"""Expiry and cleanup: memories past their end date expire; unused ones of very low confidence sleep, and wake when used."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Concat

from access.audit.operations import Operation
from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Batch, Turn
from memories.decay import UNUSED_BELOW
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.queries.by_text import find_twin
from memories.store.derived import withdraw_summaries
from memories.store.threads import refresh_around
from memories.store.withdrawn.marks import find_withdrawn
from memories.types import SUMMARY_SOURCES, State, Trust, Type

_KEPT_IMPORTANCE = 8
_WOKEN_CONFIDENCE = 0.5
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
    """Live memories of very low confidence that have not been recalled for a long time become dormant.

    Then they are in no list, and found when nothing live answers; one that was found so since is live again. By a group's
    rule, or where the caller wants it, they are forgotten instead, the dormant ones too: retention destroys them.
    """

    name: str = "cleanup"

    def next_batch(self, turn: Turn, cursor: Any) -> Batch | None:
        """The next memories to wake, then to put to sleep; the cursor is the step's part and the last key."""
        part, after = cursor or ("wake", 0)
        if part == "wake":
            used = Memory.objects.filter(
                group=turn.group, state=State.DORMANT, last_accessed__gt=F("state_changed_at")
            )
            batch = _prepare_retirements(used, _wake_memory, turn, after, count_name="woken")
            if batch is not None:
                return replace(batch, cursor=["wake", batch.cursor])
            after = 0
        count_name = "forgotten" if turn.deletes else "put_to_sleep"
        batch = _prepare_retirements(_unused_memories(turn), _put_away, turn, after, count_name=count_name)
        return replace(batch, cursor=["sleep", batch.cursor]) if batch is not None else None


def _unused_memories(turn: Turn) -> QuerySet[Memory]:
    """The memories that nothing keeps awake: no use, no person, no importance, nothing that rests on them or stands for others.

    The idle time of a memory that was never recalled starts when it was stored or restored, or on its day if that is later.
    """
    since = turn.now - timedelta(days=turn.limits.cleanup_idle_days)
    doubtful = Memory.objects.filter(
        group=turn.group,
        state__in=[State.LIVE, State.DORMANT] if turn.deletes else [State.LIVE],
        summary=None,
        pinned=False,
        confidence__lt=UNUSED_BELOW,
        importance__lt=_KEPT_IMPORTANCE,
    ).exclude(
        # An event fades behind its week's summary, and a conversation keeps all its turns.
        Q(trust=Trust.VERIFIED) | Q(source__in=SUMMARY_SOURCES) | Q(type=Type.EPISODIC)
    )
    root = Coalesce(OuterRef("root_id"), OuterRef("key"))
    rests_on_it = Link.objects.filter(target_id=root, source__state=State.LIVE)
    evidence = rests_on_it.alias(named=Concat("kind", Value(""))).filter(
        named__in=[LinkKind.EVIDENCE, LinkKind.DERIVED]
    )
    untouched = Q(state_changed_at=None) | Q(state_changed_at__lte=since)
    begun = Q(valid_from=None) | Q(valid_from__lte=since)
    used = doubtful.annotate(used=Coalesce("last_accessed", "created_at"))
    return used.filter(
        untouched, begun, ~Exists(evidence.exclude(status=LinkStatus.DISMISSED)), used__lte=since
    )


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
    is_expired = recorder.retire(
        memory,
        Operation.RUN,
        reason=f"expired on {memory.expires_at:%Y-%m-%d %H:%M}",
        at=turn.now,
        state=State.EXPIRED,
    )
    if is_expired:
        withdraw_summaries(recorder.actor, memory)
    return is_expired


def _put_away(memory: Memory, turn: Turn, recorder: Recorder) -> bool:
    """Forget a memory that is not used where the turn deletes, else let it sleep."""
    gone = {"state": State.FORGOTTEN, "retired_at": turn.now} if turn.deletes else {"state": State.DORMANT}
    return recorder.retire(
        memory,
        Operation.FORGET if turn.deletes else Operation.RUN,
        reason=f"confidence {memory.confidence:.3f}, not recalled for {turn.limits.cleanup_idle_days:g} days",
        at=turn.now,
        **gone,
    )


def _wake_memory(memory: Memory, turn: Turn, recorder: Recorder) -> bool:
    """Wake a memory, unless its text was withdrawn meanwhile or another live memory has it."""
    if find_twin(memory) or find_withdrawn(memory.group, memory.scope, memory.content):
        return False
    return recorder.retire(
        memory,
        Operation.RUN,
        reason="it was recalled",
        at=turn.now,
        state=State.LIVE,
        confidence=max(memory.confidence, _WOKEN_CONFIDENCE),
        decayed_at=turn.now,
    )
