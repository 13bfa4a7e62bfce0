"""Why a question returns a memory or does not: its rank, or the step that left it out. Recall's own steps, traced."""

from dataclasses import dataclass, replace
from typing import Any

from access.visibility import Visibility
from memories.models import Memory
from memories.queries.by_key import read_memories
from memories.queries.visibility import is_visible
from memories.recall.abstention import NOTHING_RELEVANT, is_answerable, reasons_against
from memories.recall.pipeline import Ranking
from memories.recall.question import Question
from memories.recall.shown.collecting import AnswerLimits, read_collecting, usual_limit
from memories.recall.shown.second_hop import find_ranking
from memories.recall.trace import Trace
from memories.recall.weights import CANDIDATES, JUDGED_CANDIDATES

# Each filter by name, and the fields of a Visibility without it.
_WITHOUT_FILTER: dict[str, dict[str, Any]] = {
    "types": {"types": frozenset()},
    "tags": {"tags": frozenset()},
    "scope": {"scope": ""},
    "min_confidence": {"min_confidence": 0.0},
    "min_importance": {"min_importance": 0},
    "thread": {"thread": ""},
    "source": {"source": ""},
    "after": {"after": None},
    "before": {"before": None},
    "include_orphans": {"orphans": frozenset()},
    "group": {"groups": None},
}


@dataclass(frozen=True)
class Placement:
    """A memory's rank for a question (None: no candidate) and what became of it; `reason` is a sentence."""

    rank: int | None
    reason: str


def explain_place(
    question: Question, visibility: Visibility, memory: Memory, *, mode: str, trace: Trace
) -> Placement:
    """The memory's rank for the question inside the Visibility, and whether a default answer contains it."""
    ranking = find_ranking(question, visibility, mode=mode, trace=trace)
    rank = next((rank for rank, (key, _) in enumerate(ranking.scores, start=1) if key == memory.key), None)
    if rank is None:
        return Placement(None, f"neither search has it among its first {CANDIDATES}")
    rows = read_memories(key for key, _ in ranking.scores[:JUDGED_CANDIDATES])
    best = [rows[key] for key, _ in ranking.scores[:JUDGED_CANDIDATES] if key in rows]
    if not is_answerable(question, ranking, best, trace):
        return Placement(rank, f"it ranks {rank}, but {NOTHING_RELEVANT}")
    limit = usual_limit(question, read_collecting(question.text))
    against = [f"only {limit} are returned by default"] if rank > limit else []
    against += reasons_against(memory.key, ranking, question)
    return Placement(rank, f"it ranks {rank}" + (f", but {' and '.join(against)}" if against else ""))


def excluding_filters(memory: Memory, visibility: Visibility) -> list[str]:
    """Names of the filters that exclude the memory on their own: without one of them it is inside the Visibility."""
    return [
        name for name, fields in _WITHOUT_FILTER.items() if is_visible(memory, replace(visibility, **fields))
    ]


def trace_left_out(
    chosen: list[Memory],
    ranking: Ranking,
    question: Question,
    limits: AnswerLimits,
    *,
    is_found: bool,
    trace: Trace,
) -> None:
    """Record everything that keeps each other candidate out, so that nobody raises a limit in vain."""
    settled = {memory.key for memory in chosen} | trace.dropped.keys()
    for at, (key, _) in enumerate(ranking.scores):
        if key in settled:
            continue
        beyond = [f"beyond the first {limits.limit}"] if at >= limits.limit else []
        reasons = [*beyond, *reasons_against(key, ranking, question, least_share=limits.least_share)]
        trace.drop(key, " and ".join(reasons) if is_found else NOTHING_RELEVANT)
