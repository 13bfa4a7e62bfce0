"""Search engine on SQLite: FTS5 for words, vec0 for vectors."""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from django.db import connection, transaction

from access.visibility import Visibility
from memories.queries.visibility import is_as_of_now
from memories.search.base import (
    AnyVector,
    DatedRow,
    Hit,
    HybridHits,
    Period,
    Vector,
)
from memories.search.combined import find_by_words, find_separately
from memories.search.in_memory.overlay import AnyTable
from memories.search.in_memory.sync import current_table
from memories.search.in_memory.table_rows import best_per_memory
from memories.search.keyword import find_count_errors
from memories.search.moments import find_dated
from memories.search.query_terms import Match
from memories.search.rows import (
    RowReader,
    needs_rows,
    placeholders,
    read_visible,
    render,
    standing_condition,
)
from memories.search.schema import (
    apply_index_schema,
    created_names,
    fill_group_use,
    fill_search_rows,
    statements,
)
from memories.search.sqlite.hybrid import (
    HybridQuery,
    find_hybrid,
    find_nearest,
    score_vectors,
)
from memories.search.sqlite.postings import FTS_POSTINGS
from memories.search.sqlite.prefix import find_newest, keep_visible_words, read_index_words
from memories.search.sqlite.reindex import switch_model
from memories.search.sqlite.vectors import decode_vectors, fetch_rows, read_progress
from memories.types import State

MAX_K = 4096  # vec0's limit for k
FEW = 32  # more than twice as many as asked for: vec0 compares rounded vectors
Params = list[Any]

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


class SqliteEngine:
    """SearchIndex on SQLite."""

    def find(
        self,
        match: Match | None,
        vector: AnyVector | None,
        visibility: Visibility,
        *,
        limit: int,
        also: Collection[int] = (),
    ) -> HybridHits:
        """The best `limit` memories of each search that has a query, with their true scores in the other search."""
        progress = read_progress() if vector is not None else None  # a keyword search needs none
        table = current_table(progress) if progress is not None else None
        if table is not None and match is not None and vector is not None:
            return find_hybrid(plan_query(table, visibility, limit), match, vector, also=also)
        return find_separately(
            match,
            vector,
            visibility,
            postings=FTS_POSTINGS,
            nearest=lambda query, *_: self._find_nearest(table, query, visibility, limit),
            cosines=lambda keys, query: score_vectors(keys, query, table=table),
            limit=limit,
            also=also,
        )

    def keyword(self, match: Match, visibility: Visibility, *, limit: int) -> list[Hit]:
        """The best `limit` memories by BM25, best first."""
        return find_by_words(match, visibility, postings=FTS_POSTINGS, limit=limit)

    def nearest(self, vector: Vector, visibility: Visibility, *, limit: int) -> list[Hit]:
        """The `limit` memories whose best piece is nearest, best first."""
        return self._find_nearest(current_table(read_progress()), vector, visibility, limit)

    def _find_nearest(
        self, table: AnyTable | None, vector: Vector, visibility: Visibility, limit: int
    ) -> list[Hit]:
        """Search the vectors in memory, or vec0 without them."""
        if table is not None:
            return find_nearest(plan_query(table, visibility, limit), vector)
        parts = [vec0_filter(part) for part in split_visibility(visibility)]
        visible = RowReader(partial(read_visible, visibility=visibility))
        sql = " UNION ALL ".join(_NEAREST.format(narrow=narrow) for narrow, _ in parts)
        k = min(2 * limit + FEW, MAX_K)
        while True:
            # vec0 returns k rows per group and accepts no LIMIT besides k.
            params = [value for _, values in parts for value in (vector.tobytes(), k, *values)]
            rows = fetch_rows(sql, params)
            hits = best_pieces([piece for (piece,) in rows], vector)
            if is_as_of_now(visibility):  # vec0 does not know when a fact begins to be true
                begun = visible(hit.key for hit in hits)
                hits = [hit for hit in hits if hit.key in begun]
            # Long memories have many pieces: raise k until there are enough memories or no more pieces.
            if len(hits) >= limit or len(rows) < k or k == MAX_K:
                return hits[:limit]
            k = min(k * 2, MAX_K)

    def dated(self, periods: Sequence[Period], visibility: Visibility, *, limit: int) -> list[DatedRow]:
        """The newest `limit` memories of the periods, newest first."""
        return find_dated(periods, visibility, limit=limit)

    def find_newest(
        self,
        alternatives: Sequence[Sequence[str]],
        visibility: Visibility,
        *,
        forms: Sequence[str] = (),
        limit: int,
    ) -> list[int]:
        """Keys of the newest visible memories with a word of each list of alternatives and with all the forms."""
        return find_newest(alternatives, visibility, forms=forms, limit=limit)

    def read_index_words(
        self, first: str, visibility: Visibility, *, shortest: int, longest: int
    ) -> list[str]:
        """The index's words (stems) that begin with `first`, of every group."""
        return read_index_words(first, shortest=shortest, longest=longest)

    def keep_visible_words(self, terms: Sequence[str], visibility: Visibility, *, limit: int) -> list[str]:
        """The first `limit` of the terms that a visible text has, in their order."""
        return keep_visible_words(terms, visibility, limit=limit)

    def missing_objects(self) -> list[str]:
        """Missing virtual tables, views and triggers."""
        existing = {name for (name,) in fetch_rows("SELECT name FROM sqlite_master", [])}
        return sorted(set(created_names(connection.vendor)) - existing)

    def find_errors(self) -> list[str]:
        """Differences between the rows, the keyword index and the vectors."""
        found = [f"{name} is missing" for name in self.missing_objects()]
        if found:
            return found
        return [*find_keyword_errors(), *find_count_errors(), *find_vector_errors()]

    def switch_model(
        self, model: str, *, is_complete: Callable[[], bool], progress: Callable[[int, int], None]
    ) -> bool:
        """Replace the vector index with one of another model's vectors."""
        return switch_model(model, is_complete=is_complete, progress=progress)

    def tend(self) -> None:
        """Nothing: every process searches the vectors in its memory."""

    def rebuild(self) -> None:
        """Rebuild both indexes from memories_memory and memories_piece."""
        with transaction.atomic(), connection.cursor() as cursor:
            apply_index_schema(connection)
            cursor.execute("INSERT INTO memories_fts (memories_fts) VALUES ('rebuild')")
            fill_search_rows(connection)
            fill_group_use(connection)
            cursor.execute("DROP TABLE memories_vec")
            for statement in statements("sqlite"):
                if statement.name in ("memories_vec", "memories_vec_rooms"):
                    cursor.execute(statement.sql)
            # The update trigger writes the vector row of each piece that has a vector.
            cursor.execute("UPDATE memories_piece SET embedding = embedding WHERE embedding IS NOT NULL")
            # The word index changed as well.
            cursor.execute("INSERT INTO index_change (piece, op) VALUES (0, '~')")


