"""Rooms too large to compare every vector: each has an approximate index (HNSW) of its own.

One index over all rooms would look for the nearest of all first and find too few of a room; it would also slow down every
write. So an index is partial, `WHERE room = …`, and made once a room has outgrown exact search. A search that finds none,
or too few by it, compares every vector: slower, and never less.
"""

import re
import time
from dataclasses import dataclass, field

from django.db import connection

from storage.compiled_queries import fetch

LARGE_ROWS = 20_000  # comparing this many takes about 15 ms
SMALL_ROWS = 15_000  # below this the index goes again
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


@dataclass
class KnownRooms:
    """The rooms with an index by database, as of the last look."""

    rooms: dict[str, tuple[float, frozenset[int]]] = field(default_factory=dict)


KNOWN = KnownRooms()


def large_rooms() -> frozenset[int]:
    """The rooms that have an approximate index."""
    name, now = str(connection.settings_dict["NAME"]), time.monotonic()
    read_at, rooms = KNOWN.rooms.get(name, (-MAX_AGE_S, frozenset()))
    if now - read_at >= MAX_AGE_S:
        rooms = rooms_in(_VALID)
        KNOWN.rooms[name] = now, rooms
    return rooms


def rooms_in(sql: str) -> frozenset[int]:
    """The rooms named by indexes."""
    return frozenset(int(found[1]) for (name,) in fetch(sql, []) if (found := _NAME.fullmatch(name)))


def tend_large_rooms() -> None:
    """Make the indexes that rooms have outgrown exact search without, drop those no longer needed and broken ones.

    Outside a transaction; others read and write meanwhile.
    """
    counts = {int(room): int(count) for room, count in fetch(_COUNTS, [])}
    existing, valid = rooms_in(_INDEXES), rooms_in(_VALID)
    unneeded = {room for room in valid if counts.get(room, 0) < SMALL_ROWS}
    with connection.cursor() as cursor:
        for room in sorted((existing - valid) | unneeded):
            cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS piece_search_near_{room}")
        for room, count in sorted(counts.items()):
            if count > LARGE_ROWS and room not in valid:
                cursor.execute(_CREATE.format(room=room))
    KNOWN.rooms.clear()
