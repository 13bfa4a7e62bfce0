"""Nearest memories by pgvector: filter first, then compare what is left."""

import re
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction

from access.visibility import Visibility
from memories.search.postgresql.lexemes import rooms_of
from memories.search.rows import Hit, RowReader, Vector, index_filter, standing_condition
from memories.types import VISIBLE_TRUSTS, State
from storage.compiled_queries import fetch

_LARGE_ROWS = 20_000  # comparing this many takes about 15 ms
_SMALL_ROWS = 15_000  # below this the index goes again
SEARCHED, MOST_SEARCHED = 100, 1000  # hnsw.ef_search: our value, and the most it can be
MAX_AGE_S = 60.0  # of what a process knows of the indexes; a stale answer costs time, no hits
_NAME = re.compile(r"piece_search_near_(\d+)")
_INDEXES = "SELECT relname FROM pg_class WHERE relkind = 'i' AND relname LIKE 'piece\\_search\\_near\\_%%'"
_VALID = f"{_INDEXES} AND oid IN (SELECT indexrelid FROM pg_index WHERE indisvalid)"  # noqa: S608 - constants alone
_COUNTS = "SELECT room, COUNT(*) FROM piece_search GROUP BY room"
_CREATE = """
CREATE INDEX CONCURRENTLY IF NOT EXISTS piece_search_near_{room} ON piece_search
USING hnsw (h halfvec_cosine_ops) WITH (m = 24, ef_construction = 128) WHERE room = {room}
"""


_KNOWN: dict[str, tuple[float, frozenset[int]]] = {}  # rooms with an index by database, as of the last look


def _large_rooms() -> frozenset[int]:
    """The rooms that have an approximate index."""
    name, now = str(connection.settings_dict["NAME"]), time.monotonic()
    read_at, rooms = _KNOWN.get(name, (-MAX_AGE_S, frozenset()))
    if now - read_at >= MAX_AGE_S:
        rooms = _rooms_in(_VALID)
        _KNOWN[name] = now, rooms
    return rooms


def _rooms_in(sql: str) -> frozenset[int]:
    return frozenset(int(found[1]) for (name,) in fetch(sql, []) if (found := _NAME.fullmatch(name)))


def tend_large_rooms() -> None:
    """Make the indexes that rooms have outgrown exact search without, drop those no longer needed and broken ones.

    Outside a transaction; others read and write meanwhile.
    """
    counts = {int(room): int(count) for room, count in fetch(_COUNTS, [])}
    existing, valid = _rooms_in(_INDEXES), _rooms_in(_VALID)
    unneeded = {room for room in valid if counts.get(room, 0) < _SMALL_ROWS}
    with connection.cursor() as cursor:
        for room in sorted((existing - valid) | unneeded):
            cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS piece_search_near_{room}")
        for room, count in sorted(counts.items()):
            if count > _LARGE_ROWS and room not in valid:
                cursor.execute(_CREATE.format(room=room))
    _KNOWN.clear()


SLACK, GROWTH = 2, 4  # pieces read per memory wanted, and the factor if too few of them were visible

_ASKED = "WITH asked AS MATERIALIZED (SELECT %s::halfvec AS h)"
_DISTANCE = "h <=> (SELECT asked.h FROM asked)"
# "+ 0" keeps the planner from an approximate index, which looks for the nearest first and filters afterwards.
_EXACT = f"""
(SELECT memory, ({_DISTANCE}) + 0 AS distance, FALSE AS is_score FROM piece_search
WHERE room = ANY(%s) {{narrow}} ORDER BY distance LIMIT %s)
"""  # noqa: S608 - constants alone
# The room is part of the text, so that the planner sees that the room's own index serves.
_APPROXIMATE = """
SELECT memory, h <=> %s::halfvec AS distance FROM piece_search
WHERE room = {room} {narrow} ORDER BY h <=> %s::halfvec LIMIT %s
"""
_SEARCHED = (
    "SELECT set_config('hnsw.ef_search', %s, TRUE), set_config('hnsw.iterative_scan', 'relaxed_order', TRUE)"
)
_ROWS = "AND memory IN (SELECT m.key FROM memories_memory AS m WHERE {where})"
_SCORES = f"(SELECT memory, MIN({_DISTANCE}), TRUE FROM piece_search WHERE memory = ANY(%s) GROUP BY memory)"  # noqa: S608 - constants alone
_Distances = list[tuple[int, float]]


