"""Keyword and vector search over FTS5 and the vectors in memory, with few statements; hits are checked against the rows.

Neither search applies every condition of a Visibility. Each returns some more hits than wanted, the rows decide which are
visible, and a search with too few goes further. No better match than the last one examined is skipped, and no nearer
vector except where its signs are misleading (docs/speed.md).
"""

import json
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from django.db import connection

from access.visibility import Visibility
from memories.embedding.concurrency import CORES, available_cores
from memories.search.base import AnyVector, Hit, HybridHits, RankingFields, Vector, resolve_vector
from memories.search.in_memory.overlay import AnyTable
from memories.search.in_memory.table import AllowedRows, Nearest, VectorTable
from memories.search.in_memory.table_rows import best_per_memory
from memories.search.query_terms import Match
from memories.search.sqlite.vectors import decode_vectors, fetch_rows, read_vectors
from memories.search.term_counts import POSTING_BUDGET, TermCounts, within_budget

SLACK = 1.25  # hits examined per hit wanted
GROWTH = 4  # factor for the next attempt if too few hits were visible
# From this share of all rows on, matching a group's word costs more than it saves in examined rows.
LARGE_SHARE = 0.3
MAX_RANKED = 1_000_000
LARGE_GROUP_ROWS = 50_000  # rows from which a selection takes longer than handing it to another core
SMALL_GROUP_ROWS = 6_000  # rows up to which reading every hit is faster than looking some up again

_RANKED = "SELECT rowid, -rank FROM memories_fts WHERE memories_fts MATCH %s ORDER BY rank LIMIT %s"
_HITS = "SELECT rowid, -rank FROM memories_fts WHERE memories_fts MATCH %s"
_RANKED_AND_OTHERS = """
WITH hits (key, score) AS MATERIALIZED (SELECT rowid, rank FROM memories_fts WHERE memories_fts MATCH %s)
SELECT key, -score, 1 FROM (SELECT key, score FROM hits ORDER BY score LIMIT %s)
UNION ALL SELECT key, -score, 0 FROM hits WHERE key IN (SELECT value FROM json_each(%s))
"""
_SCORES = """
SELECT rowid, -rank FROM memories_fts WHERE memories_fts MATCH %s AND +rowid IN (SELECT value FROM json_each(%s))
"""
_COUNT = "(SELECT COUNT(*) FROM (SELECT 1 FROM memories_fts WHERE memories_fts MATCH %s LIMIT %s))"
_PIECES = """
SELECT memory_id, embedding FROM memories_piece
WHERE memory_id IN (SELECT value FROM json_each(%s)) AND embedding IS NOT NULL
    AND model = (SELECT value FROM index_state WHERE name = 'model')
"""
TERM_COUNTS = TermCounts()
Scored = list[tuple[int, float]]
Hits = tuple[Scored, Callable[[Iterable[int]], Scored]]


class BothHits(NamedTuple):
    """What both searches found, before the rows decide which of it is visible.

    `words` has keys with their BM25 and whether that is among the best; `cosines` the nearest, best first; `is_all`:
    nothing else can be near.
    """

    words: list[tuple[Any, ...]]
    cosines: dict[int, float]
    is_all: bool


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
    while True:
        cosines, is_all = nearest_memories(query, vector, wanted)
        seen = query.visible(cosines)
        hits = [Hit(key, cosine) for key, cosine in cosines.items() if key in seen]
        if len(hits) >= query.limit or is_all:
            return hits[: query.limit]
        wanted *= GROWTH


def find_words(query: HybridQuery, match: Match, *, window: int = 0) -> list[Hit]:
    """The memories that match best, best first."""
    expression, default_window = build_expression(query, drop_common_terms(query, match))
    window = window or default_window
    while True:
        rows = fetch_rows(_RANKED, [expression, window])
        seen = query.visible(key for key, _ in rows)
        hits = [Hit(key, score) for key, score in rows if key in seen]
        if len(hits) >= query.limit or len(rows) < window:
            return hits[: query.limit]
        window *= GROWTH


def find_hybrid(
    query: HybridQuery, match: Match, vector: AnyVector, *, also: Collection[int] = ()
) -> HybridHits:
    """The hits of both searches with the score of each in the other search, and the visible memories of `also`."""
    wanted = int(query.limit * SLACK)
    match = drop_common_terms(query, match)
    expression, window = build_expression(query, match)
    rows, cosines, is_all = search_both(query, expression, vector, window=window, wanted=wanted, also=also)
    vector = resolve_vector(vector)
    ranked = [(key, score) for key, score, is_ranked in rows if is_ranked]
    keyword = {key: score for key, score, _ in rows}
    visible = query.visible({*cosines, *keyword, *also})
    nearest = [Hit(key, cosine) for key, cosine in cosines.items() if key in visible]
    words = [Hit(key, score) for key, score in ranked if key in visible]
    if len(nearest) < query.limit and not is_all:
        nearest = find_nearest(query, vector, wanted=wanted * GROWTH)
        keyword |= score_words(match, [hit.key for hit in nearest])
    if len(words) < query.limit and len(ranked) == window:
        words = find_words(query, match, window=window * GROWTH)
    nearest, words = nearest[: query.limit], words[: query.limit]
    by_vector, by_words = {hit.key for hit in nearest}, {hit.key for hit in words}
    if further := (by_vector | by_words).difference(visible):
        visible |= query.visible(further)
    extra = {key for key in also if key in visible} - by_vector - by_words
    cosine = score_vectors((by_words - by_vector) | extra, vector, table=query.table)
    keyword = {key: keyword[key] for key in (by_vector - by_words) | extra if key in keyword}
    return HybridHits(words, nearest, keyword, cosine, tuple(sorted(extra)), visible)


