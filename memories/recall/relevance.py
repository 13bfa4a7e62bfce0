"""Judging whether the best candidates answer the question at all."""

from collections.abc import Sequence

from memories.recall.query import Question
from memories.recall.trace import Trace

# Two unrelated sentences seldom come nearer than this with all-MiniLM-L6-v2 (STS-B pairs scored 0: 95th percentile).
UNRELATED_COSINE = 0.30


def is_answerable(question: Question, best: Sequence[int], trace: Trace) -> bool:
    """Say whether any of the best candidates is relevant: it shares a telling word, or is near in meaning."""
    if not best:
        trace.add("relevance", answerable=False, why="there are no candidates")
        return False
    numbers = [trace.numbers.get(key, {}) for key in best]
    has_words = any(n.get("keyword", 0.0) > 0 for n in numbers)
    nearest = max((n.get("vector", 0.0) for n in numbers), default=0.0)
    answerable = has_words or nearest >= UNRELATED_COSINE
    trace.add("relevance", answerable=answerable, shares_words=has_words, nearest_cosine=round(nearest, 4))
    return answerable
