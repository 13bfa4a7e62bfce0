"""Search engine on SQLite: FTS5 for words, vec0 for vectors."""

import json
import os
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from django.db import connection, transaction

from access.visibility import Visibility
from memories.embedding.concurrency import CORES
from memories.queries.visibility import is_as_of_now, placeholders
from memories.search.base import NearSearch, SearchIndex
from memories.search.in_memory.sync import (
    AnyTable,
    current_table,
    decode_vectors,
    read_progress,
    read_vectors,
)
from memories.search.in_memory.table import Keys, Nearest, VectorTable, best_per_memory
from memories.search.keyword import (
    GROWTH,
    POSTING_BUDGET,
    SLACK,
    Postings,
    VisibleTexts,
    join_columns,
    parse_numbers,
)
from memories.search.query_terms import Match, expression_of
from memories.search.rows import (
    AnyVector,
    Hit,
    RowReader,
    Vector,
    groups_sql,
    index_filter,
    render,
    resolve_vector,
    standing_condition,
)
from memories.search.schema import apply_index_schema
from storage.compiled_queries import fetch
from storage.machine import available_cores

# From this share of all texts on, matching a group's word costs more than it saves.
_LARGE_SHARE = 0.3
_MAX_FILTER_GROUPS = 50  # groups named inside a match; with more, only the rows are filtered

TEXT, CONTEXT = "content forms", "context"
_FOUND = """
FROM memories_fts AS f CROSS JOIN search_row AS s ON s.key = f.rowid WHERE f.memories_fts MATCH %s AND {groups}
"""
# A row per word and columns with two texts of numbers: Python takes three times as long for a row per match.
_POSTINGS = """
SELECT (SELECT GROUP_CONCAT(s.key) || ' ' || GROUP_CONCAT(s.words) {found}) FROM json_each(%s) AS word
"""
_COUNT = "SELECT COUNT(*) FROM (SELECT 1 " + _FOUND + " LIMIT %s)"


def _group_expression(visibility: Visibility, texts: VisibleTexts) -> str:
    """The beginning of a match expression that skips other groups' texts; empty where that costs more than it saves."""
    clause = "" if texts.share >= _LARGE_SHARE else _group_filter(visibility)
    return f"{clause} AND " if clause else ""


def _group_filter(v: Visibility) -> str:
    """Match clause with the filter column's words for visible groups; empty if all are visible, or too many to name."""
    terms = [f'"ingroup{key}"' for key in sorted(v.groups or ())]
    if v.groups is not None and v.include_global:
        terms.append('"isglobal"')
    return f"{{filter}} : ({' OR '.join(terms)})" if 0 < len(terms) <= _MAX_FILTER_GROUPS else ""


_WITH_WORDS = """
SELECT m.key FROM memories_fts AS f CROSS JOIN memories_memory AS m ON m.key = f.rowid
WHERE f.memories_fts MATCH %s AND {where} ORDER BY f.rowid DESC LIMIT %s
"""
# Temporary tables without content: they read the index's own list of words, and where each stands.
_WORDS = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.memories_fts_words USING fts5vocab('main', 'memories_fts', 'row')"
_PLACES = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.memories_fts_places USING fts5vocab('main', 'memories_fts', 'instance')"
_LIKE = """
SELECT term FROM temp.memories_fts_words
WHERE term >= %s AND term < %s AND length(term) BETWEEN %s AND %s
"""
# FTS5 stems every search term, even one that is already a stem: a search for "deploy" (the stem of deployment) matches
# "deploi" (the stem of deploy). So the match only narrows the search; the term itself must occur in a visible text.
_PRESENT = """
SELECT word.key FROM json_each(%s) AS word WHERE EXISTS (
    SELECT 1 FROM memories_fts AS f CROSS JOIN memories_memory AS m ON m.key = f.rowid
    WHERE f.memories_fts MATCH word.value ->> 0 AND {where}
) AND EXISTS (
    SELECT 1 FROM temp.memories_fts_places AS place CROSS JOIN memories_memory AS m ON m.key = place.doc
    WHERE place.term = word.value ->> 1 AND {where}
)
"""


