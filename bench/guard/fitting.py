"""Logistic regression with numpy alone, and its scores for texts of manners that it has not seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

PENALTY: Final = 1.0  # L2, on all weights but the bias
STEPS: Final = 60
MAX_LOGIT: Final = 30.0

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class FittedWeights:
    """A linear classifier."""

    weights: Numbers
    bias: float

    def scores(self, rows: Numbers) -> Numbers:
        """The sum for each row; above 0 means more likely than not."""
        return rows @ self.weights + self.bias


def fit(rows: Numbers, labels: Numbers) -> FittedWeights:
    """Weights for float64[n, d] and labels 0 or 1, by Newton steps with a fixed bound of the curvature (Böhning 1992)."""
    table = np.hstack([rows, np.ones((len(rows), 1))])
    penalty = np.full(table.shape[1], PENALTY)
    penalty[-1] = 1e-6
    inverse = np.linalg.inv(table.T @ table / 4 + np.diag(penalty))
    weights = np.zeros(table.shape[1])
    momentum = weights
    for step in range(STEPS):
        logits = np.clip(table @ momentum, -MAX_LOGIT, MAX_LOGIT)
        gradient = table.T @ (1 / (1 + np.exp(-logits)) - labels) + penalty * momentum
        following = momentum - inverse @ gradient
        momentum = following + step / (step + 3) * (following - weights)  # Nesterov 1983
        weights = following
    return FittedWeights(weights[:-1], float(weights[-1]))


def unseen_scores(rows: Numbers, labels: Numbers, folds: Sequence[int]) -> Numbers:
    """The score of each row by a classifier that saw no row of its fold."""
    parts = np.asarray(folds)
    scores = np.empty(len(rows))
    for part in sorted(set(folds)):
        held = parts == part
        scores[held] = fit(rows[~held], labels[~held]).scores(rows[held])
    return scores
