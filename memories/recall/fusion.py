"""Fusing two arms' scores into one. Pure functions over candidates; higher is better."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memories.recall.candidates import Candidate
from memories.recall.weights import TUNING, Tuning

Fused = dict[int, float]

FULL_COSINE = TUNING.full_cosine
LONG_WORDS = 180  # about what the encoder reads at once


@dataclass(frozen=True)
class FusionSettings:
    """Parameters of the modes: `rrf_k` of rrf, `weighted_vector` the vector arm's share in weighted, 0–1.

    Of hybrid they are `tuning`, and `readable`, the share (0–1) of the question's letters that the model can read.
    """

    rrf_k: int = 60  # Cormack, Clarke, Büttcher 2009
    weighted_vector: float = 0.7
    tuning: Tuning = TUNING
    readable: float = 1.0


def fuse(candidates: Sequence[Candidate], *, mode: str, settings: FusionSettings) -> Fused:
    """Give each candidate's fused score by key, for the mode asked for."""
    return _MODES[mode](candidates, settings)


def _keyword(candidates: Sequence[Candidate], _: FusionSettings) -> Fused:
    return {c.key: c.keyword for c in candidates if c.keyword_rank}


def _vector(candidates: Sequence[Candidate], _: FusionSettings) -> Fused:
    return {c.key: c.vector for c in candidates if c.vector_rank}


def _rrf(candidates: Sequence[Candidate], settings: FusionSettings) -> Fused:
    """Reciprocal rank fusion, both arms alike."""
    k = settings.rrf_k
    return {
        c.key: sum(1 / (k + rank) for rank in (c.keyword_rank, c.vector_rank) if rank) for c in candidates
    }


def _weighted(candidates: Sequence[Candidate], settings: FusionSettings) -> Fused:
    """Each arm brought to 0–1 between its least and greatest score, then weighed."""
    share = settings.weighted_vector
    keyword = _spread([c.keyword for c in candidates])
    vector = _spread([c.vector for c in candidates])
    return {c.key: share * v + (1 - share) * k for c, k, v in zip(candidates, keyword, vector, strict=True)}


def _hybrid(candidates: Sequence[Candidate], settings: FusionSettings) -> Fused:
    """Words as a share of the best keyword match, meaning on its own fixed scale, weighed by the kind of text.

    The fixed scale is what adapts to the question: where nothing is near in meaning, meaning says little for any.
    """
    most_keyword = max((c.keyword for c in candidates), default=0.0) or 1.0
    fused = {}
    for c in candidates:
        share = vector_share(c, settings.tuning, settings.readable)
        fused[c.key] = share * c.vector / settings.tuning.full_cosine + (1 - share) * c.keyword / most_keyword
    return fused


def vector_share(candidate: Candidate, tuning: Tuning = TUNING, readable: float = 1.0) -> float:
    """Give the weight of meaning against words for a candidate, 0–1; 0 where its vector is still owed."""
    if not candidate.vector:
        return 0.0
    if candidate.is_turn:
        share = tuning.turn_share
    else:
        share = tuning.long_share if candidate.words > LONG_WORDS else tuning.fact_share
    return share * readable if tuning.by_script else share


def _spread(values: list[float]) -> list[float]:
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]


_MODES: dict[str, Callable[[Sequence[Candidate], FusionSettings], Fused]] = {
    "keyword": _keyword,
    "vector": _vector,
    "rrf": _rrf,
    "weighted": _weighted,
    "hybrid": _hybrid,
}
MODES = tuple(_MODES)
