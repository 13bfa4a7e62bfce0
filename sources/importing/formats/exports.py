"""Import of an export: every row keeps its id, nothing is overwritten, and the file's log is stored next to this one."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path

from django.db import transaction
from django.db.models import Model

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import InvalidInput, NotPermitted
from access.models import Group
from memories.embedding import Encoder
from memories.models import Link, LinkKind, LinkStatus, Memory, Thread
from memories.store import record_findings
from memories.store.derived import standing
from memories.store.for_review import raise_doubt
from memories.store.pieces import EmbeddedText, available_encoder, embed_or_owe, insert_pieces, passage_of
from memories.store.threads import refresh_threads
from memories.store.withdrawn.tombstones import missing_keys
from memories.types import VISIBLE_TRUSTS, State
from relations.models import Relation, RelationEvidence
from sources.exporting import instance_id
from sources.exporting.lines import carried_pieces
from sources.format import (
    FORMAT,
    GROUP,
    KINDS,
    LOG,
    MEMORY,
    READABLE_VERSIONS,
    RELATION,
    THREAD,
    VERSION,
    RecordKind,
    differences,
)
from sources.importing.drafts import check_as_own
from sources.importing.importer import Importer, LineRules, Recognition
from sources.importing.lines import LineFault, RawLine, StrictStop, first_object, read_lines
from sources.importing.reports import RestoreReport
from sources.importing.restoring.audit_chain import ChainIntake
from sources.importing.restoring.guarding import ExportGuard
from sources.importing.rows import (
    OTHER_GROUP,
    Targets,
    build_row,
    find_barred,
    insert_rows,
    is_id,
    names_of,
    stored_rows,
)
from storage.bulk import batches

LINES_AT_ONCE = 256  # a transaction of about 50 ms
MODEL_WAIT_S = 60.0
_BY_NAME = {kind.name: kind for kind in (*KINDS, LOG)}


def _is_export(path: Path) -> Recognition:
    is_head = path.is_file() and first_object(path).get("format") == FORMAT
    return Recognition.CERTAIN if is_head else Recognition.NO


def restore_export(
    actor: Actor,
    path: Path,
    rules: LineRules = LineRules(""),  # noqa: B008 - frozen
    *,
    encoder: Encoder | None = None,
    on_progress: Callable[[int], object] | None = None,
    dry_run: bool = False,
    strict: bool = False,
) -> RestoreReport:
    """Import the rows of an export that are not in the store yet, one transaction per batch of lines; repeatable.

    Texts pass the guard: secrets are masked, and what this store did not check itself is treated as any new text, unless
    `rules.as_own`, the only one of the rules that applies. A line whose id exists here with other content is rejected. The
    file's audit log is verified row by row and stored under its origin; this store's log records its head.

    Raises:
        NotPermitted: the actor does not administer the whole store, or may not say that it is the team's own.
        InvalidInput: the file is not an export, or one of a later version.
        StrictStop: `strict`, and a line was rejected.
    """
    check_as_own(actor, rules)
    if not actor.is_admin_of_all:
        raise NotPermitted(
            "Only an admin of the whole store may import an export.", hint="Run 'loci import' on the server."
        )
    lines = read_lines(path)
    origin = _header_origin(next(lines, None))
    intake = ExportIntake(actor, origin, encoder=encoder, dry_run=dry_run, is_own=rules.as_own)
    fault: LineFault | None = None
    # Later lines refer to earlier ones, so a dry run keeps its rows until the end.
    with transaction.atomic() if dry_run else nullcontext():
        for batch in _split_batches(lines):
            faults = intake.take(batch)
            if faults and strict:
                fault = faults[0]
                break
            if on_progress is not None:
                on_progress(batch[-1].number)
        report = intake.finish()
        if dry_run:
            transaction.set_rollback(True)
    if fault is not None:
        raise StrictStop(f"Line {fault.line}: {fault.why}", hint="The lines before it are stored.")
    return report


def _header_origin(line: RawLine | None) -> str:
    """Id of the store that an export came from, by its first line.

    Raises:
        InvalidInput: the line is not an export's header, or its version is unknown.
    """
    head = line.value if line is not None else {}
    if head.get("format") != FORMAT or not isinstance(head.get("origin"), str):
        raise InvalidInput(
            "The file is not an export of Loci.", hint="Its first line is not a header.", field="file"
        )
    if head.get("version") not in READABLE_VERSIONS:
        raise InvalidInput(
            f"The export has version {head.get('version')}; this version of Loci reads {VERSION}.",
            hint="Use a newer Loci.",
            field="file",
        )
    return str(head["origin"])


def _split_batches(lines: Iterator[RawLine]) -> Iterator[list[RawLine]]:
    batch: list[RawLine] = []
    for line in lines:
        if batch and (len(batch) == LINES_AT_ONCE or batch[0].value.get("kind") != line.value.get("kind")):
            yield batch
            batch = []
        batch.append(line)
    if batch:
        yield batch


def _evidence_ids(line: RawLine) -> list[str]:
    named = line.value.get("evidence")
    return [id_ for id_ in named if is_id(id_)] if isinstance(named, list) else []


@dataclass
class ExportIntake:
    """State of one import of an export: counts, rejected lines, and what is left to do at its end."""

    actor: Actor
    origin: str
    encoder: Encoder | None = None
    dry_run: bool = False
    is_own: bool = False
    added: Counter[str] = field(default_factory=Counter)
    unchanged: Counter[str] = field(default_factory=Counter)
    faults: list[LineFault] = field(default_factory=list)
    # Id and line, by the id of the replaced.
    successors: dict[str, tuple[str, int]] = field(default_factory=dict)
    summaries: dict[str, str] = field(default_factory=dict)  # ids, by the id of what is behind each
    threads: set[int] = field(default_factory=set)
    is_complete: bool = False
    last_line: int = 0

    def __post_init__(self) -> None:
        self.targets = Targets()
        self.guard = ExportGuard(self.is_own)
        self.chain = ChainIntake(instance_id(), may_keep=self.guard.may_keep_payload)

    def take(self, batch: list[RawLine]) -> list[LineFault]:
        """Import lines of one kind; return the rejected ones."""
        self.last_line = batch[-1].number
        name = batch[0].value.get("kind")
        faults = [LineFault(line.number, line.why) for line in batch if line.why]
        faults += [
            LineFault(line.number, f"'{line.nul_in}' contains a NUL character")
            for line in batch
            if line.nul_in
        ]
        good = [line for line in batch if not line.why and not line.nul_in]
        kind = _BY_NAME.get(str(name))
        if name == "end":
            self.is_complete = True
        elif kind is LOG:
            with transaction.atomic():
                faults += self.chain.take([(line.number, line.value) for line in good])
        elif kind is not None:
            faults += self._take_rows(kind, good)
        else:
            faults += [LineFault(line.number, f"the kind {name!r} is unknown") for line in good]
        self.faults += faults
        return faults

    def finish(self) -> RestoreReport:
        """Log the import, link successors and summaries, refresh contexts; return the report.

        Uses small transactions, so that other writers do not wait for the whole file. After a kill in between, the next
        import of the same file does the rest.
        """
        if not self.is_complete:
            self.faults.append(LineFault(self.last_line, "the file is incomplete: export it again"))
        self.added += Counter({LOG.name: self.chain.added})
        self.unchanged += Counter({LOG.name: self.chain.unchanged})
        if +self.added:
            payload = {"added": dict(+self.added), "heads": self.chain.heads_by_origin()}
            with transaction.atomic():
                audit.append(self.actor, Operation.IMPORT, subject=f"origin:{self.origin}", payload=payload)
        loose = 0
        for names in batches(self.successors, LINES_AT_ONCE):
            with transaction.atomic():
                loose += self._link(names)
        for names in batches(self.summaries, LINES_AT_ONCE):
            with transaction.atomic():
                self._put_behind(names)
        # A dry run holds the write lock until its end, so it skips work that is rolled back unseen.
        for thread in [] if self.dry_run else sorted(self.threads):
            with transaction.atomic():
                refresh_threads([thread])
        return RestoreReport(
            origin=self.origin,
            added=dict(+self.added),
            unchanged=dict(+self.unchanged),
            faults=tuple(self.faults),
            loose=loose,
            purged_payloads=self.chain.purged,
            missing_keys=missing_keys(),
        )

    def _take_rows(self, kind: RecordKind, raw: list[RawLine]) -> list[LineFault]:
        lines, faults = list[RawLine](), list[LineFault]()
        for line in raw:
            if isinstance(line.value.get("row"), dict):
                lines.append(line)
                for name, value in kind.older.items():  # columns that an older export does not have
                    line.row.setdefault(name, copy(value))
            else:
                faults.append(LineFault(line.number, "it has no 'row'"))
        refused = [(line, self.guard.check(kind, line.value, self.targets.groups)) for line in lines]
        faults += [LineFault(line.number, why) for line, why in refused if why]
        lines = [line for line, why in refused if not why]
        stored = stored_rows(kind, [line.row for line in lines])
        fresh = []
        for line in lines:
            row = next((stored[name] for name in names_of(kind, line.row) if name in stored), None)
            if row is None:
                fresh.append(line)
            elif why := self._compare(kind, row, line):
                faults.append(LineFault(line.number, why))
            self._note_targets(kind, row, line)
        # Roots first: their versions refer to their keys.
        for part in (
            [x for x in fresh if not x.row.get("root")],
            [x for x in fresh if x.row.get("root")],
        ):
            faults += self._add_rows(kind, part)
        return faults

    def _compare(self, kind: RecordKind, row: Model, line: RawLine) -> str:
        """Why a stored row conflicts with its line, or "". A group or thread with the same name counts as the same."""
        if "id" in kind.fields and str(getattr(row, "id", "")) != line.row.get("id"):
            self.unchanged[kind.name] += 1
            return ""
        if differing := differences(kind, row, line.row):
            return f"{kind.name} {line.row.get('id')} exists here with another {', '.join(differing)}"
        self.unchanged[kind.name] += 1
        if kind is MEMORY:
            self.targets.brought.add(str(line.row["id"]))
            self._note_later(line)
        return ""

    def _note_targets(self, kind: RecordKind, row: Model | None, line: RawLine) -> None:
        """Note the row of a group's or thread's name in the file, and the threads whose contexts need a refresh.

        That includes threads of rows stored earlier: the import that stored them may have been killed before the refresh.
        """
        if kind is GROUP and isinstance(row, Group):
            self.targets.groups[str(line.row.get("slug"))] = row
        elif kind is THREAD and isinstance(row, Thread):
            self.targets.threads[str(line.row.get("group")), str(line.row.get("name"))] = row
        elif isinstance(row, Memory) and row.thread_id is not None:
            self.threads.add(row.thread_id)

    def _note_later(self, line: RawLine) -> None:
        successor, summary = line.row.get("superseded_by"), line.row.get("summary")
        if is_id(successor):
            self.successors[line.row["id"]] = str(successor), line.number
        if is_id(summary):
            self.summaries[line.row["id"]] = str(summary)

    def _add_rows(self, kind: RecordKind, lines: list[RawLine]) -> list[LineFault]:
        self.targets.fetch_memories(
            [line.row for line in lines], [id_ for line in lines for id_ in _evidence_ids(line)]
        )
        faults, built = [], list[tuple[RawLine, Model]]()
        for line in lines:
            try:
                row = build_row(kind, line.row, self.targets)
                self.targets.check_group(row, line.row)
                built.append((line, row))
            except (ValueError, TypeError) as error:
                faults.append(LineFault(line.number, str(error)))
        barred = find_barred(kind, [row for _, row in built])
        faults += [LineFault(built[at][0].number, why) for at, why in barred.items()]
        built = [pair for at, pair in enumerate(built) if at not in barred]
        embedded = self._embed(built) if kind is MEMORY and not self.dry_run else []
        with transaction.atomic():
            refused = insert_rows([row for _, row in built])
            inserted = [(at, *pair) for at, pair in enumerate(built) if at not in refused]
            self._write_dependents(kind, inserted, embedded)
        self.added[kind.name] += len(inserted)
        return faults + [LineFault(built[at][0].number, why) for at, why in refused.items()]

    def _embed(self, built: list[tuple[RawLine, Model]]) -> list[EmbeddedText]:
        """Pieces of each memory: those in the file if the configured model made them, else embedded now, or owed."""
        carried = {
            at: carried_pieces(line.row["content"], line.value.get("pieces"))
            for at, (line, _) in enumerate(built)
        }
        ready = {at: pieces for at, pieces in carried.items() if pieces is not None}
        rest = [(at, row) for at, (_, row) in enumerate(built) if at not in ready]
        if rest and self.encoder is None:
            self.encoder = available_encoder(timeout_s=MODEL_WAIT_S)
        passages = [passage_of(row) for _, row in rest if isinstance(row, Memory)]
        made = embed_or_owe(passages, encoder=self.encoder) if rest else []
        ready |= {at: pieces for (at, _), pieces in zip(rest, made, strict=True)}
        return [ready[at] for at in range(len(built))]

    def _write_dependents(
        self,
        kind: RecordKind,
        inserted: Sequence[tuple[int, RawLine, Model]],
        embedded: Sequence[EmbeddedText],
    ) -> None:
        pieces, evidence = list[tuple[Memory, EmbeddedText]](), list[RelationEvidence]()
        for at, line, row in inserted:
            self._note_targets(kind, row, line)
            if isinstance(row, Group):
                # Every save sets this column to the present.
                Group.objects.filter(pk=row.pk).update(updated_at=line.row["updated_at"])
            elif isinstance(row, Memory):
                pieces += [(row, embedded[at])] if embedded else []
                self.targets.brought.add(str(row.id))
                self._note_later(line)
                if str(row.id) in self.guard.doubted and row.state == State.LIVE:
                    raise_doubt(self.actor, row, "the export says that it is disputed")
            elif kind is RELATION and isinstance(row, Relation):
                found = [self.targets.memory(id_) for id_ in _evidence_ids(line)]
                evidence += [RelationEvidence(relation=row, memory=memory) for memory in found if memory]
        insert_pieces(pieces)
        if kind is MEMORY and self.guard.findings:
            rows = [row for _, _, row in inserted if isinstance(row, Memory)]
            record_findings((row, self.guard.findings.get(str(row.id), ())) for row in rows)
        RelationEvidence.objects.bulk_create(evidence)

    def _link(self, names: list[str]) -> int:
        replaced = Memory.objects.filter(id__in=names, superseded_by=None).exclude(state=State.LIVE)
        rows = {str(r.id): r for r in replaced}
        successors = Memory.objects.filter(id__in=[self.successors[name][0] for name in rows])
        found = {str(r.id): r for r in successors}
        for name, row in rows.items():
            successor, line = self.successors[name]
            row.superseded_by = found.get(successor)
            if row.superseded_by is not None and row.superseded_by.group_id != row.group_id:
                row.superseded_by = None
                self.faults.append(LineFault(line, OTHER_GROUP.format(column="superseded_by")))
        Memory.objects.bulk_update(rows.values(), ["superseded_by"], batch_size=100)
        return sum(row.superseded_by is None for row in rows.values())

    def _put_behind(self, names: list[str]) -> None:
        """Put memories behind the summaries of their group that stand here and name them; the others are listed by themselves."""
        alone = Memory.objects.filter(id__in=names, summary=None, state=State.LIVE, trust__in=VISIBLE_TRUSTS)
        found = Memory.objects.filter(standing(), id__in={self.summaries[name] for name in names})
        summaries = {str(row.id): row for row in found}
        links = Link.objects.filter(kind=LinkKind.DERIVED, status=LinkStatus.OPEN, source__in=found)
        naming = set(links.values_list("source", "target"))
        rows = list[Memory]()
        for row in alone:
            summary = summaries.get(self.summaries[str(row.id)])
            if summary and summary.group_id == row.group_id and (summary.key, row.root_key) in naming:
                row.summary = summary
                rows.append(row)
        Memory.objects.bulk_update(rows, ["summary"], batch_size=100)


EXPORT = Importer(
    name="export",
    description="an export of Loci",
    endings=(".jsonl",),
    recognises=_is_export,
    run=restore_export,
    has_lines=True,
)
