"""How far a mean over questions may lie from the truth: intervals by drawing the questions again and again."""

from collections.abc import Sequence

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
