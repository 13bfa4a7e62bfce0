"""The pieces of some memories: where they stand in a table that is sorted by pieces, and each memory's best."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]


@dataclass(frozen=True)
class _Known:
    """The order of a column's first `count` rows by memory; None where they are in that order themselves."""

    column: Keys
    count: int
    order: Keys | None


class MemoryOrder:
    """The order of a table's rows by memory. Safe to share between threads.

    Pieces are made as their memories are, so nearly always the column is sorted as it stands, and what is added is
    looked at alone. Where it is not, its order is kept until rows are added.
    """

    def __init__(self) -> None:
        self._known = _Known(np.zeros(0, dtype=np.int64), 0, None)

    def rows_of(self, column: Keys, count: int, memories: Collection[int]) -> Keys:
        """Give the rows, of a column's first `count`, that have one of the memories."""
        order = self._order(column, count)
        held = column[:count] if order is None else column[order]
        keys = np.sort(np.fromiter(memories, dtype=np.int64, count=len(memories)))
        first = np.searchsorted(held, keys, side="left")
        lengths = np.searchsorted(held, keys, side="right") - first
        before = np.cumsum(lengths) - lengths
        at: Keys = np.repeat(first - before, lengths) + np.arange(int(lengths.sum()))
        return at if order is None else order[at]

    def _order(self, column: Keys, count: int) -> Keys | None:
        known = self._known
        if known.column is not column or known.count > count:
            known = _Known(column, 0, None)
        if known.count < count:
            added = column[max(known.count - 1, 0) : count]
            is_sorted = known.order is None and bool((added[1:] >= added[:-1]).all())
            order = None if is_sorted else np.argsort(column[:count], kind="stable")
            known = self._known = _Known(column, count, order)
        return known.order


def best_per_memory(memories: Keys, cosines: NDArray[np.float32]) -> dict[int, float]:
    """Give the greatest cosine of each memory; both have a place for each piece."""
    best: dict[int, float] = {}
    for key, cosine in zip(memories.tolist(), cosines.tolist(), strict=True):
        best[key] = max(best.get(key, -1.0), cosine)
    return best
