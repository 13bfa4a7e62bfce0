"""Measures of a ranking's quality, for one question and averaged over many."""

from collections.abc import Iterable, Mapping, Sequence
from math import log2

import numpy as np

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 20260501  # fixed, so that the same questions give the same interval
DEPTHS = (1, 5, 10, 20)
MRR_DEPTH = 100
NDCG_DEPTH = 10

Scores = dict[str, float]


def interval(
    values: Sequence[float], *, draws: int = RESAMPLES, share: float = CONFIDENCE
) -> tuple[float, float]:
    """Bootstrap interval of the mean: bounds of the central `share` of the means of resamples; (0, 0) for no values."""
    if not len(values):
        return 0.0, 0.0
    random = np.random.default_rng(SEED)
    own = np.asarray(values, dtype=np.float64)
    means = np.array([own[random.integers(0, len(own), len(own))].mean() for _ in range(draws)])
    low, high = np.quantile(means, [(1 - share) / 2, (1 + share) / 2])
    return float(low), float(high)


def difference_interval(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Interval of the mean of the differences, question by question."""
    return interval([a - b for a, b in zip(ours, theirs, strict=True)])


def score_ranking(ranked: Sequence[str], relevant: Iterable[str]) -> Scores:
    """Score one ranking, best first, against the relevant ids (at least one). Repeated ids count once.

    For k of 1, 5, 10 and 20: `R@k` is the share of relevant ids among the first k, `any@k` is 1 if any is among them,
    `all@k` is 1 if all are. `MRR` is 1 / the rank of the first relevant id within 100, `nDCG@10` has binary gains.
    """
    wanted = frozenset(relevant)
    ranks = [rank for rank, id_ in enumerate(dict.fromkeys(ranked), start=1) if id_ in wanted]
    scores: Scores = {}
    for depth in DEPTHS:
        found = sum(rank <= depth for rank in ranks)
        scores[f"R@{depth}"] = found / len(wanted)
        scores[f"any@{depth}"] = float(found > 0)
        scores[f"all@{depth}"] = float(found == len(wanted))
    scores["MRR"] = 1 / ranks[0] if ranks and ranks[0] <= MRR_DEPTH else 0.0
    scores["nDCG@10"] = discounted_gain(p for p in ranks if p <= NDCG_DEPTH) / discounted_gain(
        range(1, min(NDCG_DEPTH, len(wanted)) + 1)
    )
    return scores


def mean_scores(per_question: Sequence[Mapping[str, float]]) -> Scores:
    """Mean of each measure; empty for no questions."""
    if not per_question:
        return {}
    return {
        name: sum(scores[name] for scores in per_question) / len(per_question) for name in per_question[0]
    }


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0–1) of the values lie, by nearest rank; 0 for none."""
    if not values:
        return 0.0
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def discounted_gain(ranks: Iterable[int]) -> float:
    """Discounted cumulative gain of relevant ids at these ranks; Järvelin and Kekäläinen 2002."""
    return sum(1 / log2(rank + 1) for rank in ranks)
