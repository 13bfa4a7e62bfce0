"""The daily log: one line per new memory of a group, in `daily/YYYY-MM-DD.md` of its room.

Memories that came from files have none: a log that is itself watched would otherwise feed itself. What was read of the
group's audit log is noted in `daily/.last`, so that each memory is written once.
"""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Final
from uuid import UUID

from django.db.models import Max

from access.audit import OWN, group_chain
from access.audit.operations import Operation
from access.models import AuditEntry, Group
from memories.models import Memory
from memories.types import WITHDRAWN_TRUSTS, Trust
from sources.exporting.atomic_file import replace_bytes, replace_file
from sources.watching.folders import SOURCE
from storage.bulk import batches

CONTEXT, STANDING = "context.md", "CLAUDE.md"  # of the room itself
FOLDER, LAST = "daily", ".last"
_TEXT_CHARS: Final = 200
_ID: Final = re.compile(r"<!-- ([0-9a-f-]{36}) -->")


def write_daily(room: Path, group: Group) -> int:
    """Add the memories stored since the last call; returns their number. The first call only records the position."""
    folder = room / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    rows = AuditEntry.objects.filter(origin=OWN, chain=group_chain(group.id))
    end = rows.aggregate(last=Max("seq"))["last"] or 0
    last = _read_last(folder)
    if last is None or last > end:
        _note_last(folder, end)
        return 0
    stored = rows.filter(seq__gt=last, operation=Operation.STORE).order_by("seq")
    written = 0
    for ids in batches(id_ for id_ in stored.values_list("memory_id", flat=True) if id_ is not None):
        found = (
            Memory.objects.filter(id__in=ids)
            .exclude(source__startswith=SOURCE)
            .exclude(trust__in=WITHDRAWN_TRUSTS)
        )
        written += _add_lines(folder, list(found.order_by("key")))
    if end != last:
        _note_last(folder, end)
    return written


def _read_last(folder: Path) -> int | None:
    try:
        return int((folder / LAST).read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None


def _note_last(folder: Path, seq: int) -> None:
    with replace_file(folder / LAST) as file:
        file.write(f"{seq}\n")


def _add_lines(folder: Path, memories: list[Memory]) -> int:
    added = 0
    by_day: dict[str, list[Memory]] = {}
    for memory in memories:
        by_day.setdefault(f"{memory.created_at:%Y-%m-%d}", []).append(memory)
    for day, rows in by_day.items():
        path = folder / f"{day}.md"
        text = path.read_text(encoding="utf-8") if path.exists() else f"# {day}\n\n"
        there = set(_ID.findall(text))
        lines = [_line_of(row) for row in rows if str(row.id) not in there]
        if lines:
            with replace_file(path) as file:
                file.write(text if text.endswith("\n") else f"{text}\n")
                file.writelines(lines)
        added += len(lines)
    return added


def _line_of(memory: Memory) -> str:
    """A memory's line: time, type, source, the start of its text, and the id by which a purge finds it."""
    text = " ".join(memory.content.split())
    short = text if len(text) <= _TEXT_CHARS else f"{text[: _TEXT_CHARS - 1]}…"
    source = memory.source or memory.client or memory.author_name or "unknown"
    waits = " (waits for review)" if memory.trust == Trust.CANDIDATE else ""
    quiet = short.replace("<!--", "<! --").replace("-->", "-- >")
    return f"- {memory.created_at:%H:%M} {memory.type}, {' '.join(source.split())}{waits}: {quiet} <!-- {memory.id} -->\n"


def take_out(folder: Path, ids: Collection[UUID]) -> int:
    """Remove the lines of these memories from a daily log; returns their number."""
    wanted, gone = {str(id_) for id_ in ids}, 0
    for path in sorted(folder.glob("*.md")):
        if not path.is_file():
            continue
        lines = path.read_bytes().splitlines(keepends=True)  # a person may have saved it in another encoding
        kept = [line for line in lines if wanted.isdisjoint(_ID.findall(line.decode("utf-8", "replace")))]
        if len(kept) < len(lines):
            gone += len(lines) - len(kept)
            with replace_bytes(path) as file:
                file.writelines(kept)
    return gone