def _quoted(word: str) -> str:
    """The word quoted for FTS5, with the "*" of a prefix outside the quotes."""
    return f'"{word[:-1]}"*' if word.endswith("*") else f'"{word}"'


LARGE_GROUP_ROWS = 50_000  # rows from which a selection takes longer than handing it to another core

_SCORED = """
SELECT memory_id, embedding FROM memories_piece
WHERE memory_id IN (SELECT value FROM json_each(%s)) AND embedding IS NOT NULL
    AND model = (SELECT value FROM index_state WHERE name = 'model')
"""


class TableSearch(NearSearch):
    """NearSearch over the vectors in memory."""

    def __init__(
        self, table: AnyTable, vector: AnyVector, visibility: Visibility, visible: RowReader, *, limit: int
    ) -> None:
        super().__init__(vector, visibility, visible, limit=limit)
        self._table = table
        self._wanted = int(limit * SLACK)
        self._allowed = table.allowed(visibility)
        self._choosing: Future[Keys] | None = None
        self._found: Nearest | None = None

    def begin(self) -> None:
        """Select near rows on another core, unless that saves nothing."""
        vector, table, allowed = self._vector, self._table, self._allowed
        is_ready = not isinstance(vector, Future) or vector.done()
        is_long = len(allowed.rows) >= LARGE_GROUP_ROWS and CORES.has_spare()
        if isinstance(table, VectorTable) and (is_long or not is_ready):
            self._choosing = chooser_pool().submit(
                lambda: table.choose(resolve_vector(vector), allowed, wanted=self._wanted)
            )

    def at_hand(self) -> Collection[int]:
        if self._choosing is not None and not self._choosing.done():
            return ()
        found = self._nearest_pieces()
        return best_per_memory(found.memories, found.cosines)

    def best(self, scored: Collection[int], *, floor: float = -1.0) -> list[Hit]:
        wanted, found = self._wanted, self._nearest_pieces()
        while True:
            cosines = best_per_memory(found.memories, found.cosines)
            near = {key: cosine for key, cosine in cosines.items() if cosine >= floor}
            seen = self._visible(near)
            hits = [Hit(key, cosine) for key, cosine in near.items() if key in seen]
            if len(hits) >= self._limit or found.is_all or len(near) < len(cosines):
                return hits[: self._limit]
            wanted *= GROWTH
            found = self._table.nearest(
                resolve_vector(self._vector), self._allowed, wanted=wanted, read=read_vectors
            )

    def cosines(self, keys: Collection[int]) -> dict[int, float]:
        if not keys:
            return {}
        vector = resolve_vector(self._vector)
        found = self._table.best_cosines(keys, vector)
        # As the vectors in memory have them: whether they fit depends on other groups.
        return _compare(_SCORED, keys, vector, is_halved=True) if found is None else found

    def _nearest_pieces(self) -> Nearest:
        """The nearest pieces; of the rows that begin() selected, if it did."""
        if self._found is None:
            table, allowed, wanted = self._table, self._allowed, self._wanted
            vector = resolve_vector(self._vector)
            if self._choosing is not None and isinstance(table, VectorTable):
                chosen = self._choosing.result()
                self._found = table.compared(vector, allowed, chosen, wanted=wanted, read=read_vectors)
            else:
                self._found = table.nearest(vector, allowed, wanted=wanted, read=read_vectors)
        return self._found


def _compare(sql: str, keys: Collection[int], vector: Vector, *, is_halved: bool = False) -> dict[int, float]:
    """Cosine of the best one of each memory's pieces that the statement reads, by the memory's key."""
    rows = fetch(sql, [json.dumps([*keys])])
    if not rows:
        return {}
    vectors = decode_vectors([embedding for _, embedding in rows])
    if is_halved:
        vectors = vectors.astype(np.float16).astype(np.float32)
    return best_per_memory(np.array([memory for memory, _ in rows], dtype=np.int64), vectors @ vector)


