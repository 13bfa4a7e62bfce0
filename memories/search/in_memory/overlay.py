"""The vectors in memory as seen by a transaction that has changed some of them; without a copy."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from access.visibility import Visibility
from memories.search.in_memory.table import AllowedRows, Keys, Nearest, PieceRow, Reader, Vectors, VectorTable


@dataclass(frozen=True)
class TrialAllowed(AllowedRows):
    """What a Visibility may allow of the rows that did not change; `own` of those that did."""

    own: AllowedRows


class TrialTable:
    """A table in which some pieces changed or went for one reader; the table itself stays as it is.

    Answers as the VectorTable would that had these changes.
    """

    def __init__(self, table: VectorTable, changed: Sequence[int], rows: Sequence[PieceRow]) -> None:
        """`rows` are those of the changed pieces that are still there."""
        self._table = table
        self._changed: Keys = np.array(sorted(changed), dtype=np.int64)
        self._own = VectorTable() if table.has_exact else VectorTable(exact_mb=0)
        self._own.put(rows)

    def __len__(self) -> int:
        return len(self._table) + len(self._own)

    def allowed(self, v: Visibility) -> TrialAllowed:
        """Mark the rows that the Visibility may allow."""
        found = self._table.allowed(v)
        rows = found.rows[~np.isin(found.part.columns.piece[found.rows], self._changed)]
        return TrialAllowed(found.part, rows, found.in_groups, self._own.allowed(v))

    def nearest(self, vector: Vectors, allowed: AllowedRows, *, wanted: int, read: Reader) -> Nearest:
        """The `wanted` nearest pieces by cosine; `read` returns vectors that are not in memory."""
        kept = self._table.nearest(vector, allowed, wanted=wanted, read=read)
        if not isinstance(allowed, TrialAllowed):
            return kept
        own = self._own.nearest(vector, allowed.own, wanted=wanted, read=read)
        cosines = np.concatenate([kept.cosines, own.cosines])
        best = np.argsort(-cosines, kind="stable")[:wanted]
        return Nearest(
            np.concatenate([kept.pieces, own.pieces])[best],
            np.concatenate([kept.memories, own.memories])[best],
            cosines[best],
            is_all=kept.is_all and own.is_all and len(best) == len(cosines),
        )

    def best_cosines(self, memories: Collection[int], vector: Vectors) -> dict[int, float] | None:
        """The cosine of each memory's best piece; None if the vectors are not in memory."""
        kept = self._table.best_cosines(memories, vector, without=self._changed)
        own = self._own.best_cosines(memories, vector)
        if kept is None or own is None:
            return None
        return kept | {key: max(cosine, kept.get(key, -1.0)) for key, cosine in own.items()}


AnyTable = VectorTable | TrialTable
