"""What both searches found for the last questions, remembered until a memory changes: agents ask the same again."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

MOST_KEPT: Final = 512  # questions, of 3 to 6 KB each
_WORDS: Final = np.dtype([("key", np.int64), ("score", np.float64), ("is_ranked", np.bool_)])
_NEAR: Final = np.dtype([("key", np.int64), ("cosine", np.float64)])


class BothHits(NamedTuple):
    """What both searches found, before the rows say which of it is visible.

    `words` has keys with their BM25 and whether that is among the best; `cosines` the near ones, best first; `is_all`
    says that nothing else can be near.
    """

    words: list[tuple[Any, ...]]
    cosines: dict[int, float]
    is_all: bool


@dataclass(frozen=True)
class _CachedHits:
    """A question's hits, and what its key goes by: nothing else may be taken for it. The rows allowed are large, and held
    by whoever marked them alone.
    """

    asked: object
    allowed: "ReferenceType[object]"
    words: NDArray[np.void]
    near: NDArray[np.void]
    is_all: bool


class ResultCache:
    """Hits by question, of one table that changes. Readers need no lock.

    They hold for one stamp, which says how far the database has come.
    """

    def __init__(self) -> None:
        self._held: tuple[Hashable, dict[Hashable, _CachedHits]] = (None, {})

    def of(
        self,
        asked: object,
        allowed: object,
        *rest: Hashable,
        stamp: Hashable,
        find: Callable[[], BothHits],
    ) -> BothHits:
        """Give what `find` says, or said before at the same stamp of the very same question, rows allowed and `rest`."""
        held = self._held
        if held[0] != stamp:
            held = self._held = stamp, {}
        kept = held[1]
        key = (id(asked), id(allowed), *rest)
        known = kept.get(key)
        if known is not None and known.allowed() is allowed:
            return BothHits(known.words.tolist(), dict(known.near.tolist()), known.is_all)
        hits = find()
        kept[key] = _CachedHits(
            asked,
            ref(allowed),
            np.array(hits.words, dtype=_WORDS),
            np.array([*hits.cosines.items()], dtype=_NEAR),
            hits.is_all,
        )
        for oldest in [*kept][: max(len(kept) - MOST_KEPT, 0)]:
            kept.pop(oldest, None)  # another thread may have
        return hits
