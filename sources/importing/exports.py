"""Taking an export in: every row under its own id, nothing overwritten, and the store's log beside ours."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Model

from access import audit
from access.actor import ADMIN, Actor
from access.audit.operations import Operation
from access.errors import InvalidInput, NotPermitted
from access.models import Group
from memories.embedding import Encoder
from memories.models import Memory, Thread
from memories.store.pieces import EmbeddedText, available_encoder, embed_passages, insert_pieces, passage_of
from memories.store.threads import refresh_threads
from memories.store.tombstones import missing_keys
from relations.models import Relation, RelationEvidence
from sources.exporting.instance_name import instance_id
from sources.exporting.vectors import carried_pieces
from sources.format import (
    FORMAT,
    GROUP,
    KINDS,
    LOG,
    MEMORY,
    RELATION,
    THREAD,
    VERSION,
    RecordKind,
    differences,
)
from sources.importing.audit_chain import ChainIntake
from sources.importing.barred import barred
from sources.importing.existing import name_of, natural_name, stored_rows
from sources.importing.lines import LineFault, RawLine, StrictStop, read_lines
from sources.importing.references import Targets, is_id
from sources.importing.rows import build_row, insert_rows
from storage.bulk_threads import bulk_work
from storage.wal_checkpoints import pages_moved_between

LINES_AT_ONCE = 256  # a transaction of about 50 ms
MODEL_WAIT_S = 60.0
_BY_NAME = {kind.name: kind for kind in (*KINDS, LOG)}


@dataclass(frozen=True)
class RestoreReport:
    """What became of an export's lines, by kind; `loose` counts successors that are nowhere to be found."""

    origin: str
    added: dict[str, int]
    unchanged: dict[str, int]
    faults: tuple[LineFault, ...]
    loose: int = 0
    purged_payloads: int = 0
    missing_keys: dict[str, int] = field(default_factory=dict)  # of tombstones that recognise nothing here


@dataclass(frozen=True)
class ExportLine:
    """One line of an export: its number, its record, and all that stands in it."""

    number: int
    record: dict[str, Any]
    whole: dict[str, Any]


def restore_export(
    actor: Actor,
    path: Path,
    *,
    encoder: Encoder | None = None,
    on_progress: Callable[[int], object] | None = None,
    dry_run: bool = False,
    strict: bool = False,
) -> RestoreReport:
    """Take in every line of an export that is not here yet. A batch of lines per transaction; running it again goes on.

    A line whose id is here with other content is a fault and changes nothing here. The file's log is checked row by
    row and kept under its origin; our own log notes its head.

    Raises:
        NotPermitted: the actor may not administrate the whole store.
        InvalidInput: the file is no export, or one of a later version.
        StrictStop: `strict`, and a line was at fault.
    """
    if not (actor.all_groups and actor.may(ADMIN)):
        raise NotPermitted(
            "Taking in an export needs an admin of the whole store.", hint="Run 'loci import' on its machine."
        )
    lines = read_lines(path)
    intake = _Intake(actor, header_origin(next(lines, None)), encoder=encoder, dry_run=dry_run)
    # Later lines point to earlier ones, so a trial must see what it wrote until its end.
    with transaction.atomic() if dry_run else nullcontext():
        fault = _take_all(intake, lines, on_progress=on_progress, strict=strict)
        report = intake.finish()
        if dry_run:
            transaction.set_rollback(True)
    if fault is not None:
        raise StrictStop(f"Line {fault.line}: {fault.why}", hint="What came before it is stored.")
    return report


def _take_all(
    intake: "_Intake", lines: Iterator[RawLine], *, on_progress: Callable[[int], object] | None, strict: bool
) -> LineFault | None:
    """Take all batches in; `strict`: up to the first with a fault, which is given."""
    with bulk_work(), pages_moved_between() as move_pages:
        for batch in _batches(lines):
            faults = intake.take(batch)
            move_pages()
            if faults and strict:
                return faults[0]
            if on_progress is not None:
                on_progress(batch[-1].number)
    return None


def header_origin(line: RawLine | None) -> str:
    """Give the store that an export came from, by its first line.

    Raises:
        InvalidInput: it is no export's, or one of a later version.
    """
    head = line.value if line is not None else {}
    if head.get("format") != FORMAT or not isinstance(head.get("origin"), str):
        raise InvalidInput(
            "The file is no export of Loci.", hint="Its first line is no header.", field="file"
        )
    if head.get("version") != VERSION:
        raise InvalidInput(
            f"The export has version {head.get('version')}; this Loci reads {VERSION}.",
            hint="Use a newer Loci.",
            field="file",
        )
    return str(head["origin"])


