"""What a database does for a search of chunks; `chunk_index()` is the one place that chooses."""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from django.db import connection


class FoundChunk(NamedTuple):
    """A row of a chunk as ranking reads it; `cosine` is 0 without a vector."""

    key: int
    content: str
    words: int
    weight: float
    cosine: float


class ChunkIndex(Protocol):
    """Words and vectors of one group's live chunks."""

    def postings(self, terms: Sequence[str], group_key: int) -> list[tuple[str, str]]:
        """For each term the keys of the chunks that have it and their lengths in words, both separated by commas."""

    def counts(self, terms: Sequence[str], group_key: int, *, most: int) -> list[int]:
        """For each term the number of chunks with it, counted up to `most`."""

    def nearest(self, vector: Any, group_key: int, *, limit: int) -> list[int]:
        """Keys of about the nearest chunks."""

    def read(self, keys: Sequence[int], group_key: int, vector: Any, model: str) -> list[FoundChunk]:
        """The live chunks with these keys, and their true cosine if their vectors are of this model."""


def chunk_index() -> ChunkIndex:
    """The index of the database in use."""
    return _index_of(connection.vendor)


@cache
def _index_of(vendor: str) -> ChunkIndex:
    found: ChunkIndex = import_module(f"sources.artifacts.search.{vendor}").INDEX
    return found
