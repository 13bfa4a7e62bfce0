"""What an importer of a format is."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from access.actor import Actor
from memories.types import Scope
from sources.importing.reports import ImportReport

CORPUS = "corpus.jsonl"  # a file of this name is named after its folder


@dataclass(frozen=True)
class LineRules:
    """How lines become drafts. `group` overrides the lines' own; `type` "" means episodic with a session, else semantic.

    `as_own`: the texts are the team's own; else they count as from outside.
    """

    source: str
    group: str = ""
    type: str = ""
    scope: str = Scope.GROUP
    as_own: bool = False


class RunImport(Protocol):
    """Import a file or folder; a repeated call adds nothing.

    `on_progress` receives the number of the last finished line. `strict` raises StrictStop at the first rejected line.
    A dry run writes nothing and reports what would happen.
    """

    def __call__(
        self,
        actor: Actor,
        path: Path,
        rules: LineRules,
        *,
        on_progress: Callable[[int], object] | None = None,
        dry_run: bool = False,
        strict: bool = False,
    ) -> ImportReport: ...


@dataclass(frozen=True)
class Importer:
    """A format that Loci imports.

    `name` is the word for `--format` and the key "format" of a JSON report. `description` completes "a file of this format
    is …". `endings` are those of single files, for the browser's file chooser; a format of folders has none.
    `recognises` gets an existing path, which may be a folder; it reads no more than the beginning of a file.
    """

    name: str
    description: str
    endings: tuple[str, ...]
    recognises: Callable[[Path], bool]
    run: RunImport


def source_name(path: Path) -> str:
    """Source of a file's memories: its name without the suffix."""
    return path.absolute().parent.name if path.name == CORPUS else path.stem
