"""Observations and session summaries of claude-mem: its SQLite database, or the JSON that its export script writes.

Columns were added over time, and keys renamed: what a version does not have is left out. Prompts are not imported.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from memories.draft import Draft
from memories.types import Type
from sources.importing.drafts import record_importer
from sources.importing.importer import LineRules, SourceRecord, Waiting
from sources.importing.lines import open_file
from sources.importing.reading.foreign_database import rows_or_elements, tables_of
from sources.importing.reading.json_stream import peek
from sources.importing.reading.values import (
    json_value,
    moment_of,
    ref_of,
    short_hash,
    tags_of,
    text_of,
    texts_of,
)

PROMPTS: Final = "prompts"
TABLES: Final = {"observations": "observations", "session_summaries": "summaries", "user_prompts": "prompts"}
_PROCEDURES: Final = frozenset({"procedure", "how-to", "howto", "pattern"})
_SUMMARY_PARTS: Final = (
    ("request", "Request"), ("investigated", "Investigated"), ("learned", "Learned"), ("completed", "Completed"),
    ("next_steps", "Next steps"), ("notes", "Notes"),
)  # fmt: skip


def _is_claude_mem(path: Path) -> bool:
    if not path.is_file():
        return False
    if {"observations", "session_summaries"} <= tables_of(path).keys():
        return True
    with open_file(path) as file:
        found = peek(file)
    return {"observations", "summaries"} <= found.keys() or "totalObservations" in found


def _read_claude_mem(path: Path, rules: LineRules) -> Iterator[SourceRecord]:
    """Observations, then summaries of a database; those of an export in its order."""
    for kind, row in rows_or_elements(path, TABLES):
        if kind == "observations":
            yield _observation_record(row)
        elif kind == "summaries":
            yield _summary_record(row)
        else:
            yield SourceRecord(skipped=PROMPTS)


def _observation_record(row: dict[str, Any]) -> SourceRecord:
    """An observation: title, story and facts as one text. The same one twice has the same source_ref."""
    title = text_of(row.get("title"))
    story = text_of(row.get("narrative")) or text_of(row.get("text")) or text_of(row.get("subtitle"))
    facts = [f"- {fact}" for fact in texts_of(json_value(row.get("facts"))) if fact not in story]
    content = "\n".join(filter(None, (title, story, *facts)))
    if not content:
        return SourceRecord(why="an observation without a text")
    kind, session = text_of(row.get("type")), _session_of(row)
    return SourceRecord(
        Draft(
            content,
            type=Type.PROCEDURAL if kind in _PROCEDURES else Type.SEMANTIC,
            tags=tags_of([kind], json_value(row.get("concepts"))),
            metadata=_files_of(row, "files_read", "files_modified"),
            source_ref=ref_of(
                "observation", session, short_hash(text_of(row.get("created_at_epoch")), title or content)
            ),
            valid_from=moment_of(row.get("created_at_epoch")) or moment_of(row.get("created_at")),
        ),
        place=text_of(row.get("project")),
    )


def _summary_record(row: dict[str, Any]) -> SourceRecord:
    parts = [f"{label}: {text}" for name, label in _SUMMARY_PARTS if (text := text_of(row.get(name)))]
    if not parts:
        return SourceRecord(why="a summary without a text")
    session = _session_of(row)
    return SourceRecord(
        Draft(
            "\n".join(parts),
            type=Type.EPISODIC,
            tags=("session-summary",),
            thread=session[:200],
            metadata=_files_of(row, "files_read", "files_edited"),
            source_ref=ref_of(
                "summary", session, text_of(row.get("prompt_number") or row.get("created_at_epoch"))
            ),
            valid_from=moment_of(row.get("created_at_epoch")) or moment_of(row.get("created_at")),
        ),
        place=text_of(row.get("project")),
    )


def _session_of(row: dict[str, Any]) -> str:
    names = ("memory_session_id", "sdk_session_id", "claude_session_id", "session_id")
    return next((text for name in names if (text := text_of(row.get(name)))), "")


def _files_of(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: files for name in names if (files := texts_of(json_value(row.get(name))))}


CLAUDE_MEM = record_importer(
    "claude-mem",
    "observations of claude-mem, its database or its JSON export",
    endings=(".json", ".db"),
    recognises=_is_claude_mem,
    read=_read_claude_mem,
    waiting=Waiting.FACTS,  # a model drew them from sessions
)
