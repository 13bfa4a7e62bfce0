"""Reads files as evidence: a folder on this machine, or files sent by a client. A second run changes nothing."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Final

from django.db import transaction
from django.utils.crypto import salted_hmac

from access import audit
from access.actor import WRITE, Actor
from access.answers import Answer
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, TooLarge
from access.groups import find_group, find_or_create_group, hold_groups
from access.groups.guarding import mask_words, policy_of
from access.models import Group
from memories.language.cleaning import clean_line
from memories.recall.budget import count_each
from memories.store.pieces import available_encoder
from sources.artifacts.chunking import CountTokens, split_file
from sources.artifacts.guarding import guard_chunks
from sources.artifacts.proofs import adopt_sources
from sources.artifacts.purged import without_purged
from sources.artifacts.reading.documents import Unreadable
from sources.artifacts.reading.files import (
    MAX_DOCUMENT_BYTES,
    FileRules,
    FoundFile,
    check_path,
    kind_of,
    read_text,
    walk_files,
)
from sources.artifacts.writing import ReadFile, retire_artifacts, write_file_chunks
from sources.models import Artifact, ArtifactState, FileKind

_BATCH_FILES: Final = 32  # per transaction: the longest that other writers wait
# More than this many files gone at once, and this share of those known: the folder is probably not there as a whole.
MANY_GONE, SHARE_GONE = 20, 0.5
MAX_CHUNKS: Final = 20_000  # of one file
SENT: Final = "sent"  # source of files that were sent and belong to no folder

Progress = Callable[[int], object]


@dataclass
class IngestReport(Answer):
    """The result of an ingest: counts of files, chunks, files left out and findings."""

    group: str
    source: str
    files: Counter[str] = field(default_factory=Counter)
    chunks: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    dry_run: bool = False

    def add(self, file: ReadFile, chunks: Counter[str], *, is_new: bool) -> None:
        """Count one written file and its chunks."""
        is_changed = chunks["added"] or chunks["moved"] or chunks["retired"]
        self.files["new" if is_new else "changed" if is_changed else "unchanged"] += 1
        self.chunks.update(chunks, refused=file.guarded.refused)
        self.findings += file.guarded.findings

    def as_text(self) -> str:
        """The report in words."""
        lines = [f"Into {self.group}, source {self.source}."]
        for name in ("files", "chunks", "skipped", "findings"):
            counts = ", ".join(f"{count:,} {word}" for word, count in (+getattr(self, name)).most_common())
            if counts:
                lines.append(f"{name.capitalize()}: {counts}.")
        return "\n".join(lines if len(lines) > 1 else [*lines, "No file was found."])


def ingest_path(
    actor: Actor,
    path: Path,
    *,
    group: str | None = None,
    source: str = "",
    rules: FileRules = FileRules(),  # noqa: B008 - frozen
    again: bool = False,
    gone: bool = False,
    dry_run: bool = False,
    on_progress: Progress = lambda done: None,
) -> IngestReport:
    """Read a folder or a file on this machine into a group. For commands alone: a client's path never comes here.

    Paths are kept below the repository or the folder that is named. Files of this folder that are no longer there retire.
    `again` reads files whose bytes have not changed too; `gone` accepts that most known files are gone.

    Raises:
        NotFound: there is nothing at the path.
        Conflict: more than half of the known files are gone.
        NotPermitted, GroupNotFound: the actor may not write in the group.
    """
    place = path.expanduser().resolve()
    if not place.exists():
        raise NotFound(f"There is no file or folder '{path}'.", field="path")
    root = _root_of(place)
    name = mask_words(clean_line(source or root.name or "files", field="source", max_chars=200))
    target = _find_target(actor, group, dry_run=dry_run)
    report = IngestReport(target.slug, name, dry_run=dry_run)
    below = "/".join(place.relative_to(root).parts)
    below = mask_words(below, group=target)
    inside = f"{below}/" if below else ""
    rows = Artifact.objects.filter(group=target, source=name).order_by("key").iterator(2000)
    known = {row.path: row for row in rows if row.path == below or row.path.startswith(inside)}
    run = _Ingest(actor, target, name, report, known, again)
    seen = set[str]()
    found = walk_files(root, place, rules, report.skipped)
    files = (replace(each, path=mask_words(each.path, group=target)) for each in found)
    while batch := list(islice(files, _BATCH_FILES)):
        seen |= {each.path for each in batch}
        run.take([run.read(each) for each in batch])
        on_progress(len(batch))
    missing = [row for path_, row in known.items() if path_ not in seen and row.state == ArtifactState.LIVE]
    _check_gone(missing, known, gone=gone)
    run.retire(missing)
    run.log()
    return report


@dataclass
class _Ingest:
    """One ingest into a group: the files known from earlier runs, and the outcome per file."""

    actor: Actor
    group: Group
    source: str
    report: IngestReport
    known: dict[str, Artifact]
    again: bool = False

    def __post_init__(self) -> None:
        encoder = available_encoder()
        self.policy = policy_of(self.group)
        self.count: CountTokens = lambda texts: count_each(texts, encoder)

    def read(self, found: FoundFile) -> ReadFile | None:
        """A file of a folder with its guarded chunks; None if unchanged or unreadable."""
        try:
            data = found.place.read_bytes()
        except OSError as error:
            self.report.skipped[f"not readable ({error.strerror or 'error'})"] += 1
            return None
        return self.read_bytes(found.path, data, found.kind)

    def read_bytes(self, path: str, data: bytes, kind: FileKind) -> ReadFile | None:
        """The bytes of a file, split and guarded; None if unchanged or not text."""
        digest = salted_hmac("loci.artifact", data, algorithm="sha256").hexdigest()
        row = self.known.get(path)
        if row is not None and row.digest == digest and not self.again:
            self.report.files["unchanged"] += 1
            return None
        try:
            chunks = split_file(read_text(data, kind), kind, path, self.count)
        except Unreadable as why:
            self.report.skipped[str(why)] += 1
            return None
        if not chunks or len(chunks) > MAX_CHUNKS:
            self.report.skipped["empty" if not chunks else f"more than {MAX_CHUNKS:,} chunks"] += 1
            return None
        guarded = without_purged(guard_chunks(chunks, self.policy), self.group)
        return ReadFile(path, kind, len(data), digest, guarded)

    def take(self, files: Sequence[ReadFile | None]) -> None:
        read = [each for each in files if each is not None]
        if not read:
            return
        with transaction.atomic():
            hold_groups([self.group.key])
            adopt_sources([self.known[file.path] for file in read if file.path in self.known])
            written = [
                write_file_chunks(
                    self.group, self.source, file, author=self.actor.name, found=self.known.get(file.path)
                )
                for file in read
            ]
            if self.report.dry_run:
                transaction.set_rollback(True)
        for file, chunks in zip(read, written, strict=True):
            self.report.add(file, chunks, is_new=file.path not in self.known)

    def retire(self, missing: Sequence[Artifact]) -> None:
        if not missing:
            return
        with transaction.atomic():
            hold_groups([self.group.key])
            adopt_sources(missing)
            self.report.chunks["retired"] += retire_artifacts(missing)
            self.report.files["retired"] += len(missing)
            if self.report.dry_run:
                transaction.set_rollback(True)

    def log(self) -> None:
        body = IngestReport.json(self.report)
        if self.report.dry_run or set(body["files"]) <= {"unchanged"}:
            return
        payload = {"action": "ingest", **body}
        with transaction.atomic():
            audit.append(
                self.actor,
                Operation.INGEST,
                group=self.group.id,
                subject=f"files:{self.source}",
                payload=payload,
            )


def ingest_content(
    actor: Actor,
    files: Sequence[tuple[str, bytes]],
    *,
    group: str | None = None,
    source: str = "",
    dry_run: bool = False,
) -> IngestReport:
    """Store files sent by a client, as pairs of path and bytes. Paths are names only: nothing is opened.

    Raises:
        InvalidInput, TooLarge: a path or a size is not allowed, or a file is not text.
        NotPermitted, GroupNotFound: the actor may not write in the group.
    """
    sent = [(check_path(path), data) for path, data in files]
    for path, data in sent:
        if len(data) > MAX_DOCUMENT_BYTES:
            raise TooLarge(
                f"'{mask_words(path)}' has {len(data):,} bytes; a file may have {MAX_DOCUMENT_BYTES:,}.",
                field="content",
            )
    name = mask_words(clean_line(source or SENT, field="source", max_chars=200))
    target = _find_target(actor, group, dry_run=dry_run)
    report = IngestReport(target.slug, name, dry_run=dry_run)
    checked = [(mask_words(path, group=target), kind_of(path), data) for path, data in sent]
    rows = Artifact.objects.filter(group=target, source=name, path__in=[path for path, _, _ in checked])
    run = _Ingest(actor, target, name, report, {row.path: row for row in rows})
    run.take([run.read_bytes(path, data, kind) for path, kind, data in checked])
    if len(checked) == 1 and report.skipped:
        raise InvalidInput(
            f"'{checked[0][0]}' cannot be read as text: {next(iter(report.skipped))}.",
            hint="Send UTF-8 text, a PDF or a Word file.",
            field="content",
        )
    run.log()
    return report


def _find_target(actor: Actor, group: str | None, *, dry_run: bool) -> Group:
    """The group to write in; a dry run does not create one."""
    if dry_run:
        return find_group(actor, group, right=WRITE)
    return find_or_create_group(actor, group).group


def _root_of(place: Path) -> Path:
    """The folder that paths are relative to: the enclosing repository, else the named folder."""
    folder = place if place.is_dir() else place.parent
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


def _check_gone(missing: Sequence[Artifact], known: dict[str, Artifact], *, gone: bool) -> None:
    """Raise Conflict if most known files are gone: a missing disk is likelier than a clean-up."""
    live = sum(row.state == ArtifactState.LIVE for row in known.values())
    if not gone and len(missing) > MANY_GONE and len(missing) > live * SHARE_GONE:
        raise Conflict(
            f"{len(missing):,} of {live:,} known files are gone; none of them was retired.",
            hint="Is the folder complete? If it is, repeat the command with --gone.",
            field="path",
        )
