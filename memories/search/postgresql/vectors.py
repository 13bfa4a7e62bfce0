"""Nearest memories by pgvector: filter first, then compare what is left."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from access.visibility import Visibility
from memories.search.base import Hit, RankingFields, Vector
from memories.search.postgresql.lexemes import GLOBAL_ROOM, rooms_of
from memories.search.rows import needs_rows, placeholders, render, standing_condition
from memories.types import State
from storage.compiled_queries import fetch

SLACK, GROWTH = 2, 4  # pieces read per memory wanted, and the factor if too few of them were visible
Visible = Callable[[Iterable[int]], Mapping[int, RankingFields]]

# "+ 0" keeps the planner from an approximate index, which looks for the nearest first and filters afterwards.
_NEAREST = """
(SELECT memory, h <=> %s::halfvec(384) AS distance FROM piece_search
WHERE {room} {narrow} ORDER BY (h <=> %s::halfvec(384)) + 0 LIMIT %s)
"""
_ROWS = "AND memory IN (SELECT m.key FROM memories_memory AS m WHERE {where})"
_SCORES = """
SELECT memory, 1 - MIN(h <=> %s::halfvec(384)) FROM piece_search WHERE memory = ANY(%s) GROUP BY memory
"""


def find_nearest(vector: Vector, visibility: Visibility, visible: Visible, *, limit: int) -> list[Hit]:
    """The `limit` visible memories whose best piece is nearest, best first."""
    asked, (narrow, params) = vector_text(vector), narrowing(visibility)
    rooms = [room for room in rooms_of(visibility) if room != GLOBAL_ROOM]
    # Own rows and global ones apart: together the planner would read all rooms.
    sql = " UNION ALL ".join(
        _NEAREST.format(room=room, narrow=narrow) for room in ("room = ANY(%s)", f"room = {GLOBAL_ROOM}")
    )
    count = int(limit * SLACK)
    while True:
        own = [asked, rooms, *params, asked, count]
        rows = fetch(f"{sql} ORDER BY distance", [*own, asked, *params, asked, count])
        best: dict[int, float] = {}
        for memory, distance in rows[:count]:
            best.setdefault(memory, 1.0 - distance)
        seen = visible(best)
        hits = [Hit(key, cosine) for key, cosine in best.items() if key in seen]
        if len(hits) >= limit or len(rows) < count:
            return hits[:limit]
        count *= GROWTH


def score_memories(keys: Collection[int], vector: Vector) -> dict[int, float]:
    """Cosine of each memory's best piece, by key; memories without vectors are left out."""
    return dict(fetch(_SCORES, [vector_text(vector), [*keys]])) if keys else {}


def narrowing(v: Visibility) -> tuple[str, list[Any]]:
    """A Visibility as conditions on piece_search beside the room; what its columns cannot express goes to the rows."""
    standing = standing_condition(v)
    if not standing or needs_rows(v) or v.retracted_types:
        where, params = render(v)
        return _ROWS.format(where=where), params
    sql, params = f"AND standing {standing}", list[Any]()
    if v.states == {State.LIVE}:
        sql, params = f"{sql} AND until > %s", [int(v.now.timestamp() * 1000)]
    if v.types:
        sql, params = f"{sql} AND type IN ({placeholders(v.types)})", [*params, *sorted(v.types)]
    return sql, params


def vector_text(vector: Vector) -> str:
    """A vector as pgvector reads it."""
    return str(vector.tolist())
