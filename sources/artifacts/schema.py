"""Tables, triggers and indexes for searching chunks, from one SQL file per database."""

from pathlib import Path
from typing import Final

from django.db import connection

from access.errors import Unavailable
from memories.search.schema import OtherSchema

CHUNKS: Final = OtherSchema(
    "sources_chunk", Path(__file__).resolve().parent.parent / "migrations" / "sql", ("chunks.sql",)
)


def check_searchable() -> None:
    """Raise Unavailable if this database cannot search chunks."""
    if not CHUNKS.statements(connection.vendor):
        raise Unavailable(
            f"Files as evidence need SQLite for now; this store is on {connection.vendor}.",
            hint="'loci move' takes a store back to SQLite. Memories are not affected.",
        )
