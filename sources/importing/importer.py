"""What an importer of a format is, what its reader finds, and the rules under which that becomes drafts.

A reader knows its format and nothing else. Group, source, time limit and what waits are settled here, for all alike.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum, StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Protocol

from access.actor import Actor
from access.errors import InvalidInput, LociError, NotFound
from access.groups import check_slug
from memories.draft import Draft, check_draft
from memories.draft.kinds import MAX_TAGS
from memories.entities.store_relation import RelationDraft
from memories.types import Scope
from sources.importing.reading.json_stream import JsonFault
from sources.importing.reports import ImportReport

CORPUS = "corpus.jsonl"  # a file of this name is named after its folder
_NOWHERE: Final = "-"  # the group of a place that is left out


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
        """The group of a place at the origin, None if no rule matches it; "-": it is left out."""
        matching = (rule.group for rule in self.places if fnmatchcase(place, rule.pattern))
        return next(matching, None)


def read_places(path: Path) -> tuple[PlaceRule, ...]:
    """The rules of a map: a line `pattern = group` each, `-` to leave a place out; # begins a comment.

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
        if group != _NOWHERE:
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


_OTHER_PLACE = "places that the map leaves out"


@dataclass(frozen=True)
class InstructionsText:
    """The text of an instruction file, such as CLAUDE.md: proposed for the instructions of a group.

    `file` names it among the files of its source.
    """

    text: str
    file: str
    group: str | None = None


@dataclass(frozen=True)
class SourceRecord:
    """One thing that a reader found: a draft, a relation or an instruction file, or why it is none of them.

    `why`: it is broken, which is reported. `skipped`: it is left out on purpose. `place` is where it belongs at its origin:
    a project, a user, a folder. `number` is its line; 0 in a file without lines, whose records are counted.
    """

    draft: Draft | None = None
    relation: RelationDraft | None = None
    instructions: InstructionsText | None = None
    why: str = ""
    skipped: str = ""
    place: str = ""
    number: int = 0


def settle(records: Iterable[SourceRecord], rules: LineRules) -> Iterator[SourceRecord]:
    """The records under the rules, their drafts checked, numbered from 1. A fault in the file ends them as a broken record.

    Raises:
        NotFound: the file itself cannot be opened.
    """
    number = 0
    try:
        for number, record in enumerate(records, start=1):
            yield replace(_settle_one(record, rules), number=record.number or number)
    except (JsonFault, LociError) as fault:
        if number == 0 and isinstance(fault, NotFound):
            raise
        yield SourceRecord(why=str(fault), number=number + 1)


def _settle_one(record: SourceRecord, rules: LineRules) -> SourceRecord:
    if record.why or record.skipped:
        return record
    placed = None if rules.group else rules.group_of_place(record.place)
    if placed == _NOWHERE:
        return SourceRecord(skipped=_OTHER_PLACE)
    group = rules.group or placed
    if relation := record.relation:
        return replace(record, relation=replace(relation, group=group or relation.group))
    if found := record.instructions:
        named = replace(found, group=group or found.group, file=f"{rules.source}#{found.file}")
        return replace(record, instructions=named)
    if record.draft is None:
        return SourceRecord(why="it is empty")
    moment = record.draft.valid_from
    if rules.since is not None and moment is not None and moment < rules.since:
        return SourceRecord(skipped=f"older than {rules.since:%Y-%m-%d}")
    draft = replace(
        record.draft,
        group=group or record.draft.group,
        type=rules.type or record.draft.type,
        scope=rules.scope,
        source=record.draft.source or rules.source,
        tags=record.draft.tags[:MAX_TAGS],  # those beyond the limit are left out
    )
    try:
        return SourceRecord(check_draft(draft))
    except LociError as error:
        return SourceRecord(why=str(error))
