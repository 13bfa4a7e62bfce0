"""Memories of mcp-memory-service: its JSON export, or its SQLite database."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from memories.draft import Draft
from memories.types import Type
from sources.importing.drafts import record_importer
from sources.importing.importer import LineRules, SourceRecord
from sources.importing.lines import open_file
from sources.importing.reading.foreign_database import rows_or_elements, tables_of
from sources.importing.reading.json_stream import peek
from sources.importing.reading.values import (
    dict_of,
    json_value,
    moment_of,
    ref_of,
    short_hash,
    tags_of,
    text_of,
)

DELETED: Final = "memories that were deleted there"
TYPES: Final[dict[str, str]] = {
    **dict.fromkeys(("event", "episode", "conversation", "session", "meeting"), Type.EPISODIC),
    **dict.fromkeys(("procedure", "process", "workflow", "howto", "how-to", "instruction"), Type.PROCEDURAL),
}


def _is_service(path: Path) -> bool:
    if not path.is_file():
        return False
    if {"content_hash", "content"} <= tables_of(path).get("memories", frozenset()):
        return True
    with open_file(path) as file:
        found = peek(file)
    first = dict_of(found.get("memories"))
    return "content" in first and ("content_hash" in first or "export_metadata" in found)


def _read_service(path: Path, rules: LineRules) -> Iterator[SourceRecord]:
    for _, row in rows_or_elements(path, {"memories": "memories"}):
        yield _memory_record(row)


def _memory_record(row: dict[str, Any]) -> SourceRecord:
    """One memory. Tags may be a list, a text with commas or JSON, metadata may be JSON as text."""
    if row.get("deleted_at") is not None:
        return SourceRecord(skipped=DELETED)
    content = text_of(row.get("content"))
    if not content:
        return SourceRecord(why="a memory without content")
    kind = text_of(row.get("memory_type"))
    values = dict_of(json_value(row.get("metadata")))
    return SourceRecord(
        Draft(
            content,
            type=TYPES.get(kind.lower(), Type.SEMANTIC),
            tags=tags_of(json_value(row.get("tags")), [kind]),
            metadata=values,
            source_ref=ref_of(text_of(row.get("content_hash")) or short_hash(content)),
            valid_from=moment_of(row.get("created_at")) or moment_of(row.get("created_at_iso")),
        ),
        place=text_of(row.get("export_source")) or text_of(values.get("project")),
    )


MCP_MEMORY_SERVICE = record_importer(
    "mcp-memory-service",
    "memories of mcp-memory-service, its JSON export or its database",
    endings=(".json", ".db"),
    recognises=_is_service,
    read=_read_service,
)