@cache
def chooser_pool() -> ThreadPoolExecutor:
    """Threads that select near rows: they do not use the database, and wait for vectors from other threads."""
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="loci-near")


os.register_at_fork(after_in_child=chooser_pool.cache_clear)  # a fork copies no threads


_MAX_K = 4096  # vec0's limit for k
FEW = 32  # more than twice as many as asked for: vec0 compares rounded vectors

_NEAREST = """
SELECT piece FROM memories_vec WHERE embedding MATCH vec_quantize_int8(%s, 'unit') AND k = %s {narrow}
"""
_PIECES = """
AND piece IN (
    SELECT p.key FROM memories_piece AS p JOIN memories_memory AS m ON m.key = p.memory_id
    WHERE p.embedding IS NOT NULL AND {where}
)
"""
_COMPARED = """
SELECT memory_id, embedding FROM memories_piece WHERE key IN (SELECT value FROM json_each(%s)) AND embedding IS NOT NULL
"""
_FILL_VECTORS = """
INSERT INTO memories_vec (piece, room, embedding, standing, until, type)
SELECT p.key, row.room, vec_quantize_int8(p.embedding, 'unit'), row.standing, row.until, row.type
FROM memories_piece AS p JOIN memories_vec_row AS row ON row.memory = p.memory_id
WHERE p.embedding IS NOT NULL AND p.model = (SELECT value FROM index_state WHERE name = 'model')
"""


class _Vec0Search(NearSearch):
    """NearSearch over vec0, in a process that has no vectors in memory yet."""

    def best(self, scored: Collection[int], *, floor: float = -1.0) -> list[Hit]:
        vector, limit = resolve_vector(self._vector), self._limit
        narrow, values = _vec0_filter(self._visibility)
        k = min(2 * limit + FEW, _MAX_K)
        while True:
            # vec0 returns k rows per group and accepts no LIMIT besides k.
            rows = fetch(_NEAREST.format(narrow=narrow), [vector.tobytes(), k, *values])
            best = _compare(_COMPARED, [piece for (piece,) in rows], vector)
            hits = [
                Hit(key, score) for key, score in sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))
            ]
            if is_as_of_now(self._visibility):  # vec0 does not know when a fact begins to be true
                begun = self._visible(hit.key for hit in hits)
                hits = [hit for hit in hits if hit.key in begun]
            # Long memories have many pieces: raise k until there are enough memories or no more pieces.
            if len(hits) >= limit or len(rows) < k or k == _MAX_K:
                return hits[:limit]
            k = min(k * 2, _MAX_K)

    def cosines(self, keys: Collection[int]) -> dict[int, float]:
        return _compare(_SCORED, keys, resolve_vector(self._vector)) if keys else {}