@dataclass(frozen=True)
class _NearQuery:
    """A query for the pieces of a Visibility near a vector; `scored` are memories whose cosines are read along."""

    vector: str
    rooms: list[int]
    narrow: str
    params: list[Any]
    scored: Collection[int] = ()
    scores: dict[int, float] = field(default_factory=dict)

    def pieces(self, count: int) -> _Distances:
        """Memory and distance of the `count` nearest pieces of the rooms, and more; by an index where a room has one."""
        large = _large_rooms().intersection(self.rooms)
        found, exact = list[Any](), [room for room in self.rooms if room not in large]
        for room in sorted(large):
            near = self.by_index(room, count)
            if len(near) < count:  # an index may find too few
                exact.append(room)
            else:
                found += near
        return found + self.by_comparing(exact, count)

    def by_comparing(self, rooms: Sequence[int], count: int) -> _Distances:
        """The nearest pieces among all of the rooms. Own rows and global ones apart, which the planner would not do."""
        halves = [room for room in rooms if room], [room for room in rooms if not room]
        parts = [part for part in halves if part]
        statements = [_EXACT.format(narrow=self.narrow)] * len(parts)
        values = [value for part in parts for value in (part, *self.params, count)]
        scored = [key for key in self.scored if key not in self.scores]
        if scored:
            statements.append(_SCORES)
            values.append(scored)
        if not statements:
            return []
        found = fetch(f"{_ASKED} {' UNION ALL '.join(statements)}", [self.vector, *values])
        self.scores.update({memory: 1 - distance for memory, distance, is_score in found if is_score})
        return [(memory, distance) for memory, distance, is_score in found if not is_score]

    def by_index(self, room: int, count: int) -> _Distances:
        """About the nearest pieces of a large room."""
        with transaction.atomic(savepoint=False):  # for settings that end with it
            fetch(_SEARCHED, [str(min(max(SEARCHED, count), MOST_SEARCHED))])
            sql = _APPROXIMATE.format(room=room, narrow=self.narrow)
            found: Any = fetch(sql, [self.vector, *self.params, self.vector, count])
        return list(found)


def find_nearest(
    vector: Vector, visibility: Visibility, visible: RowReader, *, limit: int, scored: Collection[int] = ()
) -> tuple[list[Hit], dict[int, float]]:
    """The `limit` visible memories whose best piece is nearest, best first, and the cosines of `scored` by key."""
    query = _NearQuery(vector_text(vector), rooms_of(visibility), *narrowing(visibility), scored=scored)
    count = int(limit * SLACK)
    while True:
        rows = sorted(query.pieces(count), key=lambda row: (row[1], row[0]))
        best: dict[int, float] = {}
        for memory, distance in rows[:count]:
            best.setdefault(memory, 1.0 - distance)
        seen = visible(best)
        hits = [Hit(key, cosine) for key, cosine in best.items() if key in seen]
        if len(hits) >= limit or len(rows) < count:
            return hits[:limit], query.scores
        count *= GROWTH


def narrowing(v: Visibility) -> tuple[str, list[Any]]:
    """A Visibility as conditions on piece_search besides the room, which let through all of its rows and perhaps more.

    Read on the rows themselves are only conditions that its columns cannot express and that leave few of a room.
    """
    standing = standing_condition(v)
    if not standing and v.states == {State.LIVE} and v.trusts.issuperset(VISIBLE_TRUSTS):
        standing = ">= 1"  # and more; which trusts count is seen on the rows
    return index_filter(v, standing, on_rows=_ROWS)


def vector_text(vector: Vector) -> str:
    """A vector as pgvector reads it."""
    return str(vector.tolist())
