"""Both searches over the vectors in memory and FTS5, with few statements; what they find is checked against the rows.

Neither search knows all that a Visibility asks. Each gives its best few more than wanted, the rows say which of them
are visible, and where too few are left it looks further. Nothing that matches better than the last one looked at was
passed over, nor anything nearer but for what signs tell apart wrongly (docs/speed.md).
"""

import json
import os
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter

import numpy as np
from django.db import connection

from access.visibility import Visibility
from memories.embedding.concurrency import CORES, available_cores
from memories.search.base import AnyVector, Hit, HybridHits, RankingFields, Vector, resolve_vector
from memories.search.in_memory.filter_cache import names_times
from memories.search.in_memory.overlay import AnyTable
from memories.search.in_memory.result_cache import BothHits
from memories.search.in_memory.table import AllowedRows, Nearest, VectorTable
from memories.search.in_memory.table_rows import best_per_memory
from memories.search.query_terms import Match
from memories.search.sqlite.vectors import decode_vectors, query, read_vectors
from memories.search.term_counts import POSTING_BUDGET, TermCounts, within_budget

SLACK = 1.25  # looked at beyond what is wanted
FURTHER = 4  # times as many when too few were visible
# From this share of all rows on, a group's word in the index costs more than looking at others' rows saves.
LARGE_SHARE = 0.3
MOST_RANKED = 1_000_000
LARGE_ROOM = 50_000  # rows from which choosing the near ones takes longer than handing it to another core
SMALL_ROOM = 6_000  # rows up to which reading every hit takes less than looking for some a second time

_RANKED = "SELECT rowid, -rank FROM memories_fts WHERE memories_fts MATCH %s ORDER BY rank LIMIT %s"
_HITS = "SELECT rowid, -rank FROM memories_fts WHERE memories_fts MATCH %s"
_RANKED_BESIDE = """
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


@dataclass(frozen=True)
class HybridQuery:
    """What is asked: `limit` memories that the Visibility allows; `visible` reads those of some keys that it does.

    `allowed` are the rows of the table that it may allow. `stamp` says how far the database has come; None where that
    cannot be said, as in a transaction that may be taken back.
    """

    table: AnyTable
    visibility: Visibility
    limit: int
    allowed: AllowedRows
    visible: Callable[[Iterable[int]], dict[int, RankingFields]]
    stamp: Hashable = None


def find_nearest(ask: HybridQuery, vector: Vector, *, wanted: int = 0) -> list[Hit]:
    """Give the memories whose best piece is nearest, best first."""
    wanted = wanted or int(ask.limit * SLACK)
    while True:
        cosines, is_all = _nearest(ask, vector, wanted)
        seen = ask.visible(cosines)
        hits = [Hit(key, cosine) for key, cosine in cosines.items() if key in seen]
        if len(hits) >= ask.limit or is_all:
            return hits[: ask.limit]
        wanted *= FURTHER


def find_words(ask: HybridQuery, match: Match, *, window: int = 0) -> list[Hit]:
    """Give the memories that match best, best first."""
    expression, usual = _expression(ask, _affordable(ask, match))
    window = window or usual
    while True:
        rows = query(_RANKED, [expression, window])
        seen = ask.visible(key for key, _ in rows)
        hits = [Hit(key, score) for key, score in rows if key in seen]
        if len(hits) >= ask.limit or len(rows) < window:
            return hits[: ask.limit]
        window *= FURTHER


def find_hybrid(
    ask: HybridQuery, match: Match, asked: AnyVector, *, also: Collection[int] = ()
) -> HybridHits:
    """Give what both searches find, and each one's score in the other; the visible ones of `also` beside them."""
    wanted = int(ask.limit * SLACK)
    match = _affordable(ask, match)
    expression, window = _expression(ask, match)
    rows, cosines, is_all = _kept_both(ask, expression, asked, window=window, wanted=wanted, also=also)
    vector = resolve_vector(asked)
    ranked = [(key, score) for key, score, is_ranked in rows if is_ranked]
    keyword = {key: score for key, score, _ in rows}
    seen = ask.visible({*cosines, *keyword, *also})
    near = [Hit(key, cosine) for key, cosine in cosines.items() if key in seen]
    words = [Hit(key, score) for key, score in ranked if key in seen]
    if len(near) < ask.limit and not is_all:
        near = find_nearest(ask, vector, wanted=wanted * FURTHER)
        keyword |= score_words(match, [hit.key for hit in near])
    if len(words) < ask.limit and len(ranked) == window:
        words = find_words(ask, match, window=window * FURTHER)
    near, words = near[: ask.limit], words[: ask.limit]
    named, own = {hit.key for hit in near}, {hit.key for hit in words}
    if further := (named | own).difference(seen):
        seen |= ask.visible(further)
    beside = {key for key in also if key in seen} - named - own
    cosine = score_vectors((own - named) | beside, vector, table=ask.table)
    keyword = {key: keyword[key] for key in (named - own) | beside if key in keyword}
    return HybridHits(words, near, keyword, cosine, tuple(sorted(beside)), seen)


def _kept_both(
    ask: HybridQuery, expression: str, asked: AnyVector, *, window: int, wanted: int, also: Collection[int]
) -> BothHits:
    """Give what _ask_both() does, and gave before where nothing changed since."""
    find = partial(_ask_both, ask, expression, asked, window=window, wanted=wanted, also=also)
    if ask.stamp is None or names_times(ask.visibility) or not isinstance(ask.table, VectorTable):
        return find()
    if not isinstance(asked, Future):  # its identity says nothing
        return find()
    return ask.table.kept_hits.of(
        asked, ask.allowed, expression, window, wanted, frozenset(also), stamp=ask.stamp, find=find
    )


