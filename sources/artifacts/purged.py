"""Purged texts in files: their chunks are deleted with them, and a file that is read again does not bring them back."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from django.db.models import Q, Value
from django.db.models.functions import Length, StrIndex

from access.actor import READ, Actor
from access.models import Group
from memories.language.cleaning import fold
from memories.language.dress.quotes import Quotes
from memories.models import Tombstone, TombstoneKind
from memories.store.places import BLANKED, DELETED, PurgedTexts, TextPlace
from memories.store.withdrawn.marks import find_all_withdrawn, sentences_of
from memories.types import Scope
from sources.artifacts.chunking.blocks import SEPARATOR
from sources.artifacts.guarding import GuardedFile
from sources.artifacts.writing import count_chunks
from sources.models import Artifact, Chunk, ChunkProof, ChunkState

MAX_SENTENCES: Final = 8  # the longest sentences of a text; each is searched for in every chunk
_MIN_SENTENCE_CHARS: Final = 40  # shorter sentences occur in other texts by chance
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])\s+|\n+")
_PARAGRAPH_END: Final = re.compile(r"\n\s*\n")


def _purge_chunks(doomed: PurgedTexts) -> int:
    """Delete the chunks that hold a purged text, and the file's digest, so that another ingest reads it again.

    Files of a group that a memory left are the group's own.
    """
    if doomed.within is not None:
        return 0
    # A long text fills several chunks, of which the first and the last may have other lines too.
    parts = Quotes(part for text in doomed.texts for part in _parts_of(text))
    keys = {key for key, _ in parts.rows(Chunk.objects.all(), "content")}
    long = Chunk.objects.alias(chars=Length("content")).filter(chars__gte=_MIN_SENTENCE_CHARS)
    for text in doomed.texts:
        keys |= set(
            long.alias(at=StrIndex(Value(text), "content")).filter(at__gt=0).values_list("key", flat=True)
        )
    rows = list(Chunk.objects.filter(key__in=keys).only("key", "artifact"))
    Chunk.objects.filter(key__in=[row.key for row in rows]).delete()
    for artifact in Artifact.objects.filter(key__in={row.artifact_id for row in rows}):
        Artifact.objects.filter(pk=artifact.pk).update(digest="")
        count_chunks(artifact)
    return len(rows)


def _find_mentions(actor: Actor, pattern: re.Pattern[str]) -> list[str]:
    """The locators of chunks in readable groups whose folded text matches."""
    rows = (
        Chunk.objects.select_related("group")
        .only("locator", "content", "state", "group__slug")
        .order_by("key")
    )
    return [
        f"file {row.group.slug}: {row.locator}{'' if row.state == ChunkState.LIVE else f' ({row.state})'}"
        for row in rows.iterator(500)
        if actor.may(READ, row.group_id) and pattern.search(fold(f"{row.locator} {row.content}"))
    ]


CHUNK_PLACES: Final = (
    TextPlace("chunks of files", "chunks of files contain it", Chunk, ("content",), DELETED, group="group__id", names=("id",),
          erases=_purge_chunks, mentions=_find_mentions),
    TextPlace("headings of chunks", "headings of chunks contain it", Chunk, ("heading",), BLANKED,
          group="group__id", names=("id",)),
    # A file whose name says the text goes as a whole: under another name, reading it again would add it a second time.
    TextPlace("files", "names of files contain it", Artifact, ("source", "path"), DELETED, is_own=True, group="group__id",
          names=("id",)),
    TextPlace("places in files", "places of chunks in files contain it", Chunk, ("locator",), DELETED, is_own=True,
          group="group__id", names=("id",)),
    TextPlace("proofs", "proofs from files contain it", ChunkProof, ("locator",), DELETED, is_own=True,
          group="memory__group__id", names=("id",)),
)  # fmt: skip


def _parts_of(text: str) -> Iterator[str]:
    """A text, its longest sentences, and the first and last long one."""
    yield text
    sentences = _SENTENCE_END.split(text)
    long = [part for part in sentences if len(part) >= _MIN_SENTENCE_CHARS]
    yield from (*long[:1], *long[-1:], *sorted(long, key=len, reverse=True)[:MAX_SENTENCES])


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def without_purged(file: GuardedFile, group: Group) -> GuardedFile:
    """The file without chunks that hold a text that was purged in the group; they count as refused.

    A text is known by its keyed hash alone, so only paragraphs, lines and sentences as a whole are recognised.
    """
    tombstones = Tombstone.objects.filter(kind=TombstoneKind.PURGED, lifted_at=None)
    if not tombstones.filter(Q(group=group) | Q(scope=Scope.GLOBAL)).exists():
        return file
    parts = [
        (at, part)
        for at, each in enumerate(file.chunks)
        for paragraph in (each.text, *_PARAGRAPH_END.split(each.text), *each.heading.split(SEPARATOR))
        for part in {*sentences_of(paragraph), *sentences_of(_squeezed(paragraph))}
    ]
    found = find_all_withdrawn((group.key, Scope.GROUP, part) for _, part in parts)
    hits = {
        (at, part)
        for (at, part), withdrawn in zip(parts, found, strict=True)
        if withdrawn is not None and withdrawn.tombstone.kind == TombstoneKind.PURGED
    }
    if not hits:
        return file
    kept = []
    for at, each in enumerate(file.chunks):
        purged = {part for place, part in hits if place == at}
        if any(part in each.text or part in _squeezed(each.text) for part in purged):
            continue
        kept.append(replace(each, heading="") if purged else each)
    return replace(file, chunks=kept, refused=file.refused + len(file.chunks) - len(kept))