class SqliteEngine(SearchIndex):
    """SearchIndex on SQLite."""

    names, vectors, needs_share = "SELECT name FROM sqlite_master", "memories_vec", True

    def postings(
        self, terms: Sequence[str], visibility: Visibility, texts: VisibleTexts
    ) -> Iterator[Postings]:
        groups, params = groups_sql(visibility)
        beginning = _group_expression(visibility, texts)
        expressions = [
            beginning + expression_of([term], columns) for term in terms for columns in (TEXT, CONTEXT)
        ]
        found = _FOUND.replace("%s", "word.value").format(groups=groups)
        rows = fetch(_POSTINGS.format(found=found), [*params, json.dumps(expressions)])
        parts = [parse_numbers(*(matches or " ").split(" ")) for (matches,) in rows]
        return map(join_columns, parts[::2], parts[1::2])

    def counts(self, terms: Sequence[str], visibility: Visibility, texts: VisibleTexts) -> list[int]:
        groups, params = groups_sql(visibility)
        beginning, sql = _group_expression(visibility, texts), _COUNT.format(groups=groups)
        rows = [
            fetch(sql, [beginning + Match((term,)).expression, *params, POSTING_BUDGET + 1]) for term in terms
        ]
        return [int(count) for [(count,)] in rows]

    def search_near(
        self, vector: AnyVector, visibility: Visibility, visible: RowReader, *, limit: int
    ) -> NearSearch:
        table = current_table(read_progress())
        if table is None:
            return _Vec0Search(vector, visibility, visible, limit=limit)
        return TableSearch(table, vector, visibility, visible, limit=limit)

    def find_newest(
        self,
        alternatives: Sequence[Sequence[str]],
        visibility: Visibility,
        *,
        forms: Sequence[str] = (),
        limit: int,
    ) -> list[int]:
        where, params = render(visibility)
        clauses = [f"({' OR '.join(map(_quoted, words))})" for words in alternatives]
        # The forms hold what the index does not fold by itself: ł, ø, ß, and the parts of identifiers.
        wanted = [f"{{content forms}} : ({' AND '.join(clauses)})"] if clauses else []
        wanted += [f"{{forms}} : ({' AND '.join(map(_quoted, forms))})"] if forms else []
        expression = " AND ".join(filter(None, [*wanted, _group_filter(visibility)]))
        return [key for (key,) in fetch(_WITH_WORDS.format(where=where), [expression, *params, limit])]

    def read_index_words(
        self, first: str, visibility: Visibility, *, shortest: int, longest: int
    ) -> list[str]:
        # All of every group: a limit would let other groups' words crowd out the caller's.
        with connection.cursor() as cursor:
            cursor.execute(_WORDS)
        return [term for (term,) in fetch(_LIKE, [first, first + "\U0010ffff", shortest, longest])]

    def find_visible_words(self, terms: Sequence[str], visibility: Visibility) -> list[int]:
        where, params = render(visibility)
        with connection.cursor() as cursor:
            cursor.execute(_PLACES)
        own = _group_filter(visibility)
        asked = [[" AND ".join(filter(None, [_quoted(term), own])), term] for term in terms]
        rows = fetch(_PRESENT.format(where=where), [json.dumps(asked), *params, *params])
        return [int(at) for (at,) in rows]

    def find_word_errors(self) -> list[str]:
        try:  # FTS5's own check
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO memories_fts (memories_fts, rank) VALUES ('integrity-check', 1)")
        except Exception as error:
            return [f"the keyword index does not match the memories ({type(error).__name__})"]
        return []

    def tend(self) -> None:
        """Do nothing: every process searches the vectors in its memory."""

    def rebuild(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            super().rebuild()
            cursor.execute("INSERT INTO memories_fts (memories_fts) VALUES ('rebuild')")
            # Every process reads the vectors again.
            cursor.execute(
                "INSERT INTO index_change (piece, op) SELECT key, '~' FROM memories_piece WHERE embedding IS NOT NULL"
            )

    def stop_writers(self) -> None:
        """Do nothing: a transaction begins with the write lock."""

    def fill_vectors(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE memories_vec")
            apply_index_schema(connection, ("vectors.sql",))
            cursor.execute(_FILL_VECTORS)
            count: int = cursor.rowcount
        return count


def _vec0_filter(v: Visibility) -> tuple[str, list[Any]]:
    """A Visibility as constraints on memories_vec; conditions that its columns cannot express go to the rows."""
    parts: list[str] = []
    params = list[Any]()
    if v.groups is not None:
        groups = sorted({*v.groups, 0})
        parts.append(f"AND room IN ({placeholders(groups)})")
        params += groups
    where, values = index_filter(v, standing_condition(v), on_rows=_PIECES)
    return " ".join([*parts, where]), [*params, *values]
