"""CSV: the columns that the import reads."""

import csv
from collections import Counter
from pathlib import Path

from memories.models import Memory
from sources.exporting.atomic_file import replace_file
from sources.importing.formats.table import COLUMNS, csv_cell
from sources.sharing.shared_rows import SharedRows, author_of, is_uuid


def write_table(rows: SharedRows, path: Path) -> Counter[str]:
    """One row per memory. Its id is that of an earlier export, or its own."""
    counts: Counter[str] = Counter()
    with replace_file(path) as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for group in rows.groups:
            for memory in rows.memories(group):
                table.writerow({name: csv_cell(value) for name, value in _row_of(memory).items()})
                counts["memory"] += 1
    return counts


def _row_of(memory: Memory) -> dict[str, object]:
    return {
        "id": memory.source_ref if is_uuid(memory.source_ref) else str(memory.id),
        "text": memory.content,
        "type": memory.type,
        "tags": ";".join(memory.tags),
        "timestamp": memory.valid_from.isoformat() if memory.valid_from else "",
        "author": author_of(memory),
        "thread": memory.thread.name if memory.thread is not None else "",
        "group": memory.group.slug,
        "importance": memory.importance,
    }
