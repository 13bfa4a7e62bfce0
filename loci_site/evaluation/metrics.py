"""How good a ranking is: the usual measures of retrieval, over one question and over many."""

from collections.abc import Iterable, Mapping, Sequence
from math import log2

import numpy as np

DRAWS = 2000
SHARE = 0.95
SEED = 20260501  # the same questions give the same interval


def interval(values: Sequence[float], *, draws: int = DRAWS, share: float = SHARE) -> tuple[float, float]:
    """Give the bounds within which `share` of the means of as many values, drawn with replacement, lie; (0, 0) for none."""
    if not len(values):
        return 0.0, 0.0
    random = np.random.default_rng(SEED)
    own = np.asarray(values, dtype=np.float64)
    means = np.array([own[random.integers(0, len(own), len(own))].mean() for _ in range(draws)])
    low, high = np.quantile(means, [(1 - share) / 2, (1 + share) / 2])
    return float(low), float(high)


def difference_interval(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Give the interval of the mean difference, question by question."""
    return interval([a - b for a, b in zip(ours, theirs, strict=True)])


DEPTHS = (1, 5, 10, 20)
MRR_DEPTH = 100
NDCG_DEPTH = 10

Scores = dict[str, float]


def score_ranking(ranked: Sequence[str], relevant: Iterable[str]) -> Scores:
    """Score one ranking, best first, against the ids that are right (at least one). Repeated ids count once.

    For k of 1, 5, 10 and 20: `R@k` the share of the right ones among the first k, `H@k` 1 where any is, `A@k` 1
    where all are. `MRR` is 1 / the rank of the first right one within 100, `nDCG@10` has binary gains.
    """
    wanted = frozenset(relevant)
    places = [place for place, id_ in enumerate(dict.fromkeys(ranked), start=1) if id_ in wanted]
    scores: Scores = {}
    for depth in DEPTHS:
        found = sum(place <= depth for place in places)
        scores[f"R@{depth}"] = found / len(wanted)
        scores[f"H@{depth}"] = float(found > 0)
        scores[f"A@{depth}"] = float(found == len(wanted))
    scores["MRR"] = 1 / places[0] if places and places[0] <= MRR_DEPTH else 0.0
    scores["nDCG@10"] = _gain(p for p in places if p <= NDCG_DEPTH) / _gain(
        range(1, min(NDCG_DEPTH, len(wanted)) + 1)
    )
    return scores


def mean_scores(many: Sequence[Mapping[str, float]]) -> Scores:
    """Give the mean of each measure; empty for no questions."""
    if not many:
        return {}
    return {name: sum(scores[name] for scores in many) / len(many) for name in many[0]}


def percentile(values: Sequence[float], share: float) -> float:
    """Give the value below which `share` (0–1) of the values lie, by nearest rank; 0 for none."""
    if not values:
        return 0.0
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _gain(places: Iterable[int]) -> float:
    """Discounted gain of right ones at these places; Järvelin and Kekäläinen 2002."""
    return sum(1 / log2(place + 1) for place in places)
