"""The effect of a decision on recall: the same query before and after it, and the differences."""

from dataclasses import dataclass

from django.db import transaction

from access.actor import READ, Actor
from memories.models import Memory
from memories.queries.versions import find_memory
from memories.recall import RecallRequest, recall
from memories.review.decide import ReviewDecision, decide

_QUERY_WORDS = 24  # of the memory's text; a query is seldom longer
MAX_RESULTS = 6


@dataclass(frozen=True)
class _PreviewLine:
    """One memory of the two answers: its rank in each (None: not in it), and its label in the later one."""

    memory: Memory
    before: int | None
    after: int | None
    label: str = ""

    @property
    def change(self) -> str:
        """`new`, `gone`, `moved` or `same`."""
        if self.before is None:
            return "new"
        if self.after is None:
            return "gone"
        return "same" if self.before == self.after else "moved"


@dataclass(frozen=True)
class _RecallDifference:
    """The results of a query before and after a decision; `degraded` says why, if the search was by words only."""

    question: str
    lines: tuple[_PreviewLine, ...]
    is_answered_before: bool
    is_answered_after: bool
    degraded: str = ""

    @property
    def is_unchanged(self) -> bool:
        """True if the decision does not change the answer."""
        return all(line.change == "same" for line in self.lines)


def preview_effect(actor: Actor, decision: ReviewDecision, *, question: str = "") -> _RecallDifference:
    """Recall before and after a decision that is tried and rolled back; the recalls are not counted.

    The query defaults to the first words of the memory. It is asked in the memory's group.
    """
    memory = find_memory(actor, decision.id)
    request = RecallRequest(
        query=question.strip() or " ".join(memory.content.split()[:_QUERY_WORDS]),
        group=memory.group.slug if actor.may(READ, memory.group_id) else None,
        max_results=MAX_RESULTS,
        is_trial=True,
    )
    before = recall(actor, request)  # embeds the query; the second recall reuses the vector
    with transaction.atomic():
        decide(actor, decision)
        after = recall(actor, request)
        transaction.set_rollback(True)
    ranks_before = {item.memory.key: rank for rank, item in enumerate(before.items, start=1)}
    ranks_after = {item.memory.key: rank for rank, item in enumerate(after.items, start=1)}
    rows = {item.memory.key: item.memory for item in (*before.items, *after.items)}
    labels = {item.memory.key: item.label for item in after.items}
    lines = [
        _PreviewLine(row, ranks_before.get(key), ranks_after.get(key), labels.get(key, ""))
        for key, row in rows.items()
    ]
    lines.sort(key=lambda line: (line.after or line.before or 0, line.after is None))
    answered = not before.abstained, not after.abstained
    return _RecallDifference(request.query, tuple(lines), *answered, before.degraded)
