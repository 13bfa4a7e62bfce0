"""Exchanging the vector index on SQLite for one of another model, beside the one in use.

The next index is filled in batches while the old one answers; then both change names in one short transaction (14 ms at
100,000 vectors, where filling it under the lock takes 2 s). What changes meanwhile is read from index_change.
"""

import re
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction

from memories.search.schema import statements

NOW, NEXT, OLD = "memories_vec", "memories_next_vec", "memories_old_vec"
ROOMS = "memories_vec_rooms"
PIECES_AT_ONCE = 250  # ~10 ms of write lock
CHUNKS_AT_ONCE = 100  # deleting overwrites: 3 MB, ~12 ms
MOST_TRIES = 20
# vec0 does not rename the tables below it.
_BELOW = re.compile(r"_(info|chunks|rowids|auxiliary|vector_chunks\d+|metadatachunks\d+|metadatatext\d+)")
_ROWS = f"""
INSERT INTO {NEXT} (piece, room, embedding, standing, until, type)
SELECT p.key, row.room, p.embedding, row.standing, row.until, row.type
FROM memories_piece AS p JOIN memories_vec_row AS row ON row.memory = p.memory_id
WHERE p.model = %s AND p.embedding IS NOT NULL AND
"""  # noqa: S608 - names of ours


def switch_model(
    model: str, *, is_complete: Callable[[], bool], progress: Callable[[int, int], None]
) -> bool:
    """Make the index hold the vectors of `model` and no others; False where the pieces turned out not to be complete.

    `is_complete` is asked within the last transaction: nobody writes between its answer and the exchange.
    """
    discard(NEXT)
    discard(OLD)
    seen = _last_change()
    _make_next()
    _fill(model, progress)
    for _ in range(MOST_TRIES):
        changed = _changes(seen)
        if len(changed) < PIECES_AT_ONCE:
            break
        with transaction.atomic():
            seen = _follow(model, changed)
    done = _exchange(model, seen, is_complete)
    discard(OLD if done else NEXT)
    return done


def discard(name: str) -> None:
    """Take an index away that is not in use, some at a time: nobody waits for all of it to be overwritten."""
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


def _make_next() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_sql(NOW).replace(f" {NOW} ", f" {NEXT} ", 1))


def _fill(model: str, progress: Callable[[int, int], None]) -> None:
    [(total,)] = _query("SELECT COUNT(*) FROM memories_piece WHERE model = %s", [model])
    done, last = 0, 0
    batch = "SELECT key FROM memories_piece WHERE model = %s AND key > %s ORDER BY key LIMIT %s"
    while keys := [key for (key,) in _query(batch, [model, last, PIECES_AT_ONCE])]:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"{_ROWS} p.key > %s AND p.key <= %s", [model, last, keys[-1]])
        done, last = done + len(keys), keys[-1]
        progress(min(done, total), total)


def _changes(seen: int) -> list[tuple[int, int]]:
    sql = "SELECT seq, piece FROM index_change WHERE seq > %s ORDER BY seq LIMIT %s"
    return _query(sql, [seen, PIECES_AT_ONCE])


def _follow(model: str, changed: list[tuple[int, int]]) -> int:
    """Write anew what changed; inside a transaction. Gives the last change that was followed."""
    pieces = sorted({piece for _, piece in changed})
    holders = ", ".join(["%s"] * len(pieces))
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {NEXT} WHERE piece IN ({holders})", pieces)  # noqa: S608 - placeholders
        cursor.execute(f"{_ROWS} p.key IN ({holders})", [model, *pieces])
    return changed[-1][0]


def _exchange(model: str, seen: int, is_complete: Callable[[], bool]) -> bool:
    with connection.cursor() as cursor:
        # Otherwise SQLite would have the triggers follow the old index to its new name.
        cursor.execute("PRAGMA legacy_alter_table = ON")
        try:
            with transaction.atomic():
                if not is_complete():
                    return False
                while changed := _changes(seen):
                    seen = _follow(model, changed)
                _rename(cursor, NOW, OLD)
                _rename(cursor, NEXT, NOW)
                # An index keeps its name and goes with its table.
                cursor.execute(f"DROP INDEX IF EXISTS {ROOMS}")
                cursor.execute(_sql(ROOMS))
                cursor.execute("UPDATE index_state SET value = %s WHERE name = 'model'", [model])
        finally:
            cursor.execute("PRAGMA legacy_alter_table = OFF")
    return True


def _rename(cursor: Any, before: str, after: str) -> None:
    for (name,) in _query("SELECT name FROM sqlite_master WHERE type = 'table'", []):
        if name == before or (name.startswith(before) and _BELOW.fullmatch(name.removeprefix(before))):
            cursor.execute(f'ALTER TABLE "{name}" RENAME TO "{after}{name.removeprefix(before)}"')


def _sql(name: str) -> str:
    return next(statement.sql for statement in statements("sqlite") if statement.name == name)


def _last_change() -> int:
    [(last,)] = _query("SELECT COALESCE(MAX(seq), 0) FROM index_change", [])
    return int(last)


def _query(sql: str, params: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
