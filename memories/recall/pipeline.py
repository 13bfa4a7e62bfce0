"""From a question to ranked memories: candidates with what there is to know of them, then their scores."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.conf import settings

from access.visibility import Visibility
from memories.recall.adjustments import adjust
from memories.recall.candidates import Candidate, add_lengths_and_turns, find_candidates
from memories.recall.fusion import FusionSettings, fuse
from memories.recall.question import Question
from memories.recall.relations import NO_RELATIONS, RelatedMemories, find_related
from memories.recall.trace import Trace
from memories.recall.weights import TUNING, Tuning
from memories.search.base import RankingFields, search_index


@dataclass(frozen=True)
class CandidateSet:
    """The candidates for a question; `rows` by key, and what is `related`, where the mode looks at more than scores.

    `room` is the key of the one group that is asked in, None where all are.
    """

    candidates: list[Candidate]
    rows: Mapping[int, RankingFields]
    related: RelatedMemories = NO_RELATIONS
    room: int | None = None


@dataclass(frozen=True)
class Ranking:
    """Keys with their scores, best first, the candidates that they were chosen from, and what was read of those.

    `asked` are those that prove, or are the other end of, a relation that the question asks for; `room` is that of Gathered.
    """

    scores: list[tuple[int, float]]
    candidates: dict[int, Candidate]
    rows: Mapping[int, RankingFields]
    asked: frozenset[int] = frozenset()
    room: int | None = None


def current_tuning() -> Tuning:
    """Give the numbers in use: the defaults, with the settings' penalty for long turns."""
    return replace(TUNING, length_penalty=settings.LOCI.retrieval.length_penalty)


def gather(question: Question, visibility: Visibility, *, mode: str, trace: Trace) -> CandidateSet:
    """Find the candidates inside the Visibility; all that asks the database."""
    limit = settings.LOCI.retrieval.candidates
    related = find_related(question, visibility) if mode == "hybrid" else NO_RELATIONS
    candidates, rows = find_candidates(
        search_index(), question, visibility, mode=mode, limit=limit, also=related.reasons, trace=trace
    )
    if mode != "hybrid":
        return CandidateSet(candidates, {})
    there = [c for c in candidates if c.key in rows]
    own = {c.key: rows[c.key] for c in there}
    found, beside = [c for c in there if c.is_found], [c for c in there if not c.is_found]
    # Each for itself: what only a relation brings makes no turn of what a search found.
    around = [*add_lengths_and_turns(found, own), *add_lengths_and_turns(beside, own)]
    return CandidateSet(around, own, related, _room(visibility))


def _room(visibility: Visibility) -> int | None:
    groups = visibility.groups or ()
    return next(iter(groups)) if len(groups) == 1 else None


def score_candidates(
    gathered: CandidateSet, question: Question, *, mode: str, tuning: Tuning, trace: Trace
) -> Ranking:
    """Fuse and adjust the candidates' scores; nothing is asked any more."""
    if not tuning.by_relations:
        gathered = _found(gathered)
    options = settings.LOCI.retrieval
    parameters = FusionSettings(options.rrf_k, options.weighted_vector, tuning, question.readable)
    scores = fuse(gathered.candidates, mode=mode, settings=parameters)
    trace.add("fuse", mode=mode, candidates=len(scores), readable=round(question.readable, 2))
    related = gathered.related
    if related.entities:
        trace.add("relations", entities=list(related.entities), followed=related.told(scores))
    if mode == "hybrid":
        boosts = related.boosts(scores, tuning)
        scores = adjust(
            scores, gathered.candidates, gathered.rows, question,
            tuning=tuning, related=boosts, room=gathered.room, trace=trace,
        )  # fmt: skip
    best_first = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    asked = frozenset(key for key, why in related.reasons.items() if why.is_asked)
    return Ranking(best_first, {c.key: c for c in gathered.candidates}, gathered.rows, asked, gathered.room)


def _found(gathered: CandidateSet) -> CandidateSet:
    """Leave out what only a relation brought."""
    candidates = [c for c in gathered.candidates if c.is_found]
    rows = {c.key: gathered.rows[c.key] for c in candidates if c.key in gathered.rows}
    return replace(gathered, candidates=candidates, rows=rows, related=NO_RELATIONS)
