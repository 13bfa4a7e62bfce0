"""The weights of wordings: logistic regression over hashed grams, with numpy alone, on windows of two sentences."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.guard.fitting import MAX_LOGIT, FittedWeights, Numbers
from guard.injection.wording import BITS, grams, windows

PENALTY: Final = 3e-5  # L2, on the mean loss
STEPS: Final = 120
POWER_STEPS: Final = 12
CONSTANT: Final = 0.1  # the bias as a feature, small so that it does not set the step


class GramRows:
    """The grams of the windows of texts, as a sparse table with rows of unit length."""

    def __init__(self, texts: Sequence[str]) -> None:
        hashes, sizes, owners = list[NDArray[np.uint32]](), list[int](), list[int]()
        for owner, text in enumerate(texts):
            found = grams(text)
            order = np.argsort(found.starts, kind="stable")
            starts, sorted_hashes = found.starts[order], found.hashes[order]
            for span in windows(text):
                first, last = np.searchsorted(starts, span)
                if last > first:
                    hashes.append(sorted_hashes[first:last])
                    sizes.append(int(last - first))
                    owners.append(owner)
        self.texts = len(texts)
        self.owners = np.array(owners)
        self._hashes = np.concatenate(hashes)
        self._sizes = np.array(sizes)
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._values = 1 / np.sqrt(self._sizes)

    def times(self, weights: Numbers) -> Numbers:
        """The weighted sum of each window."""
        return np.add.reduceat(weights[self._hashes], self._starts) * self._values

    def transposed_times(self, values: Numbers) -> Numbers:
        """For each hash, the sum over the windows that have it."""
        return np.bincount(self._hashes, np.repeat(values * self._values, self._sizes), 1 << BITS)

    def highest(self, fitted: FittedWeights) -> Numbers:
        """The highest score of a window, and the mean, for each text: float64[n, 2]."""
        scores = self.times(fitted.weights) + fitted.bias
        best = np.full(self.texts, -np.inf)
        np.maximum.at(best, self.owners, scores)
        count = np.bincount(self.owners, minlength=self.texts)
        mean = np.bincount(self.owners, scores, self.texts) / np.maximum(count, 1)
        return np.column_stack([np.where(count > 0, best, 0.0), mean])


def fit_wording(rows: GramRows, labels: Numbers, chosen: NDArray[np.bool_]) -> FittedWeights:
    """The weights of the hashes, for the windows of the chosen texts; both labels weigh the same in all."""
    truth, used = labels[rows.owners], chosen[rows.owners]
    shares = np.where(truth == 1, 0.5 / (truth[used] == 1).sum(), 0.5 / (truth[used] == 0).sum()) * used
    direction = np.random.default_rng(0).random(1 << BITS)
    curvature = 0.0
    for _ in range(POWER_STEPS):  # the largest eigenvalue, for the step
        direction = rows.transposed_times(shares * rows.times(direction))
        curvature = float(np.linalg.norm(direction))
        direction /= curvature
    step = 1 / (1.3 * curvature / 4 + PENALTY + CONSTANT**2 / 2)
    weights = momentum = np.zeros(1 << BITS)
    bias = bias_momentum = 0.0
    for number in range(STEPS):
        logits = np.clip(rows.times(momentum) + bias_momentum, -MAX_LOGIT, MAX_LOGIT)
        errors = shares * (1 / (1 + np.exp(-logits)) - truth)
        following = momentum - step * (rows.transposed_times(errors) + PENALTY * momentum)
        following_bias = bias_momentum - step * CONSTANT**2 * float(errors.sum())
        pace = number / (number + 3)  # Nesterov 1983
        momentum = following + pace * (following - weights)
        bias_momentum = following_bias + pace * (following_bias - bias)
        weights, bias = following, following_bias
    return FittedWeights(weights, bias)
