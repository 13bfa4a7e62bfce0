"""Import of drafts: what every importer of texts does with the drafts that it read."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from access import audit
from access.actor import CURATE, Actor
from access.audit.operations import Operation
from access.errors import LociError, NotPermitted
from access.groups.guarding import mask_words
from memories.draft import Draft, check_draft
from memories.embedding import Encoder
from memories.store import Outcome
from memories.store.bulk import BATCH_DRAFTS, store_many
from sources.importing.importer import LineRules
from sources.importing.lines import LineFault, StrictStop
from sources.importing.reports import LinesReport

# At the end of each batch of lines the encoder waits for the last drafts to be written.
LINES_AT_ONCE = 16 * BATCH_DRAFTS
STRICT_LINES = 4 * BATCH_DRAFTS  # most lines that a strict import may have stored after a rejected one


@dataclass(frozen=True)
class NumberedDraft:
    """The draft of a line, or the reason why it has none. A file without lines numbers its texts from 1."""

    number: int
    draft: Draft | None
    why: str = ""


@dataclass(frozen=True)
class DraftBatch:
    """Consecutive lines: the drafts with their line numbers, and the rejected lines."""

    numbers: list[int] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    faults: list[LineFault] = field(default_factory=list)

    @property
    def last(self) -> int:
        """Number of the last line."""
        return max([*self.numbers, *(fault.line for fault in self.faults)])

    def add(self, line: NumberedDraft) -> None:
        """Add a line's draft, or the rejected line."""
        if line.draft is None:
            self.faults.append(LineFault(line.number, line.why))
        else:
            self.drafts.append(line.draft)
            self.numbers.append(line.number)


def numbered_draft(number: int, build: Callable[[], Draft]) -> NumberedDraft:
    """The draft that `build` makes of a line, checked; if either raises a LociError, the line is rejected for it."""
    try:
        return NumberedDraft(number, check_draft(build()))
    except LociError as error:
        return NumberedDraft(number, None, str(error))


def import_drafts(
    actor: Actor,
    path: Path,
    rules: LineRules,
    *,
    read: Callable[[Path, LineRules], Iterable[NumberedDraft]],
    encoder: Encoder | None = None,
    on_progress: Callable[[int], object] | None = None,
    dry_run: bool = False,
    strict: bool = False,
) -> LinesReport:
    """Store every draft that `read` finds in a file as a memory, in order, and log the import.

    A draft is stored once for each group, `source` and `source_ref`: a repeated call continues where the last one
    stopped. A rejected line is left out completely and reported by number. `on_progress` receives the last finished line.

    Raises:
        NotFound: the file cannot be opened.
        StrictStop: `strict`, and a line was rejected; the lines before it are stored.
    """
    check_as_own(actor, rules)
    counts: Counter[str] = Counter()
    faults: list[LineFault] = []
    found: Counter[str] = Counter()
    for part in split_batches(read(path, rules), strict=strict):
        result = store_many(
            actor,
            part.drafts if rules.as_own else [replace(draft, outside=True) for draft in part.drafts],
            encoder=encoder,
            on_progress=by_line_number(part, on_progress),
            dry_run=dry_run,
            are_checked=True,
        )
        refused = [LineFault(part.numbers[refusal.index], refusal.why) for refusal in result.refused]
        counts += Counter(
            {
                Outcome.CREATED: result.created,
                Outcome.REINFORCED: result.reinforced,
                Outcome.UNCHANGED: result.unchanged,
                Outcome.QUEUED: result.queued,
            }
        )
        found += Counter(result.findings)
        faults += sorted([*part.faults, *refused], key=lambda fault: fault.line)
        if on_progress is not None:
            on_progress(part.last)
        if strict and faults:
            break
    if not dry_run:
        log_import(actor, rules.source, counts)
    if strict and faults:
        raise StrictStop(f"Line {faults[0].line}: {faults[0].why}", hint="The lines before it are stored.")
    return make_report(mask_words(rules.source), counts, faults, found)


def check_as_own(actor: Actor, rules: LineRules) -> None:
    """Raise NotPermitted if texts are to count as the team's own, and the actor may not curate."""
    if rules.as_own and not actor.may(CURATE):
        raise NotPermitted(
            "Only a curator may import texts as the team's own.", hint="Leave out --as-own.", field="as_own"
        )


def split_batches(drafts: Iterable[NumberedDraft], *, strict: bool) -> Iterator[DraftBatch]:
    """The lines in batches; a strict one ends with the first rejected line."""
    limit = min(LINES_AT_ONCE, STRICT_LINES) if strict else LINES_AT_ONCE
    part = DraftBatch()
    for line in drafts:
        part.add(line)
        if len(part.numbers) + len(part.faults) == limit or (strict and part.faults):
            yield part
            part = DraftBatch()
    if part.numbers or part.faults:
        yield part


def by_line_number(
    part: DraftBatch, on_progress: Callable[[int], object] | None
) -> Callable[[int], object] | None:
    """Progress callback for the number of stored drafts, reported as line numbers."""
    return on_progress and (lambda done: on_progress(part.numbers[done - 1]))


def make_report(
    source: str, counts: Counter[str], faults: list[LineFault], found: Counter[str]
) -> LinesReport:
    """The report from the number of lines by outcome, the rejected lines and what the guard found."""
    return LinesReport(
        source=source,
        lines=counts.total() + len(faults),
        created=counts[Outcome.CREATED],
        reinforced=counts[Outcome.REINFORCED],
        unchanged=counts[Outcome.UNCHANGED],
        queued=counts[Outcome.QUEUED],
        faults=tuple(faults),
        findings=dict(found),
    )


def log_import(actor: Actor, source: str, counts: Counter[str]) -> None:
    """Log an import that changed something; each memory also has its own row."""
    if counts.total() > counts[Outcome.UNCHANGED]:
        audit.append(
            actor, Operation.IMPORT, subject=f"source:{mask_words(source)}", payload={"counts": dict(counts)}
        )
