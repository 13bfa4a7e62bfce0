"""Exports for other programs: what recall returns, without history. One module per format, one table of them.

They lose what the other format has no place for; the export of Loci itself (sources.exporting) loses nothing.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from access import audit
from access.actor import Actor
from access.answers import Answer
from access.audit.operations import Operation
from access.errors import Conflict
from sources.exporting import consistent_read, readable_groups
from sources.sharing.knowledge_graph import write_graph
from sources.sharing.notes import write_rooms, write_vault
from sources.sharing.shared_rows import SharedRows
from sources.sharing.table import write_table


@dataclass(frozen=True)
class _Exporter:
    """A format for other programs. `write` gets the rows and a path, a new folder if `is_folder`; it returns counts."""

    name: str
    description: str
    is_folder: bool
    write: Callable[[SharedRows, Path], Counter[str]]


EXPORTERS: Final = (
    _Exporter("markdown", "a folder of Markdown notes, one per memory", True, write_vault),
    _Exporter("locus", "a folder of .locus files in rooms", True, write_rooms),
    _Exporter("mcp-memory", "the memory.jsonl of the MCP memory server", False, write_graph),
    _Exporter("csv", "CSV, one row per memory", False, write_table),
)
NAMES: Final = tuple(exporter.name for exporter in EXPORTERS)


@dataclass(frozen=True)
class SharedReport(Answer):
    """What an export for another program wrote: the format, the groups' slugs, counts by kind."""

    format: str
    groups: tuple[str, ...]
    counts: dict[str, int]


def export_as(
    actor: Actor,
    name: str,
    path: Path,
    *,
    groups: Sequence[str] = (),
    overwrite: bool = False,
    on_progress: Callable[[int], object] | None = None,
) -> SharedReport:
    """Write the memories of the named groups, or of all that the actor may read, in the format of this name.

    Raises:
        GroupNotFound, NotPermitted: the actor may not read one of the groups.
        Conflict: the file exists, or the folder has something in it, and `overwrite` is False.
    """
    exporter = next(exporter for exporter in EXPORTERS if exporter.name == name)
    exported = readable_groups(actor, groups)
    if exporter.is_folder and path.exists() and not path.is_dir():
        raise Conflict(f"{path} is a file.", hint="Name a new folder.", field="file")
    if not exporter.is_folder and path.is_dir():
        raise Conflict(f"{path} is a folder.", hint="Name a new file.", field="file")
    is_taken = any(path.iterdir()) if path.is_dir() else path.is_file()
    if is_taken and not overwrite:
        what = "folder" if exporter.is_folder else "file"
        raise Conflict(
            f"{path} already exists.",
            hint=f"Name a new {what}, or write over it with --overwrite.",
            field="file",
        )
    with consistent_read():
        counts = exporter.write(SharedRows(actor, exported, on_progress), path)
    slugs = tuple(group.slug for group in exported)
    payload = {"counts": dict(counts), "groups": list(slugs), "format": name}
    audit.append(actor, Operation.EXPORT, payload=payload)
    return SharedReport(name, slugs, dict(counts))