def _batches(lines: Iterator[RawLine]) -> Iterator[list[RawLine]]:
    """Cut into runs of lines of one kind."""
    batch: list[RawLine] = []
    for line in lines:
        if batch and (len(batch) == LINES_AT_ONCE or batch[0].value.get("kind") != line.value.get("kind")):
            yield batch
            batch = []
        batch.append(line)
    if batch:
        yield batch


@dataclass
class _Intake:
    """One export on its way in."""

    actor: Actor
    origin: str
    encoder: Encoder | None = None
    dry_run: bool = False
    added: Counter[str] = field(default_factory=Counter)
    unchanged: Counter[str] = field(default_factory=Counter)
    faults: list[LineFault] = field(default_factory=list)
    successors: dict[str, str] = field(default_factory=dict)
    threads: set[int] = field(default_factory=set)
    is_complete: bool = False
    last_line: int = 0

    def __post_init__(self) -> None:
        self.targets = Targets()
        self.chain = ChainIntake(instance_id())

    def take(self, batch: list[RawLine]) -> list[LineFault]:
        """Take lines of one kind in; give those at fault."""
        self.last_line = batch[-1].number
        name = batch[0].value.get("kind")
        faults = [LineFault(line.number, line.why) for line in batch if line.why]
        good = [line for line in batch if not line.why]
        kind = _BY_NAME.get(str(name))
        if name == "end":
            self.is_complete = True
        elif kind is LOG:
            with transaction.atomic():
                faults += self.chain.take([(line.number, line.value) for line in good])
        elif kind is not None:
            faults += self._take_rows(kind, good)
        else:
            faults += [LineFault(line.number, f"there is no kind {name!r}") for line in good]
        self.faults += faults
        return faults

    def finish(self) -> RestoreReport:
        """Log the import, tie successors, set contexts right; give what happened.

        Small transactions, so that other writers need not wait for the whole file. Killed between two of them, the
        next import of the same file does what is left.
        """
        if not self.is_complete:
            self.faults.append(LineFault(self.last_line, "the file ends too early: export it again"))
        self.added += Counter({LOG.name: self.chain.added})
        self.unchanged += Counter({LOG.name: self.chain.unchanged})
        with transaction.atomic():
            self._note()
        loose = self._tie_successors()
        # A trial holds the write lock until its end, and shall not do what nobody will see.
        for thread in [] if self.dry_run else sorted(self.threads):
            with transaction.atomic():
                refresh_threads([thread])
        return RestoreReport(
            self.origin,
            dict(+self.added),
            dict(+self.unchanged),
            tuple(self.faults),
            loose,
            self.chain.purged,
            missing_keys(),
        )

    def _note(self) -> None:
        """Log what came in, with the heads of the chains that came along."""
        if +self.added:
            heads = {origin: {"seq": seq, "hash": hash_} for origin, (seq, hash_) in self.chain.heads.items()}
            payload = {"added": dict(+self.added), "heads": heads}
            audit.append(self.actor, Operation.IMPORT, subject=f"origin:{self.origin}", payload=payload)

    def _take_rows(self, kind: RecordKind, raw: list[RawLine]) -> list[LineFault]:
        faults, lines = _with_records(raw)
        there = stored_rows(kind, [line.record for line in lines])
        fresh = []
        for line in lines:
            row = there.get(name_of(kind, line.record)) or there.get(natural_name(kind, line.record))
            if row is None:
                fresh.append(line)
            elif why := self._compare(kind, row, line):
                faults.append(LineFault(line.number, why))
            self._remember(kind, row, line)
        # A chain's root must have its key before its versions can point to it.
        for part in (
            [x for x in fresh if not x.record.get("root")],
            [x for x in fresh if x.record.get("root")],
        ):
            faults += self._add(kind, part)
        return faults

    def _compare(self, kind: RecordKind, row: Model, line: ExportLine) -> str:
        """Say how a stored row differs from its line. A group or thread of the same name is taken for the same."""
        if "id" in kind.fields and str(getattr(row, "id", "")) != line.record.get("id"):
            self.unchanged[kind.name] += 1
            return ""
        if differing := differences(kind, row, line.record):
            return f"{kind.name} {line.record.get('id')} is here with another {', '.join(differing)}"
        self.unchanged[kind.name] += 1
        if kind is MEMORY:
            self._remember_successor(line)
        return ""

    def _remember(self, kind: RecordKind, row: Model | None, line: ExportLine) -> None:
        """Note what the file calls a group or thread that is here, and whose contexts are to be looked at.

        That of a row stored before as well: what stored it may have been killed before it came to the contexts.
        """
        if kind is GROUP and isinstance(row, Group):
            self.targets.groups[str(line.record.get("slug"))] = row
        elif kind is THREAD and isinstance(row, Thread):
            self.targets.threads[str(line.record.get("group")), str(line.record.get("name"))] = row
        elif isinstance(row, Memory) and row.thread_id is not None:
            self.threads.add(row.thread_id)

    def _remember_successor(self, line: ExportLine) -> None:
        """Note what took a memory's place; it may stand on a later line."""
        successor = line.record.get("superseded_by")
        if is_id(successor):
            self.successors[line.record["id"]] = str(successor)

    def _add(self, kind: RecordKind, lines: list[ExportLine]) -> list[LineFault]:
        """Write rows that are not here; give the lines that could not be."""
        self.targets.look_up(
            [line.record for line in lines], [id_ for line in lines for id_ in _evidence(line)]
        )
        faults, built = [], list[tuple[ExportLine, Model]]()
        for line in lines:
            try:
                built.append((line, build_row(kind, line.record, self.targets)))
            except (ValueError, TypeError) as fault:
                faults.append(LineFault(line.number, str(fault)))
        if kind is MEMORY:
            kept_out = barred([row for _, row in built if isinstance(row, Memory)])
            faults += [LineFault(built[at][0].number, why) for at, why in kept_out.items()]
            built = [pair for at, pair in enumerate(built) if at not in kept_out]
        embedded = self._embed(built) if kind is MEMORY and not self.dry_run else []
        with transaction.atomic():
            refused = insert_rows([row for _, row in built])
            kept = [(at, *pair) for at, pair in enumerate(built) if at not in refused]
            self._follow(kind, kept, embedded)
        self.added[kind.name] += len(kept)
        return faults + [LineFault(built[at][0].number, why) for at, why in refused.items()]

    def _embed(self, built: list[tuple[ExportLine, Model]]) -> list[EmbeddedText]:
        """Give each memory its pieces: those of the file where they are this model's, else made anew."""
        carried = {
            at: carried_pieces(line.record["content"], line.whole.get("pieces"))
            for at, (line, _) in enumerate(built)
        }
        ready = {at: pieces for at, pieces in carried.items() if pieces is not None}
        rest = [(at, row) for at, (_, row) in enumerate(built) if at not in ready]
        if rest and self.encoder is None:
            self.encoder = available_encoder(timeout_s=MODEL_WAIT_S)
        passages = [passage_of(row) for _, row in rest if isinstance(row, Memory)]
        made = embed_passages(passages, encoder=self.encoder) if rest else []
        ready |= {at: pieces for (at, _), pieces in zip(rest, made, strict=True)}
        return [ready[at] for at in range(len(built))]

    def _follow(
        self,
        kind: RecordKind,
        kept: Sequence[tuple[int, ExportLine, Model]],
        embedded: Sequence[EmbeddedText],
    ) -> None:
        """Write what hangs on new rows: pieces, evidence; note names and successors."""
        pieces, proofs = list[tuple[Memory, EmbeddedText]](), list[RelationEvidence]()
        for at, line, row in kept:
            self._remember(kind, row, line)
            if isinstance(row, Group):
                # The column sets itself on every save.
                Group.objects.filter(pk=row.pk).update(updated_at=line.record["updated_at"])
            elif isinstance(row, Memory):
                pieces += [(row, embedded[at])] if embedded else []
                self._remember_successor(line)
            elif kind is RELATION and isinstance(row, Relation):
                found = [self.targets.memory(id_) for id_ in _evidence(line)]
                proofs += [RelationEvidence(relation=row, memory=memory) for memory in found if memory]
        insert_pieces(pieces)
        RelationEvidence.objects.bulk_create(proofs)

    def _tie_successors(self) -> int:
        """Point superseded rows to what took their place; give how many successors are missing."""
        loose, names = 0, list(self.successors)
        for start in range(0, len(names), LINES_AT_ONCE):
            with transaction.atomic():
                loose += self._tie(names[start : start + LINES_AT_ONCE])
        return loose

    def _tie(self, names: list[str]) -> int:
        rows = {str(r.id): r for r in Memory.objects.filter(id__in=names, superseded_by=None)}
        ends = Memory.objects.filter(id__in=[self.successors[name] for name in rows])
        found = {str(r.id): r for r in ends}
        for name, row in rows.items():
            row.superseded_by = found.get(self.successors[name])
        Memory.objects.bulk_update(rows.values(), ["superseded_by"], batch_size=100)
        return sum(row.superseded_by is None for row in rows.values())


def _with_records(raw: list[RawLine]) -> tuple[list[LineFault], list[ExportLine]]:
    faults, lines = [], []
    for line in raw:
        record = line.value.get("row")
        if isinstance(record, dict):
            lines.append(ExportLine(line.number, record, line.value))
        else:
            faults.append(LineFault(line.number, "it has no 'row'"))
    return faults, lines


def _evidence(line: ExportLine) -> list[str]:
    """Give the ids of the memories that prove a relation."""
    named = line.whole.get("evidence")
    return [id_ for id_ in named if is_id(id_)] if isinstance(named, list) else []
