"""The search index on SQLite: FTS5 for words, vec0 for vectors. The only module that knows either."""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any

from django.db import connection, transaction

from access.visibility import Visibility
from memories.search.base import AnyVector, Hit, HybridHits, Vector, resolve_vector
from memories.search.in_memory.overlay import AnyTable
from memories.search.in_memory.sync import current_table
from memories.search.query_terms import Match
from memories.search.schema import apply_index_schema, created_names, statements
from memories.search.sqlite.hybrid import HybridQuery, find_hybrid, find_nearest, score_vectors, score_words
from memories.search.sqlite.reindex import switch_model
from memories.search.sqlite.rows import RowReader, placeholders, read_visible, render
from memories.search.sqlite.vectors import IndexProgress, read_progress
from memories.types import VISIBLE_TRUSTS, State, Trust
from storage.compiled_queries import fetch

MAX_K = 4096  # vec0's own limit for k
Params = list[Any]

_KEYWORD = """
SELECT m.key, -f.rank FROM memories_fts AS f CROSS JOIN memories_memory AS m ON m.key = f.rowid
WHERE f.memories_fts MATCH %s AND {where} ORDER BY f.rank LIMIT %s
"""
_NEAREST = """
SELECT piece, distance FROM memories_vec WHERE embedding MATCH %s AND k = %s {narrow}
"""
_PIECES = """
AND piece IN (
    SELECT p.key FROM memories_piece AS p JOIN memories_memory AS m ON m.key = p.memory_id
    WHERE p.embedding IS NOT NULL AND {where}
)
"""


class Engine:
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
        """Give the best `limit` memories of each search whose question is given, with the true scores in the other."""
        stand = read_progress() if vector is not None else None  # words alone need none
        table = current_table(stand) if stand is not None else None
        if table is not None and match is not None and vector is not None:
            return find_hybrid(_ask(table, visibility, limit, stand), match, vector, also=also)
        words = self.keyword(match, visibility, limit=limit) if match is not None else []
        vector = resolve_vector(vector) if vector is not None else None
        near = self._near(table, vector, visibility, limit) if vector is not None else []
        named, own = {hit.key for hit in near}, {hit.key for hit in words}
        rows = read_visible(named | own | {*also}, visibility)
        beside = {*also}.intersection(rows) - named - own
        return HybridHits(
            words,
            near,
            score_words(match, (named - own) | beside) if match is not None else {},
            score_vectors((own - named) | beside, vector, table=table) if vector is not None else {},
            tuple(sorted(beside)),
            rows,
        )

    def keyword(self, match: Match, visibility: Visibility, *, limit: int) -> list[Hit]:
        """Give the best `limit` memories by BM25, best first."""
        where, params = render(visibility)
        rows = _query(_KEYWORD.format(where=where), [match.expression, *params, limit])
        return [Hit(key, score) for key, score in rows]

    def nearest(self, vector: Vector, visibility: Visibility, *, limit: int) -> list[Hit]:
        """Give the `limit` memories whose best piece is nearest, best first."""
        return self._near(current_table(read_progress()), vector, visibility, limit)

    def _near(self, table: AnyTable | None, vector: Vector, visibility: Visibility, limit: int) -> list[Hit]:
        """Ask the vectors in memory, or vec0 where they are not there."""
        if table is not None:
            return find_nearest(_ask(table, visibility, limit), vector)
        parts = [_narrow(part) for part in _parted(visibility)]
        sql = " UNION ALL ".join(_NEAREST.format(narrow=narrow) for narrow, _ in parts)
        k = min(limit, MAX_K)
        while True:
            # vec0 gives k rows of each room, and takes no LIMIT beside k.
            params = [value for _, values in parts for value in (vector.tobytes(), k, *values)]
            rows = _query(f"{sql} ORDER BY distance", params)[:k]
            hits = _best_pieces(rows)
            # Long memories have many pieces: look further until there are enough memories, or no more pieces.
            if len(hits) >= limit or len(rows) < k or k == MAX_K:
                return hits[:limit]
            k = min(k * 2, MAX_K)

    def missing_objects(self) -> list[str]:
        """List the virtual tables, views and triggers that are not there."""
        there = {name for (name,) in _query("SELECT name FROM sqlite_master", [])}
        return sorted(set(created_names(connection.vendor)) - there)

    def faults(self) -> list[str]:
        """Compare rows, keyword index and vectors."""
        found = [f"{name} is missing" for name in self.missing_objects()]
        if found:
            return found
        return [*_keyword_faults(), *_vector_faults()]

    def switch_model(
        self, model: str, *, is_complete: Callable[[], bool], progress: Callable[[int, int], None]
    ) -> bool:
        """Exchange the vector index for one of another model's vectors."""
        return switch_model(model, is_complete=is_complete, progress=progress)

    def rebuild(self) -> None:
        """Make both indexes anew from memories_memory and memories_piece."""
        with transaction.atomic(), connection.cursor() as cursor:
            apply_index_schema(connection)
            cursor.execute("INSERT INTO memories_fts (memories_fts) VALUES ('rebuild')")
            cursor.execute("DROP TABLE memories_vec")
            for statement in statements("sqlite"):
                if statement.name in ("memories_vec", "memories_vec_rooms"):
                    cursor.execute(statement.sql)
            # The update trigger writes the vector row of each piece that has a vector.
            cursor.execute("UPDATE memories_piece SET embedding = embedding WHERE embedding IS NOT NULL")
            cursor.execute(
                "INSERT INTO index_change (piece, op) VALUES (0, '~')"
            )  # the words are others, too


