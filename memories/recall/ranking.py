"""Adjusting fused scores by what the question and the memories say beside their words."""

from collections import defaultdict
from collections.abc import Mapping

from memories.models import Memory
from memories.recall.query import NamedDate, Question
from memories.recall.trace import Trace
from memories.types import Trust

THREAD_BEST = 3  # a thread is as good as the mean of its three best memories
THREAD_PRIOR = 0.3
DATE_BOOST = 0.4  # the question names the month and day (or all that it names) of the memory
NAME_BOOST = 0.1
CONFIDENCE_WEIGHT = 0.05
TRUST_BOOST = {Trust.VERIFIED: 0.05, Trust.DISPUTED: -0.1}


def adjust(
    fused: Mapping[int, float], rows: Mapping[int, Memory], question: Question, *, trace: Trace
) -> dict[int, float]:
    """Give the scores with each boost added; the trace keeps every part. Fused scores are 0–1."""
    threads = _thread_priors(fused, rows)
    adjusted = {}
    for key, score in fused.items():
        row = rows[key]
        parts = {
            "thread": THREAD_PRIOR * threads.get(row.thread_id, 0.0) if row.thread_id else 0.0,
            "date": DATE_BOOST if _is_dated(row, question.dates) else 0.0,
            "name": NAME_BOOST if _is_named(row, question.names) else 0.0,
            "confidence": CONFIDENCE_WEIGHT * (row.confidence - 0.5),
            "trust": TRUST_BOOST.get(Trust(row.trust), 0.0),
        }
        adjusted[key] = score + sum(parts.values())
        trace.score(
            key, fused=score, **{name: part for name, part in parts.items() if part}, final=adjusted[key]
        )
    trace.add(
        "adjust",
        threads=len(threads),
        dates=[_shown(date) for date in question.dates],
        names=sorted(question.names),
    )
    return adjusted


def _thread_priors(fused: Mapping[int, float], rows: Mapping[int, Memory]) -> dict[int, float]:
    by_thread: dict[int, list[float]] = defaultdict(list)
    for key, score in fused.items():
        thread = rows[key].thread_id
        if thread is not None:
            by_thread[thread].append(score)
    best = {thread: sorted(scores, reverse=True)[:THREAD_BEST] for thread, scores in by_thread.items()}
    return {thread: sum(scores) / THREAD_BEST for thread, scores in best.items()}


def _is_dated(row: Memory, dates: tuple[NamedDate, ...]) -> bool:
    """Say whether one of the dates names the memory's own: all that the date says must fit."""
    moment = row.valid_from
    if moment is None:
        return False
    return any(
        (date.year in (None, moment.year))
        and (date.month in (None, moment.month))
        and (date.day in (None, moment.day))
        for date in dates
    )


def _is_named(row: Memory, names: frozenset[str]) -> bool:
    if not names:
        return False
    # The subject of a memory stands at its beginning: "Maria: …", "The ledger uses …".
    opening = row.content[:60].lower()
    return any(name in opening for name in names)


def _shown(date: NamedDate) -> str:
    return "-".join(str(part) if part is not None else "*" for part in (date.year, date.month, date.day))
