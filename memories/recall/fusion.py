"""Fusion of both searches' scores into one. Pure functions over candidates; higher is better."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memories.recall.candidates import Candidate
from memories.recall.question import Question
from memories.recall.weights import (
    CLEAR_LEAD,
    LONG_QUESTION,
    LONG_TEXT_WORDS,
    MATCH_PER_WORD,
    RARE_MATCH,
    RRF_K,
    TUNING,
    WEIGHTED_VECTOR,
    Tuning,
)

Fused = dict[int, float]


@dataclass(frozen=True)
class FusionSettings:
    """Parameters of the mode hybrid. `readable`: the share (0–1) of the question's letters that the model can read."""

    tuning: Tuning = TUNING
    readable: float = 1.0


def fuse(candidates: Sequence[Candidate], *, mode: str, settings: FusionSettings) -> Fused:
    """Each candidate's fused score by key, in the mode of the request."""
    return _FUSIONS[mode](candidates, settings)


def fuse_keyword(candidates: Sequence[Candidate], _: FusionSettings) -> Fused:
    """The keyword scores alone."""
    return {c.key: c.keyword for c in candidates if c.keyword_rank}


def fuse_vector(candidates: Sequence[Candidate], _: FusionSettings) -> Fused:
    """The vector scores alone."""
    return {c.key: c.vector for c in candidates if c.vector_rank}


def fuse_rrf(candidates: Sequence[Candidate], _: FusionSettings) -> Fused:
    """Reciprocal rank fusion, both searches at equal weight."""
    return {
        c.key: sum(1 / (RRF_K + rank) for rank in (c.keyword_rank, c.vector_rank) if rank) for c in candidates
    }


def fuse_weighted(candidates: Sequence[Candidate], _: FusionSettings) -> Fused:
    """Weighted sum of both searches' scores, each scaled to 0–1 between its least and greatest."""
    keyword = scale_to_unit([c.keyword for c in candidates])
    vector = scale_to_unit([c.vector for c in candidates])
    return {
        c.key: WEIGHTED_VECTOR * v + (1 - WEIGHTED_VECTOR) * k
        for c, k, v in zip(candidates, keyword, vector, strict=True)
    }


def fuse_hybrid(candidates: Sequence[Candidate], settings: FusionSettings) -> Fused:
    """Words as a share of the best keyword match and meaning on a fixed scale, weighted by the kind of text.

    The fixed scale adapts to the question: if nothing is close in meaning, meaning adds little to any candidate.
    """
    most_keyword = max((c.keyword for c in candidates), default=0.0) or 1.0
    fused = {}
    for c in candidates:
        share = vector_share(c, settings.tuning, settings.readable)
        fused[c.key] = share * c.vector / settings.tuning.full_cosine + (1 - share) * c.keyword / most_keyword
    return fused


def vector_share(candidate: Candidate, tuning: Tuning = TUNING, readable: float = 1.0) -> float:
    """Weight of meaning against words for a candidate, 0–1; 0 while its vector is owed."""
    if not candidate.vector:
        return 0.0
    if candidate.is_turn:
        share = tuning.turn_share
    else:
        share = tuning.long_share if candidate.words > LONG_TEXT_WORDS else tuning.fact_share
    return share * readable if tuning.by_script else share


def fit_to_question(tuning: Tuning, question: Question, candidates: Sequence[Candidate]) -> Tuning:
    """The weights for this question: statements count less by meaning if it is long, or one memory leads by rare words."""
    length = len(question.subject_words)
    best = max((c.keyword for c in candidates), default=0.0)
    long = progress(length, LONG_QUESTION) * progress(best / max(length, 1), MATCH_PER_WORD)
    drop = tuning.long_question_drop * long + tuning.rare_word_drop * lead_by_words(candidates)
    return replace(tuning, fact_share=tuning.fact_share - drop) if drop else tuning


def lead_by_words(candidates: Sequence[Candidate]) -> float:
    """How clearly one candidate leads by rare words, 0–1.

    The best BM25 score says how rare its words are in the groups asked, the second one whether others have them too.
    """
    scores = sorted((c.keyword for c in candidates), reverse=True)
    if not scores or not scores[0]:
        return 0.0
    second = scores[1] if len(scores) > 1 else 0.0
    return progress(scores[0], RARE_MATCH) * progress(second / scores[0], CLEAR_LEAD)


def progress(value: float, bounds: tuple[float, float]) -> float:
    """How far a value has come from the first bound to the second, 0–1."""
    start, end = bounds
    return min(max((value - start) / (end - start), 0.0), 1.0)


def scale_to_unit(values: list[float]) -> list[float]:
    """The values scaled to 0–1 between the least and the greatest; all 1 if they are equal."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]


_FUSIONS: dict[str, Callable[[Sequence[Candidate], FusionSettings], Fused]] = {
    "keyword": fuse_keyword,
    "vector": fuse_vector,
    "rrf": fuse_rrf,
    "weighted": fuse_weighted,
    "hybrid": fuse_hybrid,
}
MODES = tuple(_FUSIONS)
