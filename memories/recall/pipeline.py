"""From a question to ranked memories: candidates with everything known of them, then their scores."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.conf import settings

from access.visibility import Visibility
from memories.recall.adjustments import adjust
from memories.recall.candidates import Candidate, add_lengths_and_turns, find_candidates
from memories.recall.fusion import FusionSettings, fit_to_question, fuse
from memories.recall.question import Question
from memories.recall.relations import NO_RELATIONS, RelatedMemories, find_related
from memories.recall.trace import Trace
from memories.recall.weights import TUNING, Tuning
from memories.search.base import RankingFields, search_index


@dataclass(frozen=True)
class CandidateSet:
    """The candidates for a question; in mode hybrid also their `rows` by key and the `related` memories.

    `group_key` is the one group of the request, None for all.
    """

    candidates: list[Candidate]
    rows: Mapping[int, RankingFields]
    related: RelatedMemories = NO_RELATIONS
    group_key: int | None = None

    def without_relations(self) -> "CandidateSet":
        """The set without the candidates that only a relation led to."""
        candidates = [c for c in self.candidates if c.is_found]
        rows = {c.key: self.rows[c.key] for c in candidates if c.key in self.rows}
        return replace(self, candidates=candidates, rows=rows, related=NO_RELATIONS)


@dataclass(frozen=True)
class Ranking:
    """Keys with their scores, best first, the candidates by key, and the rows read of them.

    `requested` are the memories that prove, or are the other end of, a relation that the question asks for; `related`
    are all that a relation or another name led to; `group_key` is the CandidateSet's.
    """

    scores: list[tuple[int, float]]
    candidates: dict[int, Candidate]
    rows: Mapping[int, RankingFields]
    requested: frozenset[int] = frozenset()
    related: frozenset[int] = frozenset()
    group_key: int | None = None


def current_tuning() -> Tuning:
    """The weights in use: the defaults, with the setting's penalty for long turns."""
    return replace(TUNING, length_penalty=settings.LOCI.retrieval.length_penalty)


def gather(question: Question, visibility: Visibility, *, mode: str, trace: Trace) -> CandidateSet:
    """The candidates inside the Visibility; every query of ranking happens here."""
    limit = settings.LOCI.retrieval.candidates
    related = find_related(question, visibility) if mode == "hybrid" else NO_RELATIONS
    candidates, rows = find_candidates(
        search_index(), question, visibility, mode=mode, limit=limit, also=related.reasons, trace=trace
    )
    if mode != "hybrid":
        return CandidateSet(candidates, {})
    present = [c for c in candidates if c.key in rows]
    own = {c.key: rows[c.key] for c in present}
    found, beside = [c for c in present if c.is_found], [c for c in present if not c.is_found]
    # Separately: a memory that only a relation led to makes no turn of a search's hit.
    complete = [*add_lengths_and_turns(found, own), *add_lengths_and_turns(beside, own)]
    groups = visibility.groups or ()
    return CandidateSet(complete, own, related, next(iter(groups)) if len(groups) == 1 else None)


def score_candidates(
    gathered: CandidateSet, question: Question, *, mode: str, tuning: Tuning, trace: Trace
) -> Ranking:
    """Fuse and adjust the candidates' scores; no queries."""
    if not tuning.by_relations:
        gathered = gathered.without_relations()
    if mode == "hybrid":
        tuning = fit_to_question(tuning, question, gathered.candidates)
    options = settings.LOCI.retrieval
    parameters = FusionSettings(options.rrf_k, options.weighted_vector, tuning, question.readable)
    scores = fuse(gathered.candidates, mode=mode, settings=parameters)
    trace.add("fuse", mode=mode, candidates=len(scores), readable=round(question.readable, 2))
    related = gathered.related
    if related.entities:
        trace.add("relations", entities=list(related.entities), followed=related.describe(scores))
    if mode == "hybrid":
        boosts = related.boosts(scores, tuning)
        scores = adjust(
            scores, gathered.candidates, gathered.rows, question,
            tuning=tuning, related=boosts, group_key=gathered.group_key, trace=trace,
        )  # fmt: skip
    best_first = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    requested = frozenset(key for key, reason in related.reasons.items() if reason.is_requested)
    by_key = {c.key: c for c in gathered.candidates}
    led_to = frozenset(related.reasons)
    return Ranking(best_first, by_key, gathered.rows, requested, led_to, gathered.group_key)
