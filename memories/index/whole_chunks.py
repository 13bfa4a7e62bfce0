"""Many new vectors of one room at once: whole chunks of vec0's tables are written as vec0 would write them.

For each vector by itself vec0 opens six places of its tables to write a few bytes, which takes as long as all indexes of
the memories. A chunk that is full from the start is one row in each table. What does not fill a chunk is left to vec0, by
the pieces' trigger, and so is everything where the tables may look otherwise than here: with another version of vec0, or
with a trigger that would put the same pieces in again.
"""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from django.db import connection

VERSIONS: Final = {"v0.1.9"}  # of vec0, whose tables are as written here
CHUNK: Final = 16  # chunk_size in vectors.sql
LEAST: Final = 2 * CHUNK  # fewer pieces are as quick one by one
INLINE: Final = 12  # bytes of a text that stand in its chunk
_ROWS = """
SELECT memory, room, standing, until, type FROM memories_vec_row
WHERE memory IN (SELECT value FROM json_each(%s))
"""
_LAST = "SELECT validity FROM memories_vec_chunks WHERE partition00 = %s ORDER BY chunk_id DESC LIMIT 1"
_TRIGGER = """
SELECT (SELECT vec_version()), (SELECT value FROM memories_vec_info WHERE key = 'CREATE_VERSION')
FROM sqlite_master WHERE name = 'memories_vec_insert' AND instr(sql, 'memories_vec_rowids') > 0
"""
_PLACES = """
WITH RECURSIVE piece (at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM piece WHERE at + 1 < %s)
INSERT INTO memories_vec_rowids (rowid, chunk_id, chunk_offset) SELECT %s + at, %s + at / 16, at %% 16 FROM piece
"""
_CHUNKS = (  # and each row's values
    (
        "INSERT INTO memories_vec_chunks (chunk_id, size, partition00, validity, rowids) VALUES ",
        "(%s, 16, %s, x'ffff', %s)",
    ),
    ("INSERT INTO memories_vec_vector_chunks00 (rowid, vectors) VALUES ", "(%s, %s)"),
    ("INSERT INTO memories_vec_metadatachunks00 (rowid, data) VALUES ", "(%s, %s)"),
    ("INSERT INTO memories_vec_metadatachunks01 (rowid, data) VALUES ", "(%s, %s)"),
    ("INSERT INTO memories_vec_metadatachunks02 (rowid, data) VALUES ", "(%s, %s)"),
)


@dataclass(frozen=True)
class NewVectors:
    """New pieces' vectors of one room, in order, with what the index says of each: standing, until, type."""

    room: int
    vectors: Sequence[bytes]
    said: Sequence[tuple[int, int, str]]

    def before(self) -> int:
        """Give how many vec0 has to take first, since its last chunk of the room has space for them."""
        last = _query(_LAST, [self.room])
        return CHUNK - int.from_bytes(bytes(last[0][0]), "little").bit_count() if last else 0

    def put(self, start: int, first: int) -> None:
        """Write whole chunks of those from `start` on, whose keys begin with `first`; before their pieces are inserted."""
        count = (len(self.vectors) - start) // CHUNK
        if count == 0:
            return
        next_id = _next_chunk()
        parts = [self._chunk(start + at * CHUNK, next_id + at, first + at * CHUNK) for at in range(count)]
        with connection.cursor() as cursor:
            for (statement, values), rows in zip(_CHUNKS, zip(*parts, strict=True), strict=True):
                cursor.execute(statement + ", ".join([values] * count), [*chain.from_iterable(rows)])
            cursor.execute(_PLACES, [count * CHUNK, first, next_id])

    def _chunk(self, start: int, id_: int, first: int) -> tuple[tuple[Any, ...], ...]:
        """Give a chunk's row of each table."""
        standing, until, types = zip(*self.said[start : start + CHUNK], strict=True)
        return (
            (id_, self.room, struct.pack(f"={CHUNK}q", *range(first, first + CHUNK))),
            (id_, b"".join(self.vectors[start : start + CHUNK])),
            (id_, struct.pack(f"={CHUNK}q", *standing)),
            (id_, struct.pack(f"={CHUNK}q", *until)),
            (id_, b"".join(map(_inline, types))),
        )


def new_vectors(memories: Sequence[int], vectors: Sequence[bytes | None]) -> NewVectors | None:
    """Give the vectors of new pieces, whose memories are stored; None where vec0 has to take each by itself.

    All must be of the index's model.
    """
    ready = [vector for vector in vectors if vector is not None]
    if len(ready) < max(LEAST, len(vectors)) or not _is_known():
        return None
    said = {memory: (room, row) for memory, room, *row in _query(_ROWS, [json.dumps([*{*memories}])])}
    rooms = {room for room, _ in said.values()}
    rows = [tuple(said[memory][1]) for memory in memories]
    if len(rooms) != 1 or any(len(type_.encode()) > INLINE for _, _, type_ in rows):
        return None
    return NewVectors(rooms.pop(), ready, rows)


@lru_cache(maxsize=64)
def _inline(text: str) -> bytes:
    """Give a text of few bytes as it stands in a chunk."""
    said = text.encode()
    return struct.pack(f"=i{INLINE}s", len(said), said)


def _is_known() -> bool:
    """Say whether the tables are those of a known version, and the trigger leaves out what is in them already."""
    return any({*versions} <= VERSIONS for versions in _query(_TRIGGER, []))


def _next_chunk() -> int:
    """Give the next chunk's id: nobody else writes until the transaction ends."""
    given = _query("SELECT seq FROM sqlite_sequence WHERE name = 'memories_vec_chunks'", [])
    return int(given[0][0]) + 1 if given else 1


def _query(sql: str, params: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
