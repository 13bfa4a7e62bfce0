"""Import of files: the first line decides whether it is an export of Loci or JSON lines."""

from collections.abc import Callable
from pathlib import Path

from access.actor import Actor
from sources.format import FORMAT
from sources.importing.exports import RestoreReport, restore_export
from sources.importing.lines import read_lines
from sources.importing.texts import LineRules, LinesReport, import_lines


def is_export(path: Path) -> bool:
    """True if the file is an export of Loci."""
    first = next(read_lines(path), None)
    return first is not None and first.value.get("format") == FORMAT


def import_file(
    actor: Actor,
    path: Path,
    rules: LineRules,
    *,
    on_progress: Callable[[int], object] | None = None,
    dry_run: bool = False,
    strict: bool = False,
) -> LinesReport | RestoreReport:
    """Import a file: an export of Loci row by row with its own ids, other JSON lines by `rules`.

    Raises:
        NotFound: the file cannot be opened.
        NotPermitted: it is an export, and the actor does not administer the whole store.
        StrictStop: `strict`, and a line was rejected.
    """
    if is_export(path):
        return restore_export(actor, path, on_progress=on_progress, dry_run=dry_run, strict=strict)
    return import_lines(actor, path, rules, on_progress=on_progress, dry_run=dry_run, strict=strict)
