"""Topics: groups of a bucket's memories about the same thing. Deterministic, without random choices."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
WINDOW = 1_000  # memories compared with one another: 4 MB of cosines, a quarter of a second


def find_topics(vectors: Matrix, *, cosine: float, at_least: int) -> list[list[int]]:
    """The rows of each topic of at least `at_least` rows; each row's mean cosine to the others is at least `cosine`.

    `vectors` is float32[n, 384] of unit length. Clusters are joined by average linkage (UPGMA) while the mean cosine
    between two is at least `cosine`; rows that fit the whole worse than that are dropped afterwards. Time and memory
    grow with the square of n: pass at most WINDOW rows. Topics and their rows are in ascending order.
    """
    similar = vectors @ vectors.T
    clusters = _AverageLinkage(similar).join(cosine=cosine)
    topics = (_drop_outliers(similar, rows, cosine=cosine) for rows in clusters)
    return sorted(rows for rows in topics if len(rows) >= at_least)


class _AverageLinkage:
    """Average-linkage clusters of the rows of a similarity matrix, by nearest-neighbour chains (Murtagh 1983).

    n² steps instead of n³. Average linkage is reducible: joining two clusters never brings a third nearer than the
    nearer of them was. So a cluster without a neighbour within `cosine` will never get one.
    """

    def __init__(self, similar: Matrix) -> None:
        count = len(similar)
        self.members = [[row] for row in range(count)]
        self._sums = similar.astype(np.float64)
        self._sizes = np.ones(count)
        self._is_free = np.ones(count, dtype=bool)

    def join(self, *, cosine: float) -> list[list[int]]:
        """Join clusters while the mean cosine between two is at least `cosine`; the rows of each, ascending."""
        done: list[list[int]] = []
        chain: list[int] = []
        while self._is_free.any():
            if not chain:
                chain.append(int(np.argmax(self._is_free)))
            at = chain[-1]
            nearest, best = self._find_nearest(at, before=chain[-2] if len(chain) > 1 else None)
            if best < cosine:
                self._is_free[at] = False
                done.append(sorted(self.members[at]))
                chain.pop()
            elif len(chain) > 1 and nearest == chain[-2]:
                del chain[-2:]
                into, other = min(at, nearest), max(at, nearest)
                self._sums[into] += self._sums[other]
                self._sums[:, into] += self._sums[:, other]
                self._sizes[into] += self._sizes[other]
                self._is_free[other] = False
                self.members[into] += self.members[other]
            else:
                chain.append(nearest)
        return done

    def _find_nearest(self, at: int, *, before: int | None) -> tuple[int, float]:
        """The cluster with the highest mean cosine to `at`, and that cosine; ties go to `before`, then to the first."""
        means = np.where(self._is_free, self._sums[at] / (self._sizes * self._sizes[at]), -np.inf)
        means[at] = -np.inf
        nearest = int(np.argmax(means))
        if before is not None and means[before] >= means[nearest]:
            nearest = before
        return nearest, float(means[nearest])


def _drop_outliers(similar: Matrix, rows: Sequence[int], *, cosine: float) -> list[int]:
    """Drop the worst-fitting row until each one's mean cosine to the others is at least `cosine`."""
    remaining = list(rows)
    while len(remaining) > 1:
        block = similar[np.ix_(remaining, remaining)]
        means = (block.sum(axis=1) - np.diagonal(block)) / (len(remaining) - 1)
        worst = int(np.argmin(means))
        if means[worst] >= cosine:
            break
        del remaining[worst]
    return remaining
