"""What a database does for a search of chunks; `chunk_index()` is the one place that chooses."""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from django.db import connection

from access.visibility import Visibility


class FoundChunk(NamedTuple):
    """A row of a chunk as ranking reads it; `cosine` is 0 without a vector."""

    key: int
    content: str
    words: int
    weight: float
    cosine: float


class _ChunkIndex(Protocol):
    """Words and vectors of the live chunks inside a Visibility: of its one group, whatever else it narrows."""

    def postings(self, terms: Sequence[str], visibility: Visibility) -> list[tuple[str, str]]:
        """For each term the keys of the chunks that have it and their lengths in words, both separated by commas."""

    def counts(self, terms: Sequence[str], visibility: Visibility, *, most: int) -> list[int]:
        """For each term the number of chunks with it, counted up to `most`."""

    def nearest(self, vector: Any, visibility: Visibility, *, limit: int) -> list[int]:
        """Keys of about the nearest chunks."""

    def read(self, keys: Sequence[int], visibility: Visibility, vector: Any, model: str) -> list[FoundChunk]:
        """The live chunks with these keys, and their true cosine if their vectors are of this model."""


def room_of(v: Visibility) -> int:
    """The one group whose chunks are searched, as the indexes call it."""
    return next(iter(v.groups or ()))


def chunk_index() -> _ChunkIndex:
    """The index of the database in use."""
    return _index_of(connection.vendor)


@cache
def _index_of(vendor: str) -> _ChunkIndex:
    found: _ChunkIndex = import_module(f"sources.artifacts.search.{vendor}").INDEX
    return found
