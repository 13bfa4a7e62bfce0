"""CSV with a header: `text`, and any of id, type, tags, timestamp, author, thread, group, importance. The rest is metadata."""

import csv
import io
import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from access.errors import LociError
from memories.draft import DEFAULT_IMPORTANCE, Draft
from memories.types import Type
from sources.importing.drafts import record_importer
from sources.importing.formats.texts import parse_timestamp
from sources.importing.importer import LineRules, SourceRecord, source_name
from sources.importing.lines import first_bytes, open_file
from sources.importing.reading.values import ref_of, short_hash, tags_of

ENDINGS: Final = (".csv", ".tsv")
COLUMNS: Final = ("id", "text", "type", "tags", "timestamp", "author", "thread", "group", "importance")
_MAX_FIELD_CHARS: Final = 10_000_000
# A spreadsheet takes a cell that begins so for a formula, also in full-width or small forms of these signs.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def _is_table(path: Path) -> bool:
    if not path.is_file() or path.suffix.lower() not in ENDINGS:
        return False
    head = first_bytes(path).decode("utf-8-sig", "replace").splitlines()[:1]
    names = next(csv.reader(head, delimiter=_delimiter_of(head[0])), []) if head else []
    return "text" in map(_clean_name, names)


def _delimiter_of(head: str) -> str:
    return max(",;\t", key=head.count)


def _clean_name(name: str) -> str:
    return name.strip().lower()


def csv_cell(value: Any) -> str:
    """A value as a cell: lists and objects as JSON, formulas disarmed by a leading quote."""
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    text = "" if value is None else str(value)
    return f"'{text}" if _is_formula(text) else text


def _cell_text(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _is_formula(cell[1:]) else cell


def _is_formula(text: str) -> bool:
    return unicodedata.normalize("NFKC", text[:1]).startswith(_FORMULA)


def _read_table(path: Path, rules: LineRules) -> Iterator[SourceRecord]:
    """One text per row; a row without an id is known by its text."""
    csv.field_size_limit(_MAX_FIELD_CHARS)
    line = 1
    with io.TextIOWrapper(open_file(path), encoding="utf-8-sig", newline="") as file:
        try:
            head = file.readline()
            delimiter = _delimiter_of(head)
            names = [_clean_name(name) for name in next(csv.reader([head], delimiter=delimiter), [])]
            rows = csv.reader(file, delimiter=delimiter)
            for row in rows:
                line = rows.line_num + 1
                if any(cell.strip() for cell in row):
                    yield _row_record(dict(zip(names, map(_cell_text, row), strict=False)), f"line {line}")
        except (csv.Error, UnicodeDecodeError) as error:
            why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            yield SourceRecord(why=f"after line {line}: {why}")


def _row_record(row: dict[str, str], where: str) -> SourceRecord:
    text = row.get("text", "").strip()
    if not text:
        return SourceRecord(why=f"{where}: 'text' is empty")
    try:
        moment = parse_timestamp(row.get("timestamp", "").strip())
        importance = int(row.get("importance", "").strip() or DEFAULT_IMPORTANCE)
    except (ValueError, LociError) as error:
        return SourceRecord(why=f"{where}: {error}")
    thread, author = row.get("thread", "").strip(), row.get("author", "").strip()
    metadata: dict[str, Any] = {
        name: value for name, value in row.items() if name not in COLUMNS and name and value
    }
    draft = Draft(
        text,
        type=row.get("type", "").strip().lower() or (Type.EPISODIC if thread else Type.SEMANTIC),
        group=row.get("group", "").strip() or None,
        thread=thread,
        tags=tags_of(row.get("tags", "").replace(";", ",")),
        metadata=metadata | ({"speaker": author} if author else {}),
        importance=importance,
        source_ref=ref_of(row.get("id", "").strip() or short_hash(text, thread, str(moment or ""))),
        valid_from=moment,
    )
    return SourceRecord(draft, place=row.get("group", "").strip())


TABLE = record_importer(
    "csv",
    "CSV with a header: text, and any of id, type, tags, timestamp, author, thread, group, importance",
    endings=ENDINGS,
    recognises=_is_table,
    read=_read_table,
    source=source_name,
)
