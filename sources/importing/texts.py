"""Import of conversation turns and texts as JSON lines: {id, text, group, timestamp, session, speaker}."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import InvalidInput, LociError
from memories.draft import Draft, check_draft
from memories.embedding import Encoder
from memories.language.timestamps import FORMS, parse_moment
from memories.store import Outcome
from memories.store.bulk import BATCH_DRAFTS, store_many
from memories.types import Scope, Type
from sources.importing.lines import LineFault, RawLine, StrictStop, read_lines

# At the end of each batch of lines the encoder waits for the last drafts to be written.
LINES_AT_ONCE = 16 * BATCH_DRAFTS
STRICT_LINES = 4 * BATCH_DRAFTS  # most lines that a strict import may have stored after a rejected one
# Fields that become columns; all others are kept as metadata.
COLUMN_FIELDS = frozenset({"id", "text", "group", "timestamp", "session"})
CORPUS = "corpus.jsonl"  # a file of this name is named after its folder


@dataclass(frozen=True)
class LinesReport:
    """Number of lines by result; `lines` does not count blank ones."""

    source: str
    lines: int
    created: int
    reinforced: int
    unchanged: int
    queued: int
    faults: tuple[LineFault, ...]


@dataclass(frozen=True)
class LineRules:
    """How lines become drafts. `group` overrides the lines' own; `type` "" means episodic with a session, else semantic."""

    source: str
    group: str = ""
    type: str = ""
    scope: str = Scope.GROUP


@dataclass(frozen=True)
class LineBatch:
    """Consecutive lines: the drafts with their line numbers, and the rejected lines."""

    numbers: list[int]
    drafts: list[Draft]
    faults: list[LineFault]

    @property
    def last(self) -> int:
        """Number of the last line."""
        return max([*self.numbers, *(fault.line for fault in self.faults)])

    def add(self, line: RawLine, rules: LineRules) -> None:
        """Add a line as a draft, or as a rejected line."""
        try:
            if line.why:
                raise InvalidInput(line.why)
            self.drafts.append(draft_of(line.value, rules))
            self.numbers.append(line.number)
        except LociError as error:
            self.faults.append(LineFault(line.number, str(error)))


def source_name(path: Path) -> str:
    """Source of a file's memories: its name without the suffix."""
    return path.absolute().parent.name if path.name == CORPUS else path.stem


def import_lines(
    actor: Actor,
    path: Path,
    rules: LineRules,
    *,
    encoder: Encoder | None = None,
    on_progress: Callable[[int], object] | None = None,
    dry_run: bool = False,
    strict: bool = False,
) -> LinesReport:
    """Store every line of a file as a memory, in order; a repeated call continues where the last one stopped.

    A rejected line is left out completely and reported by number. `on_progress` receives the last finished line.

    Raises:
        NotFound: the file cannot be opened.
        StrictStop: `strict`, and a line was rejected; the lines before it are stored.
    """
    counts: Counter[str] = Counter()
    faults: list[LineFault] = []
    for part in read_batches(path, rules, strict=strict):
        told = _told(part, on_progress)
        result = store_many(actor, part.drafts, encoder=encoder, on_progress=told, dry_run=dry_run)
        refused = [LineFault(part.numbers[refusal.index], refusal.why) for refusal in result.refused]
        counts += Counter(
            {
                Outcome.CREATED: result.created,
                Outcome.REINFORCED: result.reinforced,
                Outcome.UNCHANGED: result.unchanged,
                Outcome.QUEUED: result.queued,
            }
        )
        faults += sorted([*part.faults, *refused], key=lambda fault: fault.line)
        if on_progress is not None:
            on_progress(part.last)
        if strict and faults:
            break
    if not dry_run:
        log_import(actor, rules.source, counts)
    if strict and faults:
        raise StrictStop(f"Line {faults[0].line}: {faults[0].why}", hint="The lines before it are stored.")
    return make_report(rules.source, counts, faults)


def make_report(source: str, counts: Counter[str], faults: list[LineFault]) -> LinesReport:
    """The report from the number of lines by outcome and the rejected lines."""
    return LinesReport(
        source=source,
        lines=counts.total() + len(faults),
        created=counts[Outcome.CREATED],
        reinforced=counts[Outcome.REINFORCED],
        unchanged=counts[Outcome.UNCHANGED],
        queued=counts[Outcome.QUEUED],
        faults=tuple(faults),
    )


def draft_of(line: dict[str, Any], rules: LineRules) -> Draft:
    """The draft of a line.

    Raises:
        LociError: a value is missing or not allowed.
    """
    session = _text(line, "session")
    draft = Draft(
        content=_text(line, "text", required=True),
        type=rules.type or (Type.EPISODIC if session else Type.SEMANTIC),
        group=rules.group or _text(line, "group") or None,
        scope=rules.scope,
        thread=session,
        metadata={
            name: value for name, value in line.items() if name not in COLUMN_FIELDS and value is not None
        },
        source=rules.source,
        source_ref=_text(line, "id", required=True),
        valid_from=parse_timestamp(line.get("timestamp")),
    )
    return check_draft(draft)


def read_batches(path: Path, rules: LineRules, *, strict: bool) -> Iterator[LineBatch]:
    """The file in batches; a strict one ends with the first rejected line."""
    lines = read_lines(path)
    limit = min(LINES_AT_ONCE, STRICT_LINES) if strict else LINES_AT_ONCE
    while chunk := list(islice(lines, limit)):
        part = LineBatch([], [], [])
        for line in chunk:
            part.add(line, rules)
            if strict and part.faults:
                break
        yield part


def _told(part: LineBatch, on_progress: Callable[[int], object] | None) -> Callable[[int], object] | None:
    """Progress callback for the number of stored drafts, reported as line numbers."""
    return on_progress and (lambda done: on_progress(part.numbers[done - 1]))


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


def log_import(actor: Actor, source: str, counts: Counter[str]) -> None:
    """Log an import that changed something; each memory also has its own row."""
    if counts.total() > counts[Outcome.UNCHANGED]:
        audit.append(actor, Operation.IMPORT, subject=f"source:{source}", payload={"counts": dict(counts)})
