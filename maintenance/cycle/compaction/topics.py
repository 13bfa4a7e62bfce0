"""Topics: which of a bucket's memories speak of the same thing. Deterministic; nothing is drawn at random."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
WINDOW = 1_000  # memories compared with one another: 4 MB of cosines, a quarter of a second


def find_topics(vectors: Matrix, *, cosine: float, at_least: int) -> list[list[int]]:
    """Give the rows of each topic of at least so many: each row's mean cosine to the others is at least `cosine`.

    `vectors` is float32[n, 384] of unit length. Clusters are joined by average linkage (UPGMA) while the mean cosine
    between two is at least `cosine`; a row that fits the whole worse than that is left out afterwards. Work and room
    grow with the square of n: give at most WINDOW rows. Topics and their rows come in order.
    """
    similar = vectors @ vectors.T
    joined = (_fitting(similar, rows, cosine=cosine) for rows in _linked(similar, cosine=cosine))
    return sorted(rows for rows in joined if len(rows) >= at_least)


def _linked(similar: Matrix, *, cosine: float) -> list[list[int]]:
    """Join by average linkage along chains of nearest neighbours (Murtagh 1983): n² instead of n³ steps.

    Average linkage is reducible: joining two others never brings a third nearer than the nearer of them was. So what
    has no neighbour within `cosine` will never get one.
    """
    count = len(similar)
    sums = similar.astype(np.float64)
    sizes = np.ones(count)
    free = np.ones(count, dtype=bool)
    members = [[row] for row in range(count)]
    done: list[list[int]] = []
    chain: list[int] = []
    while free.any():
        if not chain:
            chain.append(int(np.argmax(free)))
        at = chain[-1]
        near, best = _nearest(sums, sizes, free, at, before=chain[-2] if len(chain) > 1 else None)
        if best < cosine:
            free[at] = False
            done.append(sorted(members[at]))
            chain.pop()
        elif len(chain) > 1 and near == chain[-2]:
            del chain[-2:]
            _join(sums, sizes, free, members, min(at, near), max(at, near))
        else:
            chain.append(near)
    return done


def _nearest(
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    free: NDArray[np.bool_],
    at: int,
    *,
    before: int | None,
) -> tuple[int, float]:
    """Give the cluster with the highest mean cosine to `at`, and that; of equal ones the chain's last, else the first."""
    means = np.where(free, sums[at] / (sizes * sizes[at]), -np.inf)
    means[at] = -np.inf
    near = int(np.argmax(means))
    if before is not None and means[before] >= means[near]:
        near = before
    return near, float(means[near])


def _join(
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    free: NDArray[np.bool_],
    members: list[list[int]],
    into: int,
    other: int,
) -> None:
    sums[into] += sums[other]
    sums[:, into] += sums[:, other]
    sizes[into] += sizes[other]
    free[other] = False
    members[into] += members[other]


def _fitting(similar: Matrix, rows: Sequence[int], *, cosine: float) -> list[int]:
    """Leave out the row that fits least, until each fits: its mean cosine to the others is at least `cosine`."""
    kept = list(rows)
    while len(kept) > 1:
        block = similar[np.ix_(kept, kept)]
        means = (block.sum(axis=1) - np.diagonal(block)) / (len(kept) - 1)
        worst = int(np.argmin(means))
        if means[worst] >= cosine:
            break
        del kept[worst]
    return kept
