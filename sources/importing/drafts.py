"""Import of drafts: what every importer of texts does with the drafts that it read."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

from django.db import transaction

from access import audit
from access.actor import CURATE, WRITE, Actor
from access.audit.operations import Operation
from access.errors import LociError, NotPermitted
from access.groups import find_or_create_group, leave_uncreated
from access.groups.guarding import mask_words
from memories.draft import Draft, check_draft
from memories.embedding import Encoder
from memories.entities.store_relation import RelationDraft
from memories.models import Memory, Thread
from memories.review.instructions import propose_instructions
from memories.store import Outcome
from memories.store.bulk import BATCH_DRAFTS, store_many
from memories.types import Trust, Type
from sources.importing.importer import LineRules, Waiting
from sources.importing.lines import LineFault, StrictStop
from sources.importing.relations import import_relation
from sources.importing.reports import PROPOSED, RELATED, SAMPLE_TEXTS, LinesReport, sample_of
from storage.changes import change_of, changing
from storage.ids import new_id

# At the end of each batch of lines the encoder waits for the last drafts to be written.
LINES_AT_ONCE = 16 * BATCH_DRAFTS
CHARS_AT_ONCE = (
    2**23
)  # of their texts: long ones come in smaller batches, which bounds the memory that an import takes
STRICT_LINES = 4 * BATCH_DRAFTS  # most lines that a strict import may have stored after a rejected one
WAITS = "imported texts wait for a person"
RELATION_WAITS = "relations of an import that waits for a person: import again with --as live"


@dataclass(frozen=True)
class InstructionsText:
    """The text of an instruction file, such as CLAUDE.md: proposed for the instructions of a group.

    `file` names it among the files of its source.
    """

    text: str
    file: str
    group: str | None = None


@dataclass(frozen=True)
class NumberedDraft:
    """The draft of a line, or the reason why it has none. A file without lines numbers its texts from 1.

    `skipped` is the reason why a line is left out on purpose. A line may be a `relation` or an instruction file instead.
    """

    number: int
    draft: Draft | None
    why: str = ""
    skipped: str = ""
    relation: RelationDraft | None = None
    instructions: InstructionsText | None = None


@dataclass
class DraftBatch:
    """Consecutive lines: drafts, relations and instruction files with their line numbers, rejected lines, skipped ones by reason."""

    numbers: list[int] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    relations: list[tuple[int, RelationDraft]] = field(default_factory=list)
    instructions: list[tuple[int, InstructionsText]] = field(default_factory=list)
    faults: list[LineFault] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    last: int = 0  # number of the last line
    chars: int = 0  # of the drafts' texts

    def __len__(self) -> int:
        return len(self.numbers) + len(self.faults) + len(self.relations) + len(self.instructions)

    def add(self, line: NumberedDraft) -> None:
        """Add a line: its draft, relation or instructions, or the reason why it has none."""
        self.last = line.number
        if line.skipped:
            self.skipped[line.skipped] += 1
        elif line.relation is not None:
            self.relations.append((line.number, line.relation))
        elif line.instructions is not None:
            self.instructions.append((line.number, line.instructions))
        elif line.draft is None:
            self.faults.append(LineFault(line.number, line.why))
        else:
            self.drafts.append(line.draft)
            self.numbers.append(line.number)
            self.chars += len(line.draft.content)


@dataclass
class DraftIntake:
    """One import of drafts: what it has counted so far, and how it stores a batch."""

    actor: Actor
    rules: LineRules
    encoder: Encoder | None = None
    dry_run: bool = False
    run: UUID = field(default_factory=new_id)
    counts: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    faults: list[LineFault] = field(default_factory=list)
    sample: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        # What an import writes has its id, by which it is undone as a whole.
        self.actor = replace(self.actor, run=self.run)

    def take(self, part: DraftBatch, *, on_progress: Callable[[int], object] | None) -> None:
        """Store a batch's drafts, then its relations; propose its instructions."""
        with changing(change_of(self.run)):
            self._take(part, on_progress=on_progress)

    def _take(self, part: DraftBatch, *, on_progress: Callable[[int], object] | None) -> None:
        result = store_many(
            self.actor,
            part.drafts if self.rules.as_own else [replace(draft, outside=True) for draft in part.drafts],
            encoder=self.encoder,
            on_progress=on_progress
            and (lambda done: on_progress(part.numbers[done - 1])),  # as a line number
            dry_run=self.dry_run,
            are_checked=True,
            hold=self.hold,
        )
        refused = [LineFault(part.numbers[refusal.index], refusal.why) for refusal in result.refused]
        self.counts += Counter(
            {
                Outcome.CREATED: result.created,
                Outcome.REINFORCED: result.reinforced,
                Outcome.UNCHANGED: result.unchanged,
                Outcome.QUEUED: result.queued,
            }
        )
        self.findings += Counter(result.findings)
        if not self.dry_run:
            _name_threads(self.run, {draft.thread for draft in part.drafts if draft.metadata.get("title")})
        self.skipped += part.skipped
        unstored = {refusal.index for refusal in result.refused}
        rest = (draft for at, draft in enumerate(part.drafts) if at not in unstored)
        while len(self.sample) < SAMPLE_TEXTS and (draft := next(rest, None)) is not None:
            self.sample.append(sample_of(draft))
        self.faults += sorted(
            [*part.faults, *refused, *self._relate(part), *self._propose(part)], key=lambda fault: fault.line
        )
        if on_progress is not None:
            on_progress(part.last)

    def _relate(self, part: DraftBatch) -> Iterator[LineFault]:
        for number, relation in part.relations:
            if self.rules.waiting == Waiting.PENDING:
                self.skipped[RELATION_WAITS] += 1
                continue
            try:
                is_new = import_relation(self.actor, relation, dry_run=self.dry_run)
            except LociError as error:
                yield LineFault(number, str(error))
            else:
                self.counts[RELATED if is_new else Outcome.UNCHANGED] += 1

    def _propose(self, part: DraftBatch) -> Iterator[LineFault]:
        for number, found in part.instructions:
            try:
                with transaction.atomic():
                    resolved = find_or_create_group(self.actor, found.group, right=WRITE)
                    is_new = propose_instructions(self.actor, resolved.group, found.text, file=found.file)
                    transaction.set_rollback(self.dry_run)
                if self.dry_run and resolved.created:
                    leave_uncreated(self.actor, resolved)
            except LociError as error:
                yield LineFault(number, f"{found.file}: {error}")
            else:
                self.counts[PROPOSED if is_new else Outcome.UNCHANGED] += 1

    def hold(self, draft: Draft) -> str:
        """Why a draft waits for a person; "" if it need not."""
        is_fact = draft.type != Type.EPISODIC
        waits = self.rules.waiting == Waiting.PENDING or (self.rules.waiting == Waiting.FACTS and is_fact)
        return WAITS if waits else ""

    def finish(self) -> LinesReport:
        """Log the import if it changed something; return the report."""
        source = mask_words(self.rules.source)
        has_changed = self.counts.total() > self.counts[Outcome.UNCHANGED]
        if has_changed and not self.dry_run:
            payload = {"counts": dict(self.counts)}
            with changing(change_of(self.run)):
                audit.append(self.actor, Operation.IMPORT, subject=f"source:{source}", payload=payload)
        counts = self.counts
        return LinesReport(
            source=source,
            lines=counts.total() + len(self.faults) + self.skipped.total(),
            created=counts[Outcome.CREATED],
            reinforced=counts[Outcome.REINFORCED],
            unchanged=counts[Outcome.UNCHANGED],
            queued=counts[Outcome.QUEUED],
            faults=tuple(self.faults),
            related=counts[RELATED],
            proposed=counts[PROPOSED],
            skipped=dict(self.skipped),
            findings=dict(self.findings),
            sample=tuple(self.sample),
            run=str(self.run) if has_changed and not self.dry_run else "",
        )