def _ask_both(
    ask: HybridQuery, expression: str, asked: AnyVector, *, window: int, wanted: int, also: Collection[int]
) -> BothHits:
    """Give the rows of _RANKED_BESIDE for what is near and for `also`, and what _nearest() gives."""
    is_made = not isinstance(asked, Future) or asked.done()
    table, is_long = ask.table, len(ask.allowed.rows) >= LARGE_ROOM and CORES.has_spare()
    if isinstance(table, VectorTable) and (not is_made or is_long):
        # Words are looked for while another core makes the vector and chooses those near it.
        choosing = _choosers().submit(lambda: table.choose(resolve_vector(asked), ask.allowed, wanted=wanted))
        find = _all_hits if len(ask.allowed.rows) <= SMALL_ROOM else _best_hits
        ranked, score = find(expression, window)
        if not choosing.done():
            ask.visible(key for key, _ in ranked)  # read now, it is not read again
        found = table.compared(
            resolve_vector(asked), ask.allowed, choosing.result(), wanted=wanted, read=read_vectors
        )
        cosines = _by_memory(found)
        beside = score({*cosines, *also}.difference(key for key, _ in ranked))
        rows = [*((*row, 1) for row in ranked), *((*row, 0) for row in beside)]
        return BothHits(rows, cosines, found.is_all)
    cosines, is_all = _nearest(ask, resolve_vector(asked), wanted)
    rows = query(_RANKED_BESIDE, [expression, window, json.dumps([*cosines, *also])])
    return BothHits(rows, cosines, is_all)


def _best_hits(expression: str, window: int) -> Hits:
    """Give the best hits, and what looks for some keys' scores."""
    return query(_RANKED, [expression, window]), lambda keys: query(
        _SCORES, [expression, json.dumps([*keys])]
    )


def _all_hits(expression: str, window: int) -> Hits:
    """Give what _best_hits() does, from one reading of every hit."""
    hits = query(_HITS, [expression])
    scores = dict(hits)
    best = sorted(hits, key=itemgetter(1), reverse=True)[:window]
    return best, lambda keys: [(key, scores[key]) for key in keys if key in scores]


def score_words(match: Match, keys: Collection[int]) -> dict[int, float]:
    """Give the BM25 of those of the memories that match at all."""
    return dict(query(_SCORES, [match.expression, json.dumps([*keys])])) if keys else {}


def score_vectors(keys: Collection[int], vector: Vector, *, table: AnyTable | None) -> dict[int, float]:
    """Give the cosine of each memory's best piece; only for those that have vectors."""
    if not keys:
        return {}
    known = table.best_cosines(keys, vector) if table is not None else None
    if known is not None:
        return known
    rows = query(_PIECES, [json.dumps([*keys])])
    vectors = decode_vectors([embedding for _, embedding in rows])
    return best_per_memory(np.array([memory for memory, _ in rows], dtype=np.int64), vectors @ vector)


def _nearest(ask: HybridQuery, vector: Vector, wanted: int) -> tuple[dict[int, float], bool]:
    """Give the best cosine of each memory among the `wanted` nearest pieces, best first, and whether there is no more."""
    found = ask.table.nearest(vector, ask.allowed, wanted=wanted, read=read_vectors)
    return _by_memory(found), found.is_all


@cache
def _choosers() -> ThreadPoolExecutor:
    """Give the threads that choose what is near: they ask no database, and wait for vectors that others make."""
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="loci-near")


if hasattr(os, "register_at_fork"):  # a fork copies no threads
    os.register_at_fork(after_in_child=_choosers.cache_clear)


def _by_memory(found: Nearest) -> dict[int, float]:
    best: dict[int, float] = {}
    for key, cosine in zip(found.memories.tolist(), found.cosines.tolist(), strict=True):
        best.setdefault(key, cosine)
    return best


def _expression(ask: HybridQuery, match: Match) -> tuple[str, int]:
    """Give the FTS5 expression, with the rooms' words where that spares work, and how many of its hits to look at."""
    share = ask.allowed.share
    rooms = _rooms(ask.visibility)
    if not rooms or share >= LARGE_SHARE:
        return match.expression, min(int(ask.limit * SLACK / max(share, LARGE_SHARE)) + 1, MOST_RANKED)
    return f"{{filter}} : ({' OR '.join(rooms)}) AND {match.expression}", int(ask.limit * SLACK)


def _affordable(ask: HybridQuery, match: Match) -> Match:
    """Give the question's words without the most common ones where there are so many texts that ranking takes long.

    Of small rooms the index passes over what stands in others: counting would take longer than what it spares. What else
    is asked of their rows the index does not know.
    """
    if len(ask.table) <= POSTING_BUDGET or ask.allowed.in_rooms <= SMALL_ROOM:
        return match
    return within_budget(match, TERM_COUNTS.of(str(connection.settings_dict["NAME"]), match.terms, _counts))


def _rooms(v: Visibility) -> list[str]:
    """Give the words of the filter column that a visible memory has one of; empty where every room is visible."""
    if v.groups is None:
        return []
    rooms = [f'"ingroup{key}"' for key in sorted(v.groups)]
    return [*rooms, '"isglobal"'] if v.include_global else rooms


def _counts(terms: Sequence[str]) -> list[int]:
    """Count what each word matches, as far as the budget goes; one statement for all."""
    columns = ", ".join([_COUNT] * len(terms))
    values = [value for term in terms for value in (Match((term,)).expression, POSTING_BUDGET + 1)]
    [counted] = query(f"SELECT {columns}", values)
    return [*counted]
