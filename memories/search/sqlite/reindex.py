"""Replaces the vector index on SQLite with one of another model, built beside the one in use.

The next index is filled in batches while the old one answers; then both swap names in one short transaction (14 ms at
100,000 vectors; filling it under the lock takes 2 s). Changes made meanwhile are read from index_change.
"""

import re
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction

from memories.search.schema import statements

NOW, NEXT, OLD = "memories_vec", "memories_next_vec", "memories_old_vec"
GROUP_INDEX = "memories_vec_rooms"
PIECES_AT_ONCE = 250  # ~10 ms of write lock
CHUNKS_AT_ONCE = 100  # deleted data is overwritten: 3 MB, ~12 ms
MAX_ROUNDS = 20
# vec0 does not rename its shadow tables.
_SHADOW_TABLE = re.compile(
    r"_(info|chunks|rowids|auxiliary|vector_chunks\d+|metadatachunks\d+|metadatatext\d+)"
)
_ROWS = f"""
INSERT INTO {NEXT} (piece, room, embedding, standing, until, type)
SELECT p.key, row.room, vec_quantize_int8(p.embedding, 'unit'), row.standing, row.until, row.type
FROM memories_piece AS p JOIN memories_vec_row AS row ON row.memory = p.memory_id
WHERE p.model = %s AND p.embedding IS NOT NULL AND
"""  # noqa: S608 - our own names


def switch_model(
    model: str, *, is_complete: Callable[[], bool], progress: Callable[[int, int], None]
) -> bool:
    """Make the index hold the vectors of `model` only; False if some pieces still lack them.

    `is_complete` is called within the last transaction: nobody writes between its answer and the swap.
    """
    discard(NEXT)
    discard(OLD)
    [(seen,)] = _query("SELECT COALESCE(MAX(seq), 0) FROM index_change", [])
    with connection.cursor() as cursor:
        cursor.execute(_read_sql(NOW).replace(f" {NOW} ", f" {NEXT} ", 1))
    fill_next(model, progress)
    for _ in range(MAX_ROUNDS):
        changed = read_changes(seen)
        if len(changed) < PIECES_AT_ONCE:
            break
        with transaction.atomic():
            seen = apply_changes(model, changed)
    is_switched = swap(model, seen, is_complete)
    discard(OLD if is_switched else NEXT)
    return is_switched


def discard(name: str) -> None:
    """Drop an index that is not in use, in batches: overwriting all of it at once would block writers."""
    if not _query("SELECT 1 FROM sqlite_master WHERE name = %s", [name]):
        return
    chunks = f"{name}_vector_chunks00"
    with connection.cursor() as cursor:
        while True:
            cursor.execute(
                f"DELETE FROM {chunks} WHERE rowid IN (SELECT rowid FROM {chunks} LIMIT {CHUNKS_AT_ONCE})"  # noqa: S608
            )
            if not cursor.rowcount:
                break
        cursor.execute(f"DROP TABLE {name}")


def fill_next(model: str, progress: Callable[[int, int], None]) -> None:
    """Copy the vectors of the model into the next index, one transaction per batch."""
    [(total,)] = _query("SELECT COUNT(*) FROM memories_piece WHERE model = %s", [model])
    done, last = 0, 0
    batch = "SELECT key FROM memories_piece WHERE model = %s AND key > %s ORDER BY key LIMIT %s"
    while keys := [key for (key,) in _query(batch, [model, last, PIECES_AT_ONCE])]:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"{_ROWS} p.key > %s AND p.key <= %s", [model, last, keys[-1]])
        done, last = done + len(keys), keys[-1]
        progress(min(done, total), total)


def read_changes(seen: int) -> list[tuple[int, int]]:
    """The next batch of changes after `seen`: number and piece."""
    sql = "SELECT seq, piece FROM index_change WHERE seq > %s ORDER BY seq LIMIT %s"
    return _query(sql, [seen, PIECES_AT_ONCE])


def apply_changes(model: str, changed: list[tuple[int, int]]) -> int:
    """Rewrite the changed pieces in the next index, inside a transaction; returns the last change."""
    pieces = sorted({piece for _, piece in changed})
    holders = ", ".join(["%s"] * len(pieces))
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {NEXT} WHERE piece IN ({holders})", pieces)  # noqa: S608 - placeholders
        cursor.execute(f"{_ROWS} p.key IN ({holders})", [model, *pieces])
    return changed[-1][0]


def swap(model: str, seen: int, is_complete: Callable[[], bool]) -> bool:
    """Apply the last changes and swap the names of both indexes in one transaction; False if incomplete."""
    with connection.cursor() as cursor:
        # Otherwise SQLite would rewrite the triggers to follow the old index to its new name.
        cursor.execute("PRAGMA legacy_alter_table = ON")
        try:
            with transaction.atomic():
                if not is_complete():
                    return False
                while changed := read_changes(seen):
                    seen = apply_changes(model, changed)
                rename_index(cursor, NOW, OLD)
                rename_index(cursor, NEXT, NOW)
                # A renamed table keeps its SQL index, under the old name.
                cursor.execute(f"DROP INDEX IF EXISTS {GROUP_INDEX}")
                cursor.execute(_read_sql(GROUP_INDEX))
                cursor.execute("UPDATE index_state SET value = %s WHERE name = 'model'", [model])
        finally:
            cursor.execute("PRAGMA legacy_alter_table = OFF")
    return True


def rename_index(cursor: Any, before: str, after: str) -> None:
    """Rename a vector index and its shadow tables."""
    for (name,) in _query("SELECT name FROM sqlite_master WHERE type = 'table'", []):
        if name == before or (name.startswith(before) and _SHADOW_TABLE.fullmatch(name.removeprefix(before))):
            cursor.execute(f'ALTER TABLE "{name}" RENAME TO "{after}{name.removeprefix(before)}"')


def _read_sql(name: str) -> str:
    """The statement that creates this object."""
    return next(statement.sql for statement in statements("sqlite") if statement.name == name)


def _query(sql: str, params: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
