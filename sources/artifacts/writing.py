"""Writes the chunks of one file: unchanged texts keep their rows and vectors. Callers hold the transaction."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Sum
from django.utils import timezone

from access.models import Group
from memories.language.cleaning import content_hash
from memories.language.word_forms import forms_of
from memories.recall.scoring import word_count
from sources.artifacts.chunking import FileChunk
from sources.artifacts.guarding import GuardedFile
from sources.artifacts.proofs import mark_stale
from sources.models import SHA_DIGITS, Artifact, ArtifactState, Chunk, ChunkState, FileKind
from storage.bulk import batches

MAX_FORMS_CHARS: Final = 4000
MOVED: Final = ("start_line", "end_line", "locator", "heading")


@dataclass(frozen=True)
class ReadFile:
    """A file read for storing: path, kind, bytes, keyed hash and guarded chunks."""

    path: str
    kind: FileKind
    size: int
    digest: str
    guarded: GuardedFile


def write_file_chunks(
    group: Group, source: str, file: ReadFile, *, author: str, found: Artifact | None
) -> Counter[str]:
    """Store the chunks of a file, replacing only what changed, and count them; `found` is its existing row."""
    now = timezone.now()
    artifact = found or Artifact(group=group, source=source, path=file.path)
    artifact.kind, artifact.size, artifact.digest = file.kind, file.size, file.digest
    artifact.state, artifact.retired_at, artifact.updated_at = ArtifactState.LIVE, None, now
    artifact.findings, artifact.author_name = dict(sorted(file.guarded.findings.items())), author[:300]
    artifact.save()
    same: defaultdict[str, list[Chunk]] = defaultdict(list)
    if found is not None:
        for row in (
            artifact.chunks.exclude(state=ChunkState.RETIRED).defer("embedding").order_by("-start_line")
        ):
            same[row.text_hash].append(row)
    fresh, moved, kept = list[Chunk](), list[Chunk](), 0
    for each in file.guarded.chunks:
        row = _chunk_row(artifact, each)
        rows = same[row.text_hash]
        if not rows:
            fresh.append(row)
            continue
        before = rows.pop()
        if _changed_place(before, row):
            moved.append(before)
        kept += 1
    retired = _retire_chunks([row for rows in same.values() for row in rows], now)
    _move_chunks(moved)
    once = {(row.locator, row.text_hash): row for row in fresh}  # parts of a long line may be equal
    Chunk.objects.bulk_create(once.values(), batch_size=200)
    count_chunks(artifact)
    return Counter(added=len(fresh), moved=len(moved), unchanged=kept - len(moved), retired=retired)


def _chunk_row(artifact: Artifact, chunk: FileChunk) -> Chunk:
    digest = content_hash(chunk.text)
    place = f"L{chunk.start}" if chunk.start == chunk.end else f"L{chunk.start}-L{chunk.end}"
    return Chunk(
        artifact=artifact,
        group_id=artifact.group_id,
        state=chunk.state,
        words=word_count(chunk.text),
        tokens=chunk.tokens,
        weight=chunk.weight,
        start_line=chunk.start,
        end_line=chunk.end,
        locator=f"{artifact.path}#{place}@{digest[:SHA_DIGITS]}",
        text_hash=digest,
        heading=chunk.heading[:300],
        content=chunk.text,
        forms=forms_of(f"{chunk.text} {artifact.path}")[:MAX_FORMS_CHARS],
        findings=chunk.findings,
    )


def _changed_place(row: Chunk, new: Chunk) -> bool:
    """Move a row to the current place of its text; True if that is a new place."""
    if all(getattr(row, name) == getattr(new, name) for name in MOVED):
        return False
    for name in MOVED:
        setattr(row, name, getattr(new, name))
    return True


def _move_chunks(moved: Sequence[Chunk]) -> None:
    """Save new places. Equal texts may swap places, so the old places are freed first."""
    if not moved:
        return
    if len({row.text_hash for row in moved}) < len(moved):
        for row in moved:
            Chunk.objects.filter(pk=row.pk).update(locator=f"moving {row.pk}")
    Chunk.objects.bulk_update(moved, MOVED, batch_size=100)


def _retire_chunks(rows: Sequence[Chunk], now: datetime) -> int:
    """Take chunks out of every search, and report the memories that they proved."""
    keys = [row.key for row in rows]
    for part in batches(keys):
        Chunk.objects.filter(key__in=part).update(state=ChunkState.RETIRED, retired_at=now)
        mark_stale(part, now)
    return len(keys)


def retire_artifacts(rows: Sequence[Artifact]) -> int:
    """Retire files that are gone, with their chunks; returns the number of chunks."""
    now, count = timezone.now(), 0
    for row in rows:
        chunks = list(row.chunks.exclude(state=ChunkState.RETIRED).only("key"))
        count += _retire_chunks(chunks, now)
        Artifact.objects.filter(pk=row.pk).update(
            state=ArtifactState.RETIRED, retired_at=now, chunk_count=0, words=0, digest=""
        )
    return count


def count_chunks(artifact: Artifact) -> None:
    """Update the file's numbers of live chunks and words, which the keyword search uses."""
    live = Chunk.objects.filter(artifact=artifact, state=ChunkState.LIVE)
    words = live.aggregate(words=Sum("words"))["words"] or 0
    Artifact.objects.filter(pk=artifact.pk).update(chunk_count=live.count(), words=words)
