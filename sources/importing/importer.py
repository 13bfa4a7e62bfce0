"""What an importer of a format is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Protocol

from access.actor import Actor
from access.errors import InvalidInput, NotFound
from access.groups import check_slug
from memories.types import Scope
from sources.importing.reports import ImportReport

CORPUS = "corpus.jsonl"  # a file of this name is named after its folder
NOWHERE: Final = "-"  # the group of a place that is left out


class Recognition(IntEnum):
    """How sure an importer is that a file or folder is in its format; NO is false."""

    NO = 0
    ANY_TEXT = 1  # the format of last resort
    PLAIN = 2  # a general format, such as a folder of Markdown
    CERTAIN = 3  # keys or files that only this format has


class Waiting(StrEnum):
    """Which texts of an import wait for a person."""

    PENDING = "pending"
    FACTS = "facts"  # everything but events
    LIVE = "live"


@dataclass(frozen=True)
class PlaceRule:
    """Texts whose place at their origin (project, user, folder) matches the pattern go into the group."""

    pattern: str
    group: str


@dataclass(frozen=True)
class LineRules:
    """How lines become drafts. `group` overrides the lines' own; `type` "" means episodic with a session, else semantic.

    `waiting` "" means as usual for the format; texts from before `since` are left out. `places` choose groups by the
    place at the origin, the first that matches. `with_turns` imports turns of a format that leaves them out by default.
    `as_own`: the texts are the team's own; else they count as from outside.
    """

    source: str
    group: str = ""
    type: str = ""
    scope: str = Scope.GROUP
    waiting: Waiting | str = ""
    since: datetime | None = None
    places: tuple[PlaceRule, ...] = field(default=())
    with_turns: bool = False
    as_own: bool = False

    def group_of_place(self, place: str) -> str | None:
        """The group of a place at the origin, None if no rule matches it; NOWHERE: it is left out."""
        matching = (rule.group for rule in self.places if fnmatchcase(place, rule.pattern))
        return next(matching, None)


def read_places(path: Path) -> tuple[PlaceRule, ...]:
    """The rules of a map: a line `pattern = group` each, NOWHERE to leave a place out; # begins a comment.

    Raises:
        NotFound: the file cannot be read. InvalidInput: a line is not a rule.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise NotFound(f"{path} cannot be read: {why}.", field="map") from None
    rules = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        pattern, _, group = (part.strip() for part in text.rpartition("="))
        if not pattern or not group:
            raise InvalidInput(
                f"Line {number} of {path.name} is not a rule.",
                hint="Write `place = group`, `place* = group`, or `place = -` to leave it out.",
                field="map",
            )
        if group != NOWHERE:
            check_slug(group)
        rules.append(PlaceRule(pattern, group))
    return tuple(rules)


class _RunImport(Protocol):
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


def source_name(path: Path) -> str:
    """Source of a file's memories: its name without the suffix."""
    return path.absolute().parent.name if path.name == CORPUS else path.stem


@dataclass(frozen=True)
class Importer:
    """A format that Loci imports.

    `name` is the word for `--from` and the key "format" of a JSON report. `description` completes "a file of this format
    is …". `endings` are those of single files, for the browser's file chooser; a format of folders has none.
    `recognises` gets an existing path, which may be a folder; it reads no more than the beginning of a file.
    `source_of` names the source of a file's texts, unless the caller does; by default it is the file's name.
    """

    name: str
    description: str
    endings: tuple[str, ...]
    recognises: Callable[[Path], Recognition]
    run: _RunImport
    source_of: Callable[[Path], str] = source_name
    has_lines: bool = False  # its progress counts lines of the file