def plan_query(table: AnyTable, visibility: Visibility, limit: int) -> HybridQuery:
    """A query over the table, with a reader of its visible rows."""
    return HybridQuery(
        table,
        visibility,
        limit,
        table.allowed(visibility),
        RowReader(partial(read_visible, visibility=visibility)),
    )


def split_visibility(v: Visibility) -> list[Visibility]:
    """Disjoint Visibilities that together equal this one: vec0 has no "or"."""
    others = v.retracted_types - v.types
    if not v.types or not others or State.RETRACTED not in v.states:
        return [v]
    plain = replace(v, retracted_types=frozenset())
    return [plain, replace(plain, states=frozenset({State.RETRACTED}), types=others)]


def vec0_filter(v: Visibility) -> tuple[str, Params]:
    """A Visibility as constraints on memories_vec; conditions that its columns cannot express go to the rows."""
    parts: list[str] = []
    params: Params = []
    if v.groups is not None:
        groups = sorted({*v.groups, 0})
        parts.append(f"AND room IN ({placeholders(groups)})")
        params += groups
    standing = standing_condition(v)
    if standing and not needs_rows(v):
        parts.append(f"AND standing {standing}")
        if v.states == {State.LIVE}:
            parts.append("AND until > %s")
            params.append(int(v.now.timestamp() * 1000))
        if v.types:
            parts.append(f"AND type IN ({placeholders(v.types)})")
            params += sorted(v.types)
    else:
        where, values = render(v)
        parts.append(_PIECES.format(where=where))
        params += values
    return " ".join(parts), params


def best_pieces(pieces: Collection[int], vector: Vector) -> list[Hit]:
    """One hit per memory of these pieces with the cosine of its best one, best first."""
    rows = fetch_rows(_COMPARED, [json.dumps([*pieces])])
    vectors = decode_vectors([embedding for _, embedding in rows])
    best = best_per_memory(np.array([memory for memory, _ in rows], dtype=np.int64), vectors @ vector)
    return [Hit(key, score) for key, score in sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))]


def find_keyword_errors() -> list[str]:
    """Result of FTS5's integrity check."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO memories_fts (memories_fts, rank) VALUES ('integrity-check', 1)")
    except Exception as error:
        return [f"the keyword index does not match the memories ({type(error).__name__})"]
    return []


def find_vector_errors() -> list[str]:
    """Counts of missing, orphaned and outdated vector rows."""
    expected = "p.embedding IS NOT NULL AND p.model = (SELECT value FROM index_state WHERE name = 'model')"
    [(missing,)] = fetch_rows(
        f"SELECT COUNT(*) FROM memories_piece AS p WHERE {expected} AND p.key NOT IN (SELECT piece FROM memories_vec)",
        [],
    )
    [(extra,)] = fetch_rows(
        f"SELECT COUNT(*) FROM memories_vec WHERE piece NOT IN (SELECT p.key FROM memories_piece AS p WHERE {expected})",
        [],
    )
    [(stale,)] = fetch_rows(
        "SELECT COUNT(*) FROM memories_vec AS v JOIN memories_piece AS p ON p.key = v.piece"
        " JOIN memories_vec_row AS r ON r.memory = p.memory_id"
        " WHERE v.room != r.room OR v.standing != r.standing OR v.until != r.until",
        [],
    )
    counts = {
        "lack their vector row": missing,
        "vector rows have no piece": extra,
        "vector rows are out of date": stale,
    }
    return [f"{count} {what}" for what, count in counts.items() if count]
