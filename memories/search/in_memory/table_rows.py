"""Rows by memory in a table sorted by piece, each memory's best cosine, and the rows with the most similar signs."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]


@dataclass(frozen=True)
class ColumnOrder:
    """The order of a column's first `count` rows by memory; None if they are sorted."""

    column: Keys
    count: int
    order: Keys | None


class MemoryOrder:
    """The order of a table's rows by memory. Safe to share between threads.

    Pieces are created with their memories, so the column is nearly always sorted, and only added rows are checked. For an
    unsorted column the order is cached until rows are added.
    """

    def __init__(self) -> None:
        self._cached = ColumnOrder(np.zeros(0, dtype=np.int64), 0, None)

    def rows_of(self, column: Keys, count: int, memories: Collection[int]) -> Keys:
        """Rows among a column's first `count` that belong to one of the memories."""
        order = self._order(column, count)
        ordered = column[:count] if order is None else column[order]
        keys = np.sort(np.fromiter(memories, dtype=np.int64, count=len(memories)))
        first = np.searchsorted(ordered, keys, side="left")
        lengths = np.searchsorted(ordered, keys, side="right") - first
        before = np.cumsum(lengths) - lengths
        at: Keys = np.repeat(first - before, lengths) + np.arange(int(lengths.sum()))
        return at if order is None else order[at]

    def _order(self, column: Keys, count: int) -> Keys | None:
        cached = self._cached
        if cached.column is not column or cached.count > count:
            cached = ColumnOrder(column, 0, None)
        if cached.count < count:
            added = column[max(cached.count - 1, 0) : count]
            is_sorted = cached.order is None and bool((added[1:] >= added[:-1]).all())
            order = None if is_sorted else np.argsort(column[:count], kind="stable")
            cached = self._cached = ColumnOrder(column, count, order)
        return cached.order


def best_per_memory(memories: Keys, cosines: NDArray[np.float32]) -> dict[int, float]:
    """The greatest cosine of each memory; both arrays have one entry per piece."""
    best: dict[int, float] = {}
    for key, cosine in zip(memories.tolist(), cosines.tolist(), strict=True):
        best[key] = max(best.get(key, -1.0), cosine)
    return best


def take_similar(rows: Keys, distances: NDArray[np.uint16], *, least: int) -> Keys:
    """The rows within the smallest distance that at least `least` of them have."""
    reached = np.cumsum(np.bincount(distances))
    return rows[distances <= int(np.searchsorted(reached, least))]
