"""Tables, triggers and indexes of the search in chunks, from a SQL file per database."""

import re
from pathlib import Path
from typing import Final

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from access.errors import Unavailable

SQL_DIR: Final = Path(__file__).resolve().parent.parent / "migrations" / "sql"
TABLE: Final = "sources_chunk"


def statements(vendor: str) -> list[str]:
    """The statements for a database vendor, in order; none for a vendor without a file."""
    path = SQL_DIR / vendor / "chunks.sql"
    if not path.exists():
        return []
    parts = re.split(r"^-- name: \w+$", path.read_text(encoding="utf-8"), flags=re.M)
    return [part.strip() for part in parts[1:]]


def apply_chunk_schema(on: BaseDatabaseWrapper) -> None:
    """Create what is missing. Idempotent; in the caller's transaction."""
    with on.cursor() as cursor:
        for sql in statements(on.vendor):
            cursor.execute(sql)


def drop_chunk_schema(on: BaseDatabaseWrapper) -> None:
    """Drop all of it, the newest first."""
    kinds = r"CREATE (?:VIRTUAL )?(TABLE|VIEW|TRIGGER|INDEX) IF NOT EXISTS (\w+)"
    made = [
        match
        for sql in statements(on.vendor)
        if (match := re.match(kinds, re.sub(r"^--.*\n", "", sql, flags=re.M)))
    ]
    with on.cursor() as cursor:
        for match in reversed(made):
            if match[1] != "INDEX":  # goes with its table
                cursor.execute(f"DROP {match[1]} IF EXISTS {match[2]}")


def check_searchable() -> None:
    """Raise Unavailable on a database whose chunks cannot be searched."""
    if not statements(connection.vendor):
        raise Unavailable(
            f"Files as evidence need SQLite for now; this store is on {connection.vendor}.",
            hint="'loci move' takes a store back to SQLite. Memories are not affected.",
        )
