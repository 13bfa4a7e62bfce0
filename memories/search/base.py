"""Search engine protocol: the only interface between recall and the database's indexes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
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
AnyVector = Vector | Future[Vector]  # finished, or being computed


class Hit(NamedTuple):
    """Key and score of a memory; higher is better."""

    key: int
    score: float


class RankingFields(NamedTuple):
    """Columns of a memory that ranking uses.

    `tags` are as stored, a JSON list. `place` is its place among the memories of its group, in a group outside the Visibility among the global ones.
    `stored_moment` is its own moment, or when it was stored, as the database returns it: few questions read it.
    """

    key: int
    group_id: int
    content: str
    thread_id: int | None
    position: int | None
    confidence: float
    trust: str
    tags: str = "[]"
    importance: int = 5
    place: int = 0
    stored_moment: datetime | str = ""

    @property
    def moment(self) -> datetime | None:
        """Its own moment, or when it was stored."""
        stored = self.stored_moment
        if isinstance(stored, str):
            return datetime.fromisoformat(stored).replace(tzinfo=UTC) if stored else None
        return stored


class DatedRow(NamedTuple):
    """A memory's key and moment: its own, or when it was stored. `is_event` is false for a fact without a moment of its own."""

    key: int
    moment: datetime
    is_event: bool


Period = tuple[datetime | None, datetime | None]  # from the first moment, up to the second; None is open


@dataclass(frozen=True)
class HybridHits:
    """Hits of both searches, best first, and the scores of one search for hits of the other only, by key.

    `keyword` omits memories that do not match at all, `vector` those without a vector yet. `extra` are visible memories
    requested by key that neither search found. `rows` has all of them by key.
    """

    words: list[Hit]
    nearest: list[Hit]
    keyword: dict[int, float] = field(default_factory=dict)
    vector: dict[int, float] = field(default_factory=dict)
    extra: tuple[int, ...] = ()
    rows: Mapping[int, RankingFields] = field(default_factory=dict)


def resolve_vector(vector: AnyVector) -> Vector:
    """The vector; waits while it is being computed."""
    return vector.result() if isinstance(vector, Future) else vector


class SearchIndex(Protocol):
    """Searches rows inside a Visibility; nothing outside is ever counted or returned."""

    def find(
        self,
        match: Match | None,
        vector: AnyVector | None,
        visibility: Visibility,
        *,
        limit: int,
        also: Collection[int] = (),
    ) -> HybridHits:
        """The best `limit` memories of each search that has a query, with their true scores in the other search.

        The keyword search runs while the vector is being computed.
        Memories with a key in `also` are included if visible, whatever their score.
        """

    def keyword(self, match: Match, visibility: Visibility, *, limit: int) -> list[Hit]:
        """The best `limit` memories by BM25, best first."""

    def nearest(self, vector: Vector, visibility: Visibility, *, limit: int) -> list[Hit]:
        """The `limit` memories whose best piece is nearest to `vector` (float32[384]) by cosine, best first."""

    def dated(self, periods: Sequence[Period], visibility: Visibility, *, limit: int) -> list[DatedRow]:
        """The newest `limit` memories of the periods, newest first; entities have no time."""

    def find_newest(
        self,
        alternatives: Sequence[Sequence[str]],
        visibility: Visibility,
        *,
        forms: Sequence[str] = (),
        limit: int,
    ) -> list[int]:
        """Keys of the newest visible memories with a word of each list of alternatives and with all the forms.

        Words are letters and digits of any script, as query_terms.words() returns them; one that ends in "*" is a prefix.
        """

    def read_index_words(
        self, first: str, visibility: Visibility, *, shortest: int, longest: int
    ) -> list[str]:
        """The index's words (stems) that begin with `first`, within these lengths: at least those of visible texts.

        They may come from other groups: only those that keep_visible_words() leaves may decide anything.
        """

    def keep_visible_words(self, terms: Sequence[str], visibility: Visibility, *, limit: int) -> list[str]:
        """The first `limit` of the terms that a visible text has, in their order."""

    def missing_objects(self) -> list[str]:
        """Names of the indexes' database objects that are missing."""

    def find_errors(self) -> list[str]:
        """Differences between the indexes and the rows, in words; empty if there are none."""

    def tend(self) -> None:
        """Adapt the indexes to what the store has grown to; outside a transaction, now and then."""

    def rebuild(self) -> None:
        """Rebuild the indexes from the rows. One transaction."""

    def switch_model(
        self, model: str, *, is_complete: Callable[[], bool], progress: Callable[[int, int], None]
    ) -> bool:
        """Switch to the vectors of another model, at the same moment for every search.

        False, without a change, if `is_complete` is false within the last transaction.
        """


_ENGINES = {
    "sqlite": ("memories.search.sqlite.engine", "SqliteEngine"),
    "postgresql": ("memories.search.postgresql.engine", "PostgresqlEngine"),
}


@lru_cache
def load_engine(vendor: str) -> SearchIndex:
    """The engine for a database vendor; Unavailable if there is none."""
    if vendor not in _ENGINES:
        raise Unavailable(
            f"Loci has no search index for {vendor}.", hint="Use SQLite (the default) or PostgreSQL."
        )
    module, name = _ENGINES[vendor]
    engine: SearchIndex = getattr(import_module(module), name)()
    return engine


def search_index() -> SearchIndex:
    """The engine of the database in use."""
    return load_engine(connection.vendor)
