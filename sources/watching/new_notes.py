"""New memories as new files: in folders of mode sync, each becomes a `.locus` file below `loci/`.

The group's audit log says what is new; `WatchedFolder.written_seq` is how far it was read. What came from a file, turns of
conversations and entities have no file.
"""

import os
from pathlib import Path
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Max

from access.audit.chains import OWN, group_chain
from access.audit.operations import Operation
from access.groups.guarding import mask_words
from access.models import AuditEntry
from memories.models import Memory
from memories.queries.versions import heads_of
from memories.types import State, Trust, Type
from sources.importing.formats.notes.locus import ENDINGS, title_of
from sources.importing.reading.values import ref_of
from sources.models import WatchedFile, WatchedFolder, WatchedSection, WatchMode
from sources.sharing.notes import SLUG_CHARS, note_of
from sources.slug import slug_of
from sources.watching.disk import signature_of
from sources.watching.file_to_memory import ROWS_AT_ONCE, ScanOutcome
from sources.watching.folders import SOURCE
from sources.watching.front_matter import with_own_keys
from sources.watching.note_text import WHOLE, read_note
from sources.watching.replacing import NEW, sha_of, write_new

FOLDER: Final = "loci"
COUNTS: Final = frozenset({Trust.ACTIVE, Trust.VERIFIED})
WAITED: Final = frozenset({Trust.CANDIDATE, Trust.QUARANTINED})
MOST_NAMES: Final = 1000


def write_new_notes(folder: WatchedFolder, outcome: ScanOutcome) -> None:
    """Write a file for each memory that the group got since the last call. The first call only records the position.

    Of several synchronised folders of a group, the first one gets the files.
    """
    rows = AuditEntry.objects.filter(origin=OWN, chain=group_chain(folder.group.id))
    end = rows.aggregate(last=Max("seq"))["last"] or 0
    if folder.written_seq is None or folder.written_seq > end or not is_first(folder):
        note_read(folder, end)
        return
    wanted = rows.filter(seq__gt=folder.written_seq, operation__in=(Operation.STORE, Operation.TRUST))
    entries = list(wanted.select_related("payload_row").order_by("seq")[:ROWS_AT_ONCE])
    ids = [row.memory_id for row in entries if row.memory_id is not None and makes_new(row)]
    for memory in without_file(folder, ids):
        write_note(folder, memory, outcome)
    note_read(folder, entries[-1].seq if len(entries) == ROWS_AT_ONCE else end)


def is_first(folder: WatchedFolder) -> bool:
    """True if no synchronised folder of the group is older."""
    others = WatchedFolder.objects.filter(group=folder.group_id, mode=WatchMode.SYNC, key__lt=folder.key)
    return not others.exists()


def note_read(folder: WatchedFolder, seq: int) -> None:
    """Record the last audit row read."""
    if folder.written_seq != seq:
        folder.written_seq = seq
        WatchedFolder.objects.filter(pk=folder.pk).update(written_seq=seq)


def makes_new(row: AuditEntry) -> bool:
    """True for a row by which a memory begins to count: it was stored, or a candidate was approved."""
    if row.operation == Operation.STORE:
        return True
    trust = row.payload.get("changes", {}).get("trust", []) if hasattr(row, "payload_row") else []
    return bool(trust) and trust[0] in WAITED and trust[-1] in COUNTS


def without_file(folder: WatchedFolder, ids: list[UUID]) -> list[Memory]:
    """The current versions of these memories that count, belong to the group and are in none of its files."""
    rows = list(
        Memory.objects.filter(id__in=ids, group=folder.group_id)
        .exclude(source__startswith=SOURCE)
        .exclude(type=Type.ENTITY)
        .exclude(type=Type.EPISODIC, thread__isnull=False)
        .select_related("root")
    )
    heads = {head.key: head for head in heads_of(rows).values()}
    live = [head for head in heads.values() if head.state == State.LIVE and head.trust in COUNTS]
    roots = {head.root_key for head in live}
    sections = WatchedSection.objects.filter(file__folder__group=folder.group_id).select_related("memory")
    filed = {
        row.memory.root_key
        for column in ("memory", "memory__root")
        for row in sections.filter(**{f"{column}__in": roots})
        if row.memory is not None
    }
    found = Memory.objects.filter(key__in=[head.key for head in live if head.root_key not in filed])
    return list(found.select_related("group", "thread", "root").order_by("key"))


def write_note(folder: WatchedFolder, memory: Memory, outcome: ScanOutcome) -> None:
    """Write a memory's file and its rows, or report why not."""
    at = memory.valid_from or memory.created_at
    slug = (
        slug_of(title_of(mask_words(memory.content, group=memory.group)))[:SLUG_CHARS].strip("-_") or "memory"
    )
    first = f"locus-{at:%Y%m%d}-{slug}"
    for number in range(1, MOST_NAMES):
        id_ = first if number == 1 else f"{first}-{number}"
        path = f"{FOLDER}/{id_}{ENDINGS[0]}"
        if WatchedFile.objects.filter(folder=folder, path=path).exists():
            continue  # gone for the moment, maybe
        text = mask_words(note_of(memory, id_), group=memory.group)
        raw = with_own_keys(text, {"loci_id": str(memory.id), "loci_version": str(memory.version)}).encode()
        try:
            with transaction.atomic():
                file = insert_rows(folder, memory, path, raw)
                signature = create(Path(folder.path) / path, raw)
                WatchedFile.objects.filter(pk=file.pk).update(signature=signature)
        except FileExistsError:
            continue
        except OSError as error:
            outcome.counts["not written"] += 1
            folder.note = f"new memories cannot be written: {error.strerror or error}"[:500]
            return
        outcome.counts["written"] += 1
        return


def insert_rows(folder: WatchedFolder, memory: Memory, path: str, raw: bytes) -> WatchedFile:
    """The rows of a new file: its bytes are Loci's own, and its section is in step with the memory."""
    sha = sha_of(raw)
    file = WatchedFile.objects.create(folder=folder, path=path, sha=sha, written=sha, is_made=True)
    [section] = read_note(path, raw).sections
    WatchedSection.objects.create(
        file=file, ref=WHOLE, source_ref=ref_of(path), memory=memory, memory_hash=memory.content_hash,
        body_hash=section.body_hash, labels_hash=section.labels_hash,
        is_exact=section.span is not None and section.body_of(memory.content) == section.body,
    )  # fmt: skip
    return file


def create(path: Path, raw: bytes) -> str:
    """Write a new file as a whole; returns its signature.

    Raises:
        FileExistsError: there is something of this name. OSError: it cannot be written.
    """
    if path.parent.is_symlink():
        raise OSError(f"{path.parent} is a link")
    path.parent.mkdir(mode=0o700, exist_ok=True)
    new = path.with_name(f".{path.name}{NEW}")
    write_new(new, raw, 0o600)
    try:
        os.link(new, path, follow_symlinks=False)  # never over a file, unlike a rename
    finally:
        new.unlink(missing_ok=True)
    return signature_of(path.stat(follow_symlinks=False))
