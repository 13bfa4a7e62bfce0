"""Lines of an export with their rows."""

from copy import copy
from dataclasses import dataclass
from typing import Any

from sources.format import RecordKind
from sources.importing.lines import LineFault, RawLine
from sources.importing.references import is_id


@dataclass(frozen=True)
class ExportLine:
    """One line of an export: its number, its row's columns, and the whole JSON object."""

    number: int
    record: dict[str, Any]
    whole: dict[str, Any]


def split_records(kind: RecordKind, raw: list[RawLine]) -> tuple[list[LineFault], list[ExportLine]]:
    """Separate lines without a row, which are rejected, from lines with one.

    Columns that an older export does not have get their value of that time.
    """
    faults, lines = [], []
    for line in raw:
        record = line.value.get("row")
        if isinstance(record, dict):
            for name, value in kind.older.items():
                record.setdefault(name, copy(value))
            lines.append(ExportLine(line.number, record, line.value))
        else:
            faults.append(LineFault(line.number, "it has no 'row'"))
    return faults, lines


def evidence_ids(line: ExportLine) -> list[str]:
    """Ids of the memories that are evidence of a relation."""
    named = line.whole.get("evidence")
    return [id_ for id_ in named if is_id(id_)] if isinstance(named, list) else []
