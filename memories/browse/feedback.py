"""Feedback on a memory as its page, the Review and the counts show it; `memories.review.feedback` takes it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from django.db.models import Count, QuerySet

from memories.language.plurals import format_times
from memories.models import Feedback, FeedbackVerdict, Memory

MAX_SHOWN: Final = 10


@dataclass(frozen=True)
class FeedbackCounts:
    """How often memories were said to be used and to be wrong, and the newest verdicts."""

    used: int = 0
    wrong: int = 0
    newest: tuple[Feedback, ...] = ()

    @property
    def in_words(self) -> str:
        """The counts in words; empty without feedback."""
        if not self.used and not self.wrong:
            return ""
        return f"used {format_times(self.used)}, wrong {format_times(self.wrong)}"


def feedback_on(keys: Collection[int]) -> FeedbackCounts:
    """What was said about a memory, by the keys of its versions."""
    rows = Feedback.objects.filter(memory__in=keys)
    newest = tuple(rows.order_by("-at", "-key")[:MAX_SHOWN])
    if len(newest) == MAX_SHOWN:
        return FeedbackCounts(*count_verdicts(rows), newest)
    words = [row.verdict for row in newest]
    return FeedbackCounts(words.count(FeedbackVerdict.USED), words.count(FeedbackVerdict.WRONG), newest)


def feedback_in(memories: QuerySet[Memory]) -> FeedbackCounts:
    """What was said about all these memories, without the single verdicts."""
    return FeedbackCounts(
        *count_verdicts(Feedback.objects.filter(memory__in=memories.order_by().values("key")))
    )


def count_verdicts(rows: QuerySet[Feedback]) -> tuple[int, int]:
    """How many of the rows say used, and how many wrong."""
    counts = dict(rows.order_by().values_list("verdict").annotate(count=Count("key")))
    return counts.get(FeedbackVerdict.USED, 0), counts.get(FeedbackVerdict.WRONG, 0)
