"""What every search engine answers; the one interface between recall and the database's indexes."""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple, Protocol

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from access.errors import Unavailable
from access.visibility import Visibility
from memories.search.query_terms import Match

Vector = NDArray[np.float32]
AnyVector = Vector | Future[Vector]  # one that is there, or is being made


class Hit(NamedTuple):
    """A memory found, by its key, and its score: higher is better."""

    key: int
    score: float


class RankingFields(NamedTuple):
    """What ranking looks at of a memory: eight of its forty columns."""

    key: int
    group_id: int
    content: str
    thread_id: int | None
    position: int | None
    valid_from: datetime | None
    confidence: float
    trust: str


@dataclass(frozen=True)
class HybridHits:
    """What both searches found, best first, and by key what the one scores of those that only the other named.

    Of `keyword` those are left out that do not match at all, of `vector` those whose vector is owed. `beside` are the
    visible ones of those asked for by their keys that neither search named. `rows` has each of all these by key.
    """

    words: list[Hit]
    near: list[Hit]
    keyword: dict[int, float] = field(default_factory=dict)
    vector: dict[int, float] = field(default_factory=dict)
    beside: tuple[int, ...] = ()
    rows: Mapping[int, RankingFields] = field(default_factory=dict)


def resolve_vector(vector: AnyVector) -> Vector:
    """Give the vector, waiting for it where it is still being made."""
    return vector.result() if isinstance(vector, Future) else vector


class SearchIndex(Protocol):
    """Searches rows inside a Visibility; nothing outside it is ever counted or returned."""

    def find(
        self,
        match: Match | None,
        vector: AnyVector | None,
        visibility: Visibility,
        *,
        limit: int,
        also: Collection[int] = (),
    ) -> HybridHits:
        """Give the best `limit` memories of each search whose question is given, with the true scores in the other.

        While the vector is still being made, words are looked for.
        Those of the keys `also` that the Visibility allows come with them, whatever they score.
        """

    def keyword(self, match: Match, visibility: Visibility, *, limit: int) -> list[Hit]:
        """Give the best `limit` memories by BM25, best first."""

    def nearest(self, vector: Vector, visibility: Visibility, *, limit: int) -> list[Hit]:
        """Give the `limit` memories whose best piece is nearest to `vector` (float32[384]) by cosine, best first."""

    def missing_objects(self) -> list[str]:
        """List what the database should hold for the indexes and does not."""

    def faults(self) -> list[str]:
        """Compare the indexes with the rows and say what does not agree; empty where all does."""

    def rebuild(self) -> None:
        """Make the indexes anew from the rows. One transaction."""

    def switch_model(
        self, model: str, *, is_complete: Callable[[], bool], progress: Callable[[int, int], None]
    ) -> bool:
        """Hold the vectors of another model from now on, at once for every search.

        False, and no change, where `is_complete` denies within the last transaction that all of them are there.
        """


_ENGINES = {"sqlite": "memories.search.sqlite.engine", "postgresql": "memories.search.postgres"}


@lru_cache
def _engine(vendor: str) -> SearchIndex:
    try:
        module = import_module(_ENGINES[vendor])
    except (KeyError, ModuleNotFoundError):
        raise Unavailable(
            f"Loci has no search index for {vendor} yet.", hint="Use SQLite (the default)."
        ) from None
    engine: SearchIndex = module.Engine()
    return engine


def search_index() -> SearchIndex:
    """Give the engine of the database in use."""
    return _engine(connection.vendor)
