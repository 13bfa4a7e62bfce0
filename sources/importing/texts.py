"""Turns and texts that come as JSON lines: {id, text, group, timestamp, session, speaker}, stored as they are."""

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

# At the end of each part the encoder waits for the last batch to be written.
LINES_AT_ONCE = 16 * BATCH_DRAFTS
STRICT_LINES = 4 * BATCH_DRAFTS  # what a strict import may have stored behind a line that is refused
# What a line says about its place; whatever else it says is kept as metadata.
PLACED = frozenset({"id", "text", "group", "timestamp", "session"})
CORPUS = "corpus.jsonl"  # a file of this name is called after its folder


@dataclass(frozen=True)
class LinesReport:
    """What became of a file's lines, counted; `lines` leaves blank ones out."""

    source: str
    lines: int
    created: int
    reinforced: int
    unchanged: int
    queued: int
    faults: tuple[LineFault, ...]


@dataclass(frozen=True)
class LineRules:
    """How lines become drafts: `group` takes all lines, `type` "" means episodic with a session, else semantic."""

    source: str
    group: str = ""
    type: str = ""
    scope: str = Scope.GROUP


@dataclass(frozen=True)
class _Part:
    """Some lines that follow each other: the drafts with their line numbers, and the lines at fault."""

    numbers: list[int]
    drafts: list[Draft]
    faults: list[LineFault]

    @property
    def last(self) -> int:
        return max([*self.numbers, *(fault.line for fault in self.faults)])


def source_name(path: Path) -> str:
    """Give what a file's memories are said to come from: its name without the ending."""
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
    """Store every line of a file as a memory, in order; run again, it goes on where it stopped.

    A line at fault is left out whole and told with its number. `on_progress` hears the last line that is done.

    Raises:
        NotFound: the file cannot be opened.
        StrictStop: `strict`, and a line was at fault; what came before it is stored.
    """
    counts: Counter[str] = Counter()
    faults: list[LineFault] = []
    for part in _parts(path, rules, strict=strict):
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
        _note(actor, rules.source, counts)
    if strict and faults:
        raise StrictStop(f"Line {faults[0].line}: {faults[0].why}", hint="What came before it is stored.")
    return _report(rules.source, counts, faults)


def draft_of(line: dict[str, Any], rules: LineRules) -> Draft:
    """Give the draft of a line.

    Raises:
        LociError: something in it is missing or not allowed.
    """
    session = _text(line, "session")
    draft = Draft(
        content=_text(line, "text", needed=True),
        type=rules.type or (Type.EPISODIC if session else Type.SEMANTIC),
        group=rules.group or _text(line, "group") or None,
        scope=rules.scope,
        thread=session,
        metadata={name: value for name, value in line.items() if name not in PLACED and value is not None},
        source=rules.source,
        source_ref=_text(line, "id", needed=True),
        valid_from=_moment(line.get("timestamp")),
    )
    return check_draft(draft)


def _parts(path: Path, rules: LineRules, *, strict: bool) -> Iterator[_Part]:
    """Give the file in parts; a strict one ends with the first line at fault."""
    lines = read_lines(path)
    most = min(LINES_AT_ONCE, STRICT_LINES) if strict else LINES_AT_ONCE
    while chunk := list(islice(lines, most)):
        part = _Part([], [], [])
        for line in chunk:
            _add(part, line, rules)
            if strict and part.faults:
                break
        yield part


def _told(part: _Part, on_progress: Callable[[int], object] | None) -> Callable[[int], object] | None:
    """Give what tells of a part's drafts as they are stored, by the number of the line."""
    return on_progress and (lambda done: on_progress(part.numbers[done - 1]))


def _add(part: _Part, line: RawLine, rules: LineRules) -> None:
    try:
        if line.why:
            raise InvalidInput(line.why)
        part.drafts.append(draft_of(line.value, rules))
        part.numbers.append(line.number)
    except LociError as fault:
        part.faults.append(LineFault(line.number, str(fault)))


def _text(line: dict[str, Any], name: str, *, needed: bool = False) -> str:
    """Give a line's text; a number is written out, since ids often are numbers."""
    value = line.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or (needed and not value.strip()):
        raise InvalidInput(
            f"'{name}' is missing." if value in (None, "") else f"'{name}' is no text.", field=name
        )
    return value


def _moment(value: Any) -> datetime | None:
    """Give the time that a line names, as every face reads it; None where it names none."""
    if value in (None, ""):
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"'timestamp' is {str(value)[:40]!r}.", hint=FORMS, field="timestamp")
    return parse_moment(value, field="timestamp")


def _note(actor: Actor, source: str, counts: Counter[str]) -> None:
    """Log an import that brought something; each memory has its own row besides."""
    if counts.total() > counts[Outcome.UNCHANGED]:
        audit.append(actor, Operation.IMPORT, subject=f"source:{source}", payload={"counts": dict(counts)})


def _report(source: str, counts: Counter[str], faults: list[LineFault]) -> LinesReport:
    return LinesReport(
        source=source,
        lines=counts.total() + len(faults),
        created=counts[Outcome.CREATED],
        reinforced=counts[Outcome.REINFORCED],
        unchanged=counts[Outcome.UNCHANGED],
        queued=counts[Outcome.QUEUED],
        faults=tuple(faults),
    )
