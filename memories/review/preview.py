"""What a decision does to recall: the same question asked before and after it, and how both answers differ."""

from dataclasses import dataclass

from django.db import transaction

from access.actor import READ, Actor
from memories.models import Memory
from memories.queries.versions import find_memory
from memories.recall import RecallRequest, recall
from memories.review.decide import ReviewDecision, decide

QUESTION_WORDS = 24  # of the memory's own; a question is seldom longer
SHOWN = 6


@dataclass(frozen=True)
class PreviewLine:
    """One memory of the two answers: its place in each (None: not in it), and its label in the later one."""

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
class RecallDifference:
    """What a question brings before and after a decision; `keyword_only` where the model is not there."""

    question: str
    lines: tuple[PreviewLine, ...]
    is_answered_before: bool
    is_answered_after: bool
    degraded: str = ""

    @property
    def is_none(self) -> bool:
        """True where the decision does not change the answer."""
        return all(line.change == "same" for line in self.lines)


def effect_of(actor: Actor, decision: ReviewDecision, *, question: str = "") -> RecallDifference:
    """Ask before and after a decision, which is tried and taken back; nothing stays, and the recalls are not counted.

    Without a question it is the memory's own words. Asked in the memory's group.
    """
    memory = find_memory(actor, decision.id)
    asked = RecallRequest(
        query=question.strip() or " ".join(memory.content.split()[:QUESTION_WORDS]),
        group=memory.group.slug if actor.may(READ, memory.group_id) else None,
        max_results=SHOWN,
        is_trial=True,
    )
    before = recall(actor, asked)  # embeds the question, which the second recall finds ready
    with transaction.atomic():
        decide(actor, decision)
        after = recall(actor, asked)
        transaction.set_rollback(True)
    was = {item.memory.key: place for place, item in enumerate(before.items, start=1)}
    now = {item.memory.key: place for place, item in enumerate(after.items, start=1)}
    rows = {item.memory.key: item.memory for item in (*before.items, *after.items)}
    labels = {item.memory.key: item.label for item in after.items}
    lines = [PreviewLine(row, was.get(key), now.get(key), labels.get(key, "")) for key, row in rows.items()]
    lines.sort(key=lambda line: (line.after or line.before or 0, line.after is None))
    return RecallDifference(
        asked.query, tuple(lines), not before.abstained, not after.abstained, before.degraded
    )