def search_both(
    query: HybridQuery,
    expression: str,
    vector: AnyVector,
    *,
    window: int,
    wanted: int,
    also: Collection[int],
) -> BothHits:
    """Rows as of _RANKED_AND_OTHERS for the nearest memories and `also`, and the result of nearest_memories()."""
    is_ready = not isinstance(vector, Future) or vector.done()
    table, is_long = query.table, len(query.allowed.rows) >= LARGE_GROUP_ROWS and CORES.has_spare()
    if isinstance(table, VectorTable) and (not is_ready or is_long):
        # Search for words while another core computes the vector and selects the rows near it.
        choosing = chooser_pool().submit(
            lambda: table.choose(resolve_vector(vector), query.allowed, wanted=wanted)
        )
        find = read_all_hits if len(query.allowed.rows) <= SMALL_GROUP_ROWS else read_best_hits
        ranked, score = find(expression, window)
        if not choosing.done():
            query.visible(key for key, _ in ranked)  # reads ahead; rows are read once
        found = table.compared(
            resolve_vector(vector), query.allowed, choosing.result(), wanted=wanted, read=read_vectors
        )
        cosines = best_cosines(found)
        others = score({*cosines, *also}.difference(key for key, _ in ranked))
        rows = [*((*row, 1) for row in ranked), *((*row, 0) for row in others)]
        return BothHits(rows, cosines, found.is_all)
    cosines, is_all = nearest_memories(query, resolve_vector(vector), wanted)
    rows = fetch_rows(_RANKED_AND_OTHERS, [expression, window, json.dumps([*cosines, *also])])
    return BothHits(rows, cosines, is_all)


def read_best_hits(expression: str, window: int) -> Hits:
    """The best hits, and a function that looks up the scores of some keys."""
    return fetch_rows(_RANKED, [expression, window]), lambda keys: fetch_rows(
        _SCORES, [expression, json.dumps([*keys])]
    )


def read_all_hits(expression: str, window: int) -> Hits:
    """The same as read_best_hits(), from one read of every hit."""
    hits = fetch_rows(_HITS, [expression])
    scores = dict(hits)
    best = sorted(hits, key=itemgetter(1), reverse=True)[:window]
    return best, lambda keys: [(key, scores[key]) for key in keys if key in scores]


def score_words(match: Match, keys: Collection[int]) -> dict[int, float]:
    """BM25 of the memories that match, by key."""
    return dict(fetch_rows(_SCORES, [match.expression, json.dumps([*keys])])) if keys else {}


def score_vectors(keys: Collection[int], vector: Vector, *, table: AnyTable | None) -> dict[int, float]:
    """Cosine of each memory's best piece, by key; memories without vectors are left out."""
    if not keys:
        return {}
    cosines = table.best_cosines(keys, vector) if table is not None else None
    if cosines is not None:
        return cosines
    rows = fetch_rows(_PIECES, [json.dumps([*keys])])
    vectors = decode_vectors([embedding for _, embedding in rows])
    return best_per_memory(np.array([memory for memory, _ in rows], dtype=np.int64), vectors @ vector)


def nearest_memories(query: HybridQuery, vector: Vector, wanted: int) -> tuple[dict[int, float], bool]:
    """Best cosine of each memory among the `wanted` nearest pieces, best first, and whether those are all pieces."""
    found = query.table.nearest(vector, query.allowed, wanted=wanted, read=read_vectors)
    return best_cosines(found), found.is_all


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


def build_expression(query: HybridQuery, match: Match) -> tuple[str, int]:
    """The FTS5 expression, limited to the visible groups if that saves work, and the number of hits to examine."""
    share = query.allowed.share
    groups = group_terms(query.visibility)
    if not groups or share >= LARGE_SHARE:
        return match.expression, min(int(query.limit * SLACK / max(share, LARGE_SHARE)) + 1, MAX_RANKED)
    return f"{{filter}} : ({' OR '.join(groups)}) AND {match.expression}", int(query.limit * SLACK)


def drop_common_terms(query: HybridQuery, match: Match) -> Match:
    """The match without its most common words if the store is so large that ranking takes long.

    In small groups the index skips other groups' texts: counting would take longer than it saves. The index does not know
    the Visibility's other conditions, so only the group's size decides.
    """
    if len(query.table) <= POSTING_BUDGET or query.allowed.in_groups <= SMALL_GROUP_ROWS:
        return match
    return within_budget(
        match, TERM_COUNTS.of(str(connection.settings_dict["NAME"]), match.terms, count_matches)
    )


def group_terms(v: Visibility) -> list[str]:
    """The filter column's words for visible groups; empty if every group is visible."""
    if v.groups is None:
        return []
    terms = [f'"ingroup{key}"' for key in sorted(v.groups)]
    return [*terms, '"isglobal"'] if v.include_global else terms


def count_matches(terms: Sequence[str]) -> list[int]:
    """Number of texts that match each word, counted up to the budget; one statement."""
    columns = ", ".join([_COUNT] * len(terms))
    values = [value for term in terms for value in (Match((term,)).expression, POSTING_BUDGET + 1)]
    [counted] = fetch_rows(f"SELECT {columns}", values)
    return [*counted]
