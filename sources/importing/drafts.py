"""Import of records: what every importer of texts does with what its reader finds, and its entry in the registry."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Final
from uuid import UUID

from django.db import transaction

from access import audit
from access.actor import CURATE, WRITE, Actor
from access.audit.operations import Operation
from access.errors import InvalidInput, LociError, NotPermitted
from access.groups import find_group, find_or_create_group, leave_uncreated
from access.groups.guarding import mask_words
from memories.draft import Draft
from memories.embedding import Encoder
from memories.entities.store_relation import RelationDraft, check_relation, find_entity, store_relation
from memories.models import Memory, Thread
from memories.review.instructions import propose_instructions
from memories.store import Outcome
from memories.store.bulk import BATCH_DRAFTS, store_many
from memories.store.withdrawn.marks import find_repeated
from memories.types import Trust, Type
from relations.models import Relation
from sources.importing.importer import Importer, LineRules, Recognition, SourceRecord, Waiting, settle
from sources.importing.lines import LineFault, StrictStop
from sources.importing.reading.file_tree import FileTree
from sources.importing.reports import PROPOSED, RELATED, SAMPLE_TEXTS, LinesReport, sample_of
from sources.importing.undo import is_undone
from storage.changes import change_of, changing
from storage.ids import new_id

# At the end of each batch of lines the encoder waits for the last drafts to be written.
LINES_AT_ONCE = 16 * BATCH_DRAFTS
# Long texts come in smaller batches, which bounds the memory that an import takes.
_CHARS_AT_ONCE = 2**23
_STRICT_LINES = 4 * BATCH_DRAFTS  # most lines that a strict import may have stored after a rejected one
_WAITS = "imported texts wait for a person"
_LEADS_OUT = "links and names that lead out of the folder or zip"
MAX_NAME_CHARS: Final = 80  # longer ones are not names by which an entity is found
_RELATION_WAITS = "relations of an import that waits for a person: import again with --as live"

_ReadRecords = Callable[[Path, LineRules], Iterable[SourceRecord]]


@dataclass
class _DraftIntake:
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

    def take(self, part: Sequence[SourceRecord], *, on_progress: Callable[[int], object] | None) -> None:
        """Store the drafts of consecutive records, then their relations; propose their instructions."""
        with changing(change_of(self.run)):
            stored = [(record.number, record.draft) for record in part if record.draft is not None]
            faults = [
                *(LineFault(record.number, record.why) for record in part if record.why),
                *self._store(stored, on_progress),
                *self._relate(part),
                *self._propose(part),
            ]
            self.faults += sorted(faults, key=lambda fault: fault.line)
            self.skipped += Counter(record.skipped for record in part if record.skipped)
            if on_progress is not None:
                on_progress(part[-1].number)

    def _store(
        self, numbered: Sequence[tuple[int, Draft]], on_progress: Callable[[int], object] | None
    ) -> list[LineFault]:
        numbers = [number for number, _ in numbered]
        drafts = [draft if self.rules.as_own else replace(draft, outside=True) for _, draft in numbered]
        result = store_many(
            self.actor,
            drafts,
            encoder=self.encoder,
            on_progress=on_progress and (lambda done: on_progress(numbers[done - 1])),  # as a line number
            dry_run=self.dry_run,
            are_checked=True,
            hold=self.hold,
        )
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
            _name_threads(self.run, {draft.thread for draft in drafts if draft.metadata.get("title")})
        unstored = {refusal.index for refusal in result.refused}
        rest = (draft for at, draft in enumerate(drafts) if at not in unstored)
        self.sample += [sample_of(draft) for draft in islice(rest, SAMPLE_TEXTS - len(self.sample))]
        return [LineFault(numbers[refusal.index], refusal.why) for refusal in result.refused]

    def _relate(self, part: Sequence[SourceRecord]) -> Iterator[LineFault]:
        for record in part:
            if record.relation is None:
                continue
            if self.rules.waiting == Waiting.PENDING:
                self.skipped[_RELATION_WAITS] += 1
                continue
            try:
                is_new = _import_relation(self.actor, record.relation, dry_run=self.dry_run)
            except LociError as error:
                yield LineFault(record.number, str(error))
            else:
                self.counts[RELATED if is_new else Outcome.UNCHANGED] += 1

    def _propose(self, part: Sequence[SourceRecord]) -> Iterator[LineFault]:
        for record in part:
            found = record.instructions
            if found is None:
                continue
            try:
                with transaction.atomic():
                    resolved = find_or_create_group(self.actor, found.group)
                    is_new = propose_instructions(self.actor, resolved.group, found.text, file=found.file)
                    transaction.set_rollback(self.dry_run)
                if self.dry_run and resolved.created:
                    leave_uncreated(self.actor, resolved)
            except LociError as error:
                yield LineFault(record.number, f"{found.file}: {error}")
            else:
                self.counts[PROPOSED if is_new else Outcome.UNCHANGED] += 1

    def hold(self, draft: Draft) -> str:
        """Why a draft waits for a person; "" if it need not."""
        is_fact = draft.type != Type.EPISODIC
        waits = self.rules.waiting == Waiting.PENDING or (self.rules.waiting == Waiting.FACTS and is_fact)
        return _WAITS if waits else ""

    def finish(self, unit: str) -> LinesReport:
        """Log the import if it changed something; return the report."""
        source = mask_words(self.rules.source)
        has_changed = self.counts.total() > self.counts[Outcome.UNCHANGED] and not self.dry_run
        if has_changed:
            payload = {"counts": dict(self.counts)}
            with changing(change_of(self.run)):
                audit.append(self.actor, Operation.IMPORT, subject=f"source:{source}", payload=payload)
        return LinesReport(
            source=source,
            lines=self.counts.total() + len(self.faults) + self.skipped.total(),
            created=self.counts[Outcome.CREATED],
            reinforced=self.counts[Outcome.REINFORCED],
            unchanged=self.counts[Outcome.UNCHANGED],
            queued=self.counts[Outcome.QUEUED],
            faults=tuple(self.faults),
            related=self.counts[RELATED],
            proposed=self.counts[PROPOSED],
            skipped=dict(self.skipped),
            findings=dict(self.findings),
            sample=tuple(self.sample),
            run=str(self.run) if has_changed else "",
            unit=unit,
        )


def _name_threads(run: UUID, names: set[str]) -> None:
    """Set the title of threads that have none to the one in their imported turns, which the guard has checked."""
    rows = Memory.objects.filter(run=run, thread__name__in=names, thread__title="")
    rows = rows.exclude(trust=Trust.QUARANTINED).order_by("-key")
    titles = {
        thread: (group, {"title": str(metadata.get("title", ""))[:200]})
        for thread, group, metadata in rows.values_list("thread", "group", "metadata")
    }
    for (thread, (_, title)), barred in zip(titles.items(), find_repeated([*titles.values()]), strict=True):
        if barred is None:
            Thread.objects.filter(pk=thread).update(**title)


def _import_relation(actor: Actor, draft: RelationDraft, *, dry_run: bool) -> bool:
    """Store a relation between two entities by their names; False if it is known, or was and a person ended it.

    Raises:
        LociError: it cannot be stored.
    """
    for name in (draft.subject, draft.object):
        if len(name) > MAX_NAME_CHARS:
            raise InvalidInput(f"The name '{name[:40]}…' is too long for a relation.", field="subject")
    if _is_known(actor, draft):
        return False
    if not dry_run:
        store_relation(actor, draft)
    return True


def _is_known(actor: Actor, draft: RelationDraft) -> bool:
    """True if the relation is stored, whether it counts or not; one that an undone import made is not."""
    predicate = check_relation(draft)
    try:
        group = find_group(actor, draft.group, right=WRITE)
    except LociError:
        return False
    subject, object_ = find_entity(actor, group, draft.subject), find_entity(actor, group, draft.object)
    if subject is None or object_ is None:
        return False
    same = Relation.objects.filter(
        group=group, subject=subject.root_key, predicate=predicate, object=object_.root_key
    )
    return any(row.retired_at is None or not is_undone(str(row.run or "")) for row in same)


def import_records(
    actor: Actor,
    path: Path,
    rules: LineRules,
    *,
    read: _ReadRecords,
    waiting: Waiting = Waiting.LIVE,
    unit: str = "record",
    encoder: Encoder | None = None,
    on_progress: Callable[[int], object] | None = None,
    dry_run: bool = False,
    strict: bool = False,
) -> LinesReport:
    """Store every draft that `read` finds in a file as a memory, in order, and log the import.

    A draft is stored once for each group, `source` and `source_ref`: a repeated call continues where the last one
    stopped. A rejected line is left out completely and reported by number. `on_progress` receives the last finished line.
    Everything written carries one run id, by which `sources.importing.undo` takes the import back. `waiting` is what waits
    by default in this format.

    Raises:
        NotFound: the file cannot be opened.
        StrictStop: `strict`, and a line was rejected; the lines before it are stored.
    """
    check_as_own(actor, rules)
    rules = replace(rules, waiting=rules.waiting or waiting)
    intake = _DraftIntake(actor, rules, encoder, dry_run)
    records = settle(chain(read(path, rules), _left_out(path)), rules)
    for part in _split_batches(records, strict=strict):
        intake.take(part, on_progress=on_progress)
        if strict and intake.faults:
            break
    report = intake.finish(unit)
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


def _left_out(path: Path) -> Iterator[SourceRecord]:
    with FileTree(path) as tree:
        yield from (SourceRecord(skipped=_LEADS_OUT) for _ in tree.outside())


def _split_batches(records: Iterable[SourceRecord], *, strict: bool) -> Iterator[list[SourceRecord]]:
    limit = min(LINES_AT_ONCE, _STRICT_LINES) if strict else LINES_AT_ONCE
    part, chars = list[SourceRecord](), 0
    for record in records:
        part.append(record)
        chars += len(record.draft.content) if record.draft is not None else 0
        if len(part) >= limit or chars > _CHARS_AT_ONCE or (strict and record.why):
            yield part
            part, chars = [], 0
    if part:
        yield part


def tree_importer(
    name: str,
    description: str,
    *,
    endings: tuple[str, ...],
    single: tuple[str, ...] = (),
    recognises: Callable[[FileTree], Recognition | bool],
    read: Callable[[FileTree, LineRules], Iterable[SourceRecord]],
    waiting: Waiting = Waiting.LIVE,
    source: Callable[[Path], str] | str = "",
) -> Importer:
    """The table's entry of a format of folders, zips and single files, the latter with `single` as their endings, else `endings`."""

    def recognises_path(path: Path) -> Recognition | bool:
        if path.is_file() and path.suffix.lower() not in (single or endings):
            return False
        with FileTree(path) as tree:
            return recognises(tree)

    def read_path(path: Path, rules: LineRules) -> Iterator[SourceRecord]:
        with FileTree(path) as tree:
            yield from read(tree, rules)

    return record_importer(
        name,
        description,
        endings=endings,
        recognises=recognises_path,
        read=read_path,
        waiting=waiting,
        source=source,
    )


def record_importer(
    name: str,
    description: str,
    *,
    endings: tuple[str, ...] = (),
    recognises: Callable[[Path], Recognition | bool],
    read: _ReadRecords,
    waiting: Waiting = Waiting.LIVE,
    source: Callable[[Path], str] | str = "",
    has_lines: bool = False,
) -> Importer:
    """The table's entry of a format of texts. `source` names the source of its texts; by default it is the format's name.

    `recognises` may say True for CERTAIN.
    """
    named = source or name

    def sureness(path: Path) -> Recognition:
        found = recognises(path)
        return found if isinstance(found, Recognition) else Recognition.CERTAIN if found else Recognition.NO

    return Importer(
        name=name,
        description=description,
        endings=endings,
        recognises=sureness,
        run=partial(import_records, read=read, waiting=waiting, unit="line" if has_lines else "record"),
        source_of=named if callable(named) else lambda path: named,
        has_lines=has_lines,
    )