def _name_threads(run: UUID, names: set[str]) -> None:
    """Set the title of threads that have none to the one in their imported turns, which the guard has checked."""
    rows = Memory.objects.filter(run=run, thread__name__in=names, thread__title="")
    rows = rows.exclude(trust=Trust.QUARANTINED).order_by("-key")
    titles = {
        key: str(metadata.get("title", ""))[:200] for key, metadata in rows.values_list("thread", "metadata")
    }
    for thread, title in titles.items():
        Thread.objects.filter(pk=thread).update(title=title)


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
    Everything written carries one run id, by which `sources.importing.undo` takes the import back.

    Raises:
        NotFound: the file cannot be opened.
        StrictStop: `strict`, and a line was rejected; the lines before it are stored.
    """
    check_as_own(actor, rules)
    intake = DraftIntake(actor, rules, encoder, dry_run)
    for part in _split_batches(read(path, rules), strict=strict):
        intake.take(part, on_progress=on_progress)
        if strict and intake.faults:
            break
    report = intake.finish()
    if strict and report.faults:
        first = report.faults[0]
        raise StrictStop(f"Line {first.line}: {first.why}", hint="The lines before it are stored.")
    return report


def check_as_own(actor: Actor, rules: LineRules) -> None:
    """Raise NotPermitted if texts are to count as the team's own, and the actor may not curate."""
    if rules.as_own and not actor.may(CURATE):
        raise NotPermitted(
            "Only a curator may import texts as the team's own.", hint="Leave out --as-own.", field="as_own"
        )


def _split_batches(drafts: Iterable[NumberedDraft], *, strict: bool) -> Iterator[DraftBatch]:
    limit = min(LINES_AT_ONCE, STRICT_LINES) if strict else LINES_AT_ONCE
    part = DraftBatch()
    for line in drafts:
        part.add(line)
        if len(part) == limit or part.chars > CHARS_AT_ONCE or (strict and part.faults):
            yield part
            part = DraftBatch()
    if len(part) or part.skipped:
        yield part
