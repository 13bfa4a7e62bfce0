"""Feedback on recalled memories: agents say by id what was used or wrong. Reviews and counts show it; rank ignores it.

Like the recall log it is bookkeeping and no change of a memory, so the audit log has no row of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final, Literal
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from access.actor import Actor
from access.answers import Answer, ShownAs
from access.audit import one_change
from access.errors import InvalidInput
from memories.browse.recalls import find_recall, recall_id
from memories.models import Feedback, FeedbackVerdict, Memory, RecallLog
from memories.queries.versions import find_memory
from memories.recall_log import COUNTER, unpack_hits

MAX_IDS: Final = 100
_LOOKED_BACK: Final = timedelta(days=1)  # for the recall that a memory came from
LOOKED_THROUGH: Final = 500  # of the caller's recalls


@dataclass(frozen=True)
class _GivenFeedback:
    """A verdict as stored. `recall` is None if no recall of the caller that returned the memory is known."""

    memory: Memory
    verdict: str
    recall: RecallLog | None
    is_new: bool


@one_change
def give_feedback(
    actor: Actor, *, used: Sequence[str] = (), wrong: Sequence[str] = (), recall: str = ""
) -> list[_GivenFeedback]:
    """Note which memories of a recall were used, and which were wrong. All of it or nothing.

    The recall is the caller's newest of the last day that returned the memory, unless `recall` names one. A verdict
    counts once for each recall, memory and caller; another one replaces it. A recall answered by another process may reach
    the log only after retrieval.access_flush_s seconds.

    Raises:
        InvalidInput: no id, too many, an id with both verdicts, or a memory that the named recall did not return.
        NotFound, NotPermitted: the actor may not see a memory or the recall.
    """
    wanted = _find_judged(actor, {FeedbackVerdict.USED: used, FeedbackVerdict.WRONG: wrong})
    COUNTER.flush()  # the recall may have been answered a moment ago
    own = RecallLog.objects.filter(at__gte=timezone.now() - _LOOKED_BACK, actor=actor.name).order_by("-key")
    logged = [find_recall(actor, recall)] if recall else list(own[:LOOKED_THROUGH])
    results = [(row, {key for key, _ in unpack_hits(bytes(row.hits))}) for row in logged]
    given = []
    with transaction.atomic():
        for memory, verdict in wanted:
            row = next((row for row, keys in results if memory.key in keys), None)
            if recall and row is None:
                raise InvalidInput(f"The recall did not return {memory.id}.", field="recall")
            given.append(_store_verdict(actor, memory, verdict, row))
    return given


def _find_judged(
    actor: Actor, verdicts: Mapping[FeedbackVerdict, Sequence[str]]
) -> list[tuple[Memory, FeedbackVerdict]]:
    """The memories of the ids with their verdicts, each once."""
    if not 0 < sum(map(len, verdicts.values())) <= MAX_IDS:
        raise InvalidInput(
            f"Pass from 1 to {MAX_IDS} ids of memories that were used or wrong.",
            hint="Recall returns ids.",
            field="used",
        )
    found: dict[int, tuple[Memory, FeedbackVerdict]] = {}
    for verdict, ids in verdicts.items():
        for raw in ids:
            memory = find_memory(actor, raw, field=verdict.value)
            if found.setdefault(memory.key, (memory, verdict))[1] is not verdict:
                raise InvalidInput(
                    f"{memory.id} is named as used and as wrong.", hint="Choose one.", field=verdict.value
                )
    return list(found.values())


def _store_verdict(
    actor: Actor, memory: Memory, verdict: FeedbackVerdict, recall: RecallLog | None
) -> _GivenFeedback:
    """Write one verdict, or replace the caller's earlier one about this recall and memory."""
    row, is_new = Feedback.objects.get_or_create(
        memory=memory,
        actor=actor.name,
        recall=recall.key if recall is not None else 0,
        defaults={"verdict": verdict, "via": actor.via},
    )
    if row.verdict != verdict:
        Feedback.objects.filter(pk=row.pk).update(verdict=verdict, via=actor.via, at=timezone.now())
    return _GivenFeedback(memory, verdict.value, recall, is_new or row.verdict != verdict)


class VerdictOut(Answer):
    """A stored verdict; `recall` is null if no recall of the caller that returned the memory is known."""

    id: Annotated[UUID, ShownAs("memory.id")]
    verdict: Literal["used", "wrong"]
    recall: Annotated[str | None, ShownAs(lambda given, _: recall_id(given.recall) if given.recall else None)]


class FeedbackOut(Answer):
    """The verdicts; `recorded` counts those that were not stored before."""

    recorded: Annotated[int, ShownAs(lambda given, _: sum(each.is_new for each in given))]
    feedback: Annotated[tuple[VerdictOut, ...], ShownAs(lambda given, _: given)]
