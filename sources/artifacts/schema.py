"""Tables, triggers and indexes for searching chunks, from one SQL file per database."""

from pathlib import Path
from typing import Final

from memories.search.schema import OtherSchema

CHUNKS: Final = OtherSchema(
    "sources_chunk", Path(__file__).resolve().parent.parent / "migrations" / "sql", ("chunks.sql",)
)
