"""What every search engine answers; the one interface between recall and the database's indexes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Protocol

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from access.errors import Unavailable
from access.visibility import Visibility
from memories.index.terms import Match

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class Hit:
    """A memory found, by its key, and its score: higher is better."""

    key: int
    score: float


class SearchIndex(Protocol):
    """Searches rows inside a Visibility; nothing outside it is ever counted or returned."""

    def keyword(self, match: Match, visibility: Visibility, *, limit: int) -> list[Hit]:
        """Give the best `limit` memories by BM25, best first."""

    def keyword_scores(self, match: Match, keys: Sequence[int]) -> dict[int, float]:
        """Give the BM25 of those of `keys` that match at all."""

    def nearest(self, vector: Vector, visibility: Visibility, *, limit: int) -> list[Hit]:
        """Give the `limit` memories whose best piece is nearest to `vector` (float32[384]) by cosine, best first."""

    def missing_objects(self) -> list[str]:
        """List what the database should hold for the indexes and does not."""

    def faults(self) -> list[str]:
        """Compare the indexes with the rows and say what does not agree; empty where all does."""

    def rebuild(self) -> None:
        """Make the indexes anew from the rows. One transaction."""


_ENGINES = {"sqlite": "memories.index.sqlite", "postgresql": "memories.index.postgres"}


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