def _ask(
    table: AnyTable, visibility: Visibility, limit: int, stand: IndexProgress | None = None
) -> HybridQuery:
    return HybridQuery(
        table,
        visibility,
        limit,
        table.allowed(visibility),
        RowReader(partial(read_visible, visibility=visibility)),
        None if connection.in_atomic_block else stand,
    )


def _parted(v: Visibility) -> list[Visibility]:
    """Give Visibilities that together allow what this one does and no row twice: vec0 knows no "or"."""
    others = v.retracted_types - v.types
    if not v.types or not others or State.RETRACTED not in v.states:
        return [v]
    plain = replace(v, retracted_types=frozenset())
    return [plain, replace(plain, states=frozenset({State.RETRACTED}), types=others)]


def _narrow(v: Visibility) -> tuple[str, Params]:
    """Give a Visibility as constraints on memories_vec; what its columns cannot say is asked of the rows."""
    parts: list[str] = []
    params: Params = []
    if v.groups is not None:
        rooms = sorted({*v.groups, 0})
        parts.append(f"AND room IN ({placeholders(rooms)})")
        params += rooms
    standing = _standing(v)
    if standing and not _needs_rows(v):
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


def _standing(v: Visibility) -> str:
    """Give the condition on vec0's `standing` that means these states and trusts; empty where none does."""
    if v.states == {State.LIVE} and v.trusts == set(VISIBLE_TRUSTS):
        return "= 2"
    if v.trusts == set(Trust.values):
        if v.states == {State.LIVE}:
            return ">= 1"
        if v.states == {State.LIVE, State.RETRACTED}:
            return "!= 0"
        if v.states == {State.RETRACTED}:
            return "= -1"
    return ""


def _needs_rows(v: Visibility) -> bool:
    """Say whether something is asked that vec0's columns do not hold."""
    own_globals = v.groups is not None and not v.include_global
    narrowed = bool(v.tags or v.scope or v.min_confidence > 0 or v.after or v.before)
    return narrowed or v.is_history or own_globals


def _best_pieces(rows: list[tuple[Any, ...]]) -> list[Hit]:
    """Give one hit per memory, its best piece's cosine, best first."""
    if not rows:
        return []
    memories = dict(
        _query(
            f"SELECT key, memory_id FROM memories_piece WHERE key IN ({placeholders(rows)})",
            [row[0] for row in rows],
        )
    )
    best: dict[int, float] = {}
    for piece, distance in rows:
        memory = memories.get(piece)
        if memory is not None:
            best.setdefault(memory, 1.0 - distance)
    return [Hit(key, score) for key, score in best.items()]


def _keyword_faults() -> list[str]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO memories_fts (memories_fts, rank) VALUES ('integrity-check', 1)")
    except Exception as fault:
        return [f"the keyword index does not agree with the memories ({type(fault).__name__})"]
    return []


def _vector_faults() -> list[str]:
    owed = "p.embedding IS NOT NULL AND p.model = (SELECT value FROM index_state WHERE name = 'model')"
    [(lacking,)] = _query(
        f"SELECT COUNT(*) FROM memories_piece AS p WHERE {owed} AND p.key NOT IN (SELECT piece FROM memories_vec)",
        [],
    )
    [(extra,)] = _query(
        f"SELECT COUNT(*) FROM memories_vec WHERE piece NOT IN (SELECT p.key FROM memories_piece AS p WHERE {owed})",
        [],
    )
    [(stale,)] = _query(
        "SELECT COUNT(*) FROM memories_vec AS v JOIN memories_piece AS p ON p.key = v.piece"
        " JOIN memories_vec_row AS r ON r.memory = p.memory_id"
        " WHERE v.room != r.room OR v.standing != r.standing OR v.until != r.until",
        [],
    )
    counts = {
        "lack their vector row": lacking,
        "vector rows have no piece": extra,
        "vector rows are out of date": stale,
    }
    return [f"{count} {what}" for what, count in counts.items() if count]


def _query(sql: str, params: Params) -> list[tuple[Any, ...]]:
    return fetch(sql, params)
