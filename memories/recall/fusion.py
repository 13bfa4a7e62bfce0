"""Fusing two arms' scores into one. Pure functions over candidates; higher is better."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memories.recall.candidates import Candidate

Fused = dict[int, float]


@dataclass(frozen=True)
class FusionSettings:
    """Parameters of the modes: `rrf_k` ranks, `weighted_vector` and `hybrid_vector` the vector arm's share, 0–1."""

    rrf_k: int = 60  # Cormack, Clarke, Büttcher 2009
    weighted_vector: float = 0.7
    hybrid_vector: float = 0.5


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
    """Each arm divided by its greatest score, then weighed."""
    share = settings.hybrid_vector
    most_keyword = max((c.keyword for c in candidates), default=0.0) or 1.0
    most_vector = max((c.vector for c in candidates), default=0.0) or 1.0
    return {
        c.key: share * max(0.0, c.vector) / most_vector + (1 - share) * c.keyword / most_keyword
        for c in candidates
    }


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
