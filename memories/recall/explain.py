"""Why a question brings a memory or does not: its place, or the step that left it out. Recall's own steps, traced."""

from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from access.visibility import Visibility
from memories.models import Memory
from memories.queries.by_key import read_shown
from memories.queries.visibility import is_visible
from memories.recall.abstention import (
    FILLER_REASON,
    JUDGED_CANDIDATES,
    is_answerable,
    is_filler,
)
from memories.recall.pipeline import Ranking, current_tuning, gather, score_candidates
from memories.recall.question import Question
from memories.recall.trace import Trace

# What each filter is called, and how a Visibility looks that does not ask for it.
_FILTERS: dict[str, dict[str, Any]] = {
    "types": {"types": frozenset()},
    "tags": {"tags": frozenset()},
    "scope": {"scope": ""},
    "min_confidence": {"min_confidence": 0.0},
    "after": {"after": None},
    "before": {"before": None},
    "group": {"groups": None},
}


@dataclass(frozen=True)
class Placement:
    """A memory's rank for a question (None: it is no candidate) and what became of it; `reason` is a sentence."""

    rank: int | None
    reason: str


def explain_place(
    question: Question, visibility: Visibility, memory: Memory, *, mode: str, trace: Trace
) -> Placement:
    """Say where the question ranks a memory inside the Visibility, and whether an answer with the defaults has it."""
    gathered = gather(question, visibility, mode=mode, trace=trace)
    ranking = score_candidates(gathered, question, mode=mode, tuning=current_tuning(), trace=trace)
    rank = next((rank for rank, (key, _) in enumerate(ranking.scores, start=1) if key == memory.key), None)
    if rank is None:
        return Placement(None, f"neither search has it among its first {settings.LOCI.retrieval.candidates}")
    if not _is_answerable(question, ranking, trace):
        return Placement(rank, f"it ranks {rank}, but {NOTHING_NEAR}")
    limit = settings.LOCI.retrieval.max_results
    against = [f"only {limit} are returned by default"] if rank > limit else []
    against += [FILLER_REASON] if is_filler(memory.key, ranking, question) else []
    return Placement(rank, f"it ranks {rank}" + (f", but {' and '.join(against)}" if against else ""))


def excluding_filters(memory: Memory, visibility: Visibility) -> list[str]:
    """Name the filters without any one of which the memory would be inside the Visibility."""
    return [name for name, unasked in _FILTERS.items() if is_visible(memory, replace(visibility, **unasked))]


def _is_answerable(question: Question, ranking: Ranking, trace: Trace) -> bool:
    rows = read_shown(key for key, _ in ranking.scores[:JUDGED_CANDIDATES])
    best = [rows[key] for key, _ in ranking.scores[:JUDGED_CANDIDATES] if key in rows]
    return is_answerable(question, ranking, best, trace)
