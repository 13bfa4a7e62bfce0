"""Import of conversation turns and texts as JSON lines: {id, text, group, timestamp, session, speaker}."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from access.errors import InvalidInput
from memories.draft import Draft
from memories.language.cleaning import FORMS, parse_moment
from memories.types import Type
from sources.importing.drafts import record_importer
from sources.importing.importer import LineRules, Recognition, SourceRecord, source_name
from sources.importing.lines import first_bytes, first_object, read_lines

# Fields that become columns; all others are kept as metadata.
_COLUMN_FIELDS = frozenset({"id", "text", "group", "timestamp", "session"})


def _is_text(path: Path) -> Recognition:
    """PLAIN if the first line has a text; ANY_TEXT if some line begins as an object does, or the file is empty.

    This is the format of last resort, which explains each line that it rejects.
    """
    if not path.is_file():
        return Recognition.NO
    head = first_bytes(path).removeprefix(BOM_UTF8)
    if b"\0" in head or (head.strip() and not any(ln.lstrip().startswith(b"{") for ln in head.splitlines())):
        return Recognition.NO
    return Recognition.PLAIN if "text" in first_object(path) else Recognition.ANY_TEXT


def read_texts(path: Path, rules: LineRules) -> Iterator[SourceRecord]:
    """A record per line, with its number; its place is its group."""
    for line in read_lines(path):
        if line.why:
            yield SourceRecord(why=line.why, number=line.number)
            continue
        try:
            draft = draft_of(line.value)
        except InvalidInput as error:
            yield SourceRecord(why=str(error), number=line.number)
        else:
            yield SourceRecord(draft, place=draft.group or "", number=line.number)


def draft_of(line: dict[str, Any]) -> Draft:
    """The draft of a line. Raises InvalidInput if a value is missing or of the wrong type."""
    session = _text(line, "session")
    return Draft(
        content=_text(line, "text", required=True),
        type=Type.EPISODIC if session else Type.SEMANTIC,
        group=_text(line, "group") or None,
        thread=session,
        metadata={
            name: value for name, value in line.items() if name not in _COLUMN_FIELDS and value is not None
        },
        source_ref=_text(line, "id", required=True),
        valid_from=parse_timestamp(line.get("timestamp")),
    )


def _text(line: dict[str, Any], name: str, *, required: bool = False) -> str:
    """A text of the line; an integer is converted, because ids are often numbers."""
    value = line.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value.strip()):
        raise InvalidInput(
            f"'{name}' is missing." if value in (None, "") else f"'{name}' is not a text.", field=name
        )
    return value


def parse_timestamp(value: Any) -> datetime | None:
    """The line's timestamp, in any form that Loci accepts; None if it has none."""
    if value in (None, ""):
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"'timestamp' is {str(value)[:40]!r}.", hint=FORMS, field="timestamp")
    return parse_moment(value, field="timestamp")


TEXTS = record_importer(
    "lines",
    "JSON lines, one object per line with id and text, and optionally group, timestamp, session and speaker",
    endings=(".jsonl", ".ndjson", ".json"),
    recognises=_is_text,
    read=read_texts,
    source=source_name,
    has_lines=True,
)
