"""Fills a store on PostgreSQL with made-up memories by COPY, past the triggers, and then makes what these would have written.

A memory costs about half a millisecond of CPU time, most of it for its stems.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from django.core.management.color import no_style
from django.db import connection, transaction

from bench.speed.store import ROWS_AT_ONCE, Vectors, make_memory, mixed_vectors
from memories.embedding import DIMENSIONS
from memories.models import Memory, Piece
from memories.search.postgresql.engine import fill_vectors
from memories.search.schema import FILL_SEARCH_ROWS, statements
from memories.store.writes.executor import MEMORIES

TABLES = ["memories_memory", "memories_piece", "search_row", "piece_search"]
FILLERS = 2  # connections that stem, each half of the groups
_LOOSE = """
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = ANY(%s::regclass[]) AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)
"""
_STAGED = """
CREATE UNLOGGED TABLE bench_text (
    key bigint, id uuid, at timestamptz, group_id bigint, content_hash text, fold_hash text, content text
)
"""
# By column of memories_memory; the others are those of one example.
_OWN = {
    "created_at": "t.at", "updated_at": "t.at", "filter": "'ingroup' || t.group_id",
    **{name: f"t.{name}" for name in ("key", "id", "group_id", "content_hash", "fold_hash", "content")},
}  # fmt: skip


def fill_by_copy(
    texts: Sequence[tuple[str, int]],
    group_keys: Sequence[int],
    seeds: list[Vectors],
    *,
    model: str,
    report: Callable[[str], None],
) -> None:
    """Write the texts, each with its topic and the key of its group, into an empty store; their keys count from 1."""
    with connection.cursor() as cursor:
        cursor.execute(_LOOSE, [TABLES])
        loose = cursor.fetchall()
        for name, _ in loose:
            cursor.execute(f"DROP INDEX {name}")
        cursor.execute("SET session_replication_role = replica")  # no triggers, no checks of references
        report("texts")
        copy_texts(cursor, texts, group_keys)
        report("vectors")
        copy_pieces(cursor, texts, seeds, model=model)
        with transaction.atomic():
            fill_vectors()
        report("stems")
        fill_words()
        cursor.execute("SET session_replication_role = origin")
        for statement in connection.ops.sequence_reset_sql(no_style(), [Memory, Piece]):
            cursor.execute(statement)
        cursor.execute("SET maintenance_work_mem = '1GB'")
        for name, definition in loose:
            report(f"index {name}")
            cursor.execute(definition)
        report("vacuum")
        cursor.execute(f"VACUUM (ANALYZE) {', '.join(TABLES)}, search_group")


def copy_texts(cursor: Any, texts: Sequence[tuple[str, int]], group_keys: Sequence[int]) -> None:
    """Copy the texts beside the table, then into it, with the other columns of one example."""
    cursor.execute(_STAGED)
    with cursor.copy("COPY bench_text FROM STDIN") as copy:
        for number, ((text, _), group_key) in enumerate(zip(texts, group_keys, strict=True), 1):
            row = make_memory(number, text, group_key)
            copy.write_row((number, row.id, row.created_at, group_key, row.content_hash, row.fold_hash, text))
    with transaction.atomic():
        example = make_memory(0, "an example", group_keys[0])
        MEMORIES.add([example])
        columns = [field.column for field in Memory._meta.concrete_fields]
        chosen = ", ".join(_OWN.get(column, f'example."{column}"') for column in columns)
        cursor.execute("UPDATE memories_memory SET key = 0 WHERE key = %s", [example.key])
        names = ", ".join(f'"{column}"' for column in columns)
        cursor.execute(
            f"INSERT INTO memories_memory ({names}) SELECT {chosen} FROM bench_text AS t, memories_memory AS example"
            " WHERE example.key = 0"
        )
        cursor.execute("DELETE FROM memories_memory WHERE key = 0")
    cursor.execute("DROP TABLE bench_text")


def copy_pieces(cursor: Any, texts: Sequence[tuple[str, int]], seeds: list[Vectors], *, model: str) -> None:
    """Copy one piece for each text, in the binary form, which numpy writes for many at once."""
    columns = [
        ("key", ">i8"), ("memory_id", ">i8"), ("ordinal", ">i4"), ("start", ">i4"), ("end", ">i4"), ("tokens", ">i4"),
        ("model", f"S{len(model)}"), ("embedding", [("dimensions", ">i2"), ("unused", ">i2"), ("numbers", ">f4", DIMENSIONS)]),
    ]  # fmt: skip
    fields: list[Any] = [("count", ">i2")]
    for name, kind in columns:
        fields += [(f"bytes of {name}", ">i4"), (name, kind)]
    names = ", ".join(f'"{name}"' for name, _ in columns)
    with cursor.copy(f"COPY memories_piece ({names}) FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for start in range(0, len(texts), ROWS_AT_ONCE):
            part = texts[start : start + ROWS_AT_ONCE]
            rows = np.zeros(len(part), dtype=fields)
            rows["count"] = len(columns)
            for name, _ in columns:
                rows[f"bytes of {name}"] = rows.dtype[name].itemsize
            rows["key"] = rows["memory_id"] = np.arange(start + 1, start + len(part) + 1)
            rows["end"] = [len(text) for text, _ in part]
            rows["tokens"], rows["model"] = 50, model.encode()
            rows["embedding"]["dimensions"] = DIMENSIONS
            rows["embedding"]["numbers"] = mixed_vectors([topic for _, topic in part], seeds, seed=start)
            copy.write(rows.tobytes())
        copy.write(b"\xff\xff")


def fill_words() -> None:
    """Make the rows of the keyword search, several groups at a time."""
    sql = {
        statement.name: statement.sql.rstrip(";") for statement in statements("postgresql", FILL_SEARCH_ROWS)
    }

    def fill(number: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"{sql['fill_search_row']} WHERE memory.group_id %% {FILLERS} = {number}", [])
        connection.close()

    with ThreadPoolExecutor(FILLERS) as pool:
        list(pool.map(fill, range(FILLERS)))
    with connection.cursor() as cursor:
        cursor.execute(sql["fill_search_group"])
