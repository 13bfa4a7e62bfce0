"""Keyword and vector search over FTS5 and the vectors in memory, with few statements; hits are checked against the rows.

Neither search applies every condition of a Visibility. Each returns some more hits than wanted, the rows decide which are
visible, and a search with too few goes further. No better match than the last one examined is skipped, and no nearer
vector except where its signs are misleading (docs/speed.md).
"""

import json
import os
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np

from access.visibility import Visibility
from memories.embedding.concurrency import CORES, available_cores
from memories.search.base import (
    AnyVector,
    Hit,
    HybridHits,
    RankingFields,
    Vector,
    resolve_vector,
)
from memories.search.combined import combine_hits
from memories.search.in_memory.overlay import AnyTable
from memories.search.in_memory.table import AllowedRows, Keys, Nearest, VectorTable
from memories.search.in_memory.table_rows import best_per_memory
from memories.search.keyword import GROWTH, SLACK, best_words, find_matches
from memories.search.query_terms import Match
from memories.search.sqlite.postings import FTS_POSTINGS
from memories.search.sqlite.vectors import decode_vectors, fetch_rows, read_vectors

LARGE_GROUP_ROWS = 50_000  # rows from which a selection takes longer than handing it to another core

_PIECES = """
SELECT memory_id, embedding FROM memories_piece
WHERE memory_id IN (SELECT value FROM json_each(%s)) AND embedding IS NOT NULL
    AND model = (SELECT value FROM index_state WHERE name = 'model')
"""


@dataclass(frozen=True)
class HybridQuery:
    """A query for `limit` memories inside the Visibility; `visible` reads the visible rows among some keys.

    `allowed` are the table's rows that may be visible.
    """

    table: AnyTable
    visibility: Visibility
    limit: int
    allowed: AllowedRows
    visible: Callable[[Iterable[int]], dict[int, RankingFields]]


def find_nearest(query: HybridQuery, vector: Vector, *, wanted: int = 0) -> list[Hit]:
    """The memories whose best piece is nearest, best first."""
    wanted = wanted or int(query.limit * SLACK)
    return take_visible(query, vector, nearest_pieces(query, vector, wanted), wanted)


def take_visible(query: HybridQuery, vector: Vector, found: Nearest, wanted: int) -> list[Hit]:
    """The visible memories of the `wanted` nearest pieces, best first; searches further if there are too few."""
    while True:
        cosines = best_cosines(found)
        seen = query.visible(cosines)
        hits = [Hit(key, cosine) for key, cosine in cosines.items() if key in seen]
        if len(hits) >= query.limit or found.is_all:
            return hits[: query.limit]
        wanted *= GROWTH
        found = nearest_pieces(query, vector, wanted)


def find_hybrid(
    query: HybridQuery, match: Match, vector: AnyVector, *, also: Collection[int] = ()
) -> HybridHits:
    """The hits of both searches with the score of each in the other search, and the visible memories of `also`."""
    wanted = int(query.limit * SLACK)
    choosing = start_choosing(query, vector, wanted=wanted)
    # While another core computes the vector and selects the rows near it.
    matches = find_matches(match, query.visibility, FTS_POSTINGS)
    if choosing is None or choosing.done():
        vector = resolve_vector(vector)
        found = nearest_pieces(query, vector, wanted, chosen=choosing.result() if choosing else None)
        query.visible([*matches.first(query.limit), *best_cosines(found)])  # one read for both searches
        words = best_words(matches, query.visible, limit=query.limit)
    else:
        words = best_words(matches, query.visible, limit=query.limit)
        vector = resolve_vector(vector)
        found = nearest_pieces(query, vector, wanted, chosen=choosing.result())
    nearest = take_visible(query, vector, found, wanted)
    rows = query.visible({*(hit.key for hit in (*words, *nearest)), *also})
    return combine_hits(
        words,
        nearest,
        rows,
        also=also,
        matches=matches,
        cosines=lambda keys: score_vectors(keys, vector, table=query.table),
    )


def start_choosing(query: HybridQuery, vector: AnyVector, *, wanted: int) -> Future[Keys] | None:
    """The selection of near rows on another core; None if that saves nothing."""
    is_ready = not isinstance(vector, Future) or vector.done()
    table, is_long = query.table, len(query.allowed.rows) >= LARGE_GROUP_ROWS and CORES.has_spare()
    if not isinstance(table, VectorTable) or (is_ready and not is_long):
        return None
    return chooser_pool().submit(lambda: table.choose(resolve_vector(vector), query.allowed, wanted=wanted))


def score_vectors(keys: Collection[int], vector: Vector, *, table: AnyTable | None) -> dict[int, float]:
    """Cosine of each memory's best piece, by key; memories without vectors are left out."""
    if not keys:
        return {}
    cosines = table.best_cosines(keys, vector) if table is not None else None
    if cosines is not None:
        return cosines
    rows = fetch_rows(_PIECES, [json.dumps([*keys])])
    vectors = decode_vectors([embedding for _, embedding in rows])
    if table is not None:  # as the vectors in memory have them: whether they fit depends on other groups
        vectors = vectors.astype(np.float16).astype(np.float32)
    return best_per_memory(np.array([memory for memory, _ in rows], dtype=np.int64), vectors @ vector)


def nearest_pieces(query: HybridQuery, vector: Vector, wanted: int, *, chosen: Keys | None = None) -> Nearest:
    """The `wanted` nearest pieces; of the `chosen` rows, if they were selected already."""
    table, allowed = query.table, query.allowed
    if chosen is not None and isinstance(table, VectorTable):
        return table.compared(vector, allowed, chosen, wanted=wanted, read=read_vectors)
    return table.nearest(vector, allowed, wanted=wanted, read=read_vectors)


@cache
def chooser_pool() -> ThreadPoolExecutor:
    """Threads that select near rows: they do not use the database, and wait for vectors from other threads."""
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="loci-near")


if hasattr(os, "register_at_fork"):  # a fork copies no threads
    os.register_at_fork(after_in_child=chooser_pool.cache_clear)


def best_cosines(found: Nearest) -> dict[int, float]:
    """Cosine of each memory's first, and so best, piece."""
    best: dict[int, float] = {}
    for key, cosine in zip(found.memories.tolist(), found.cosines.tolist(), strict=True):
        best.setdefault(key, cosine)
    return best
