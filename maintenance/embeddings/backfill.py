"""Backfill of missing vectors: memories stored without a model are embedded once there is one."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from access.actor import WRITE, Actor
from access.errors import NotPermitted
from maintenance.embeddings.probe import has_unprobed, probe_waiting
from memories.embedding import Encoder, ModelUnavailable, TextRefused, configured_model_id, get_encoder
from memories.embedding.concurrency import ENDING
from memories.models import Memory, Piece
from memories.store.pieces import (
    EmbeddedText,
    claim_index,
    embed_passages,
    indexed_model,
    passage_of,
    piece_rows,
)
from storage.bulk import batches

log = logging.getLogger(__name__)
# A text beyond it is embedded alone and after the others, so that a few of them do not keep others' waiting.
LONG_CHARS = 20_000
BATCH_MEMORIES = 16  # per transaction: the longest that other writers wait
MODEL_WAIT_S = 60.0  # a job can wait longer than a person


@dataclass(frozen=True)
class BackfillResult:
    """Memories and pieces that embed_owed() embedded, memories that another process did first or no encoder reads, and how many are left."""

    memories: int
    pieces: int
    skipped: int
    still_owed: int


def owed_pieces() -> QuerySet[Piece]:
    """Pieces without a vector."""
    return Piece.objects.filter(embedding__isnull=True)


def _stray_memories() -> QuerySet[Memory]:
    """Memories that have vectors, but none of the index's model: they were stored while the index was switched."""
    indexed = indexed_model()
    mine = Piece.objects.filter(memory=OuterRef("pk"), model=indexed)
    # Two ranges instead of "not equal", which could not use the index on the model.
    strays = Piece.objects.filter(Q(model__gt="", model__lt=indexed) | Q(model__gt=indexed))
    return Memory.objects.filter(~Exists(mine), key__in=strays.values("memory_id"))


def is_owed() -> bool:
    """True if any vector is missing, or a text waits to be compared with the withdrawn ones; reads indexes alone."""
    return owed_pieces().exists() or (_can_embed_strays() and _stray_memories().exists()) or has_unprobed()


def _can_embed_strays() -> bool:
    """True if the configured model made the index. Otherwise each tick would do the work of a re-embed, or fail at it."""
    return configured_model_id() == indexed_model()


def embed_owed(actor: Actor, *, limit: int = 200, seconds: float = inf) -> BackfillResult:
    """Embed up to `limit` memories whose vectors are missing, oldest first, long texts last; begin none after `seconds`.

    Stops when the process is to end.

    Embeds outside any transaction, then writes a few memories at a time. May run twice at once, or be killed: no memory
    is indexed twice, and the next call continues. Texts that waited for their vectors to be compared with the withdrawn
    ones are compared at the end.

    Raises:
        ModelUnavailable: there is no model; nothing was changed.
        NotPermitted: the actor may not write in all groups.
    """
    if not (actor.all_groups and actor.may(WRITE)):
        raise NotPermitted("Only an actor that may write in all groups can add missing vectors.")
    began = time.monotonic()
    keys = [*_owed_keys(is_long=False, limit=limit)]
    long_ones = [*_owed_keys(is_long=True, limit=limit - len(keys))]
    if _can_embed_strays():
        keys += (
            _stray_memories()
            .order_by("key")
            .values_list("key", flat=True)[: limit - len(keys) - len(long_ones)]
        )
    done = pieces = skipped = 0
    encoder = _index_encoder() if keys or long_ones else None
    for batch_keys in [*batches(keys, BATCH_MEMORIES), *batches(long_ones, 1)]:
        if time.monotonic() - began > seconds:
            break
        batch = list(
            Memory.objects.filter(key__in=batch_keys).select_related("group", "thread").order_by("key")
        )
        try:
            batch, embedded = _embed_readable(batch, encoder)
        except ModelUnavailable:
            if not ENDING.is_set():
                raise
            break
        with transaction.atomic():
            counts = [_write_pieces(memory, parts) for memory, parts in zip(batch, embedded, strict=True)]
        written = [count for count in counts if count]
        done += len(written)
        pieces += sum(written)
        skipped += len(batch_keys) - len(written)
    probe_waiting(actor, limit=limit)
    return BackfillResult(done, pieces, skipped, owed_pieces().values("memory_id").distinct().count())


def _embed_readable(
    batch: Sequence[Memory], encoder: Encoder | None
) -> tuple[list[Memory], list[EmbeddedText]]:
    """Embed a batch; a text that makes the encoder raise is left out and logged, so that the others need not wait.

    Raises:
        Exception: the encoder's, if it reads none of several texts.
    """
    try:
        return [*batch], embed_passages([passage_of(memory) for memory in batch], encoder=encoder)
    except Exception as error:
        if _is_of_all(error):
            raise
        read: list[Memory] = []
        embedded: list[EmbeddedText] = []
        for memory in batch:
            try:
                embedded += embed_passages([passage_of(memory)], encoder=encoder)
                read.append(memory)
            except Exception as one:
                if _is_of_all(one):
                    raise
                log.exception("the text of %s cannot be embedded", memory.id)
        if len(batch) > 1 and not read:
            raise
        return read, embedded


def _is_of_all(error: Exception) -> bool:
    """Whether the encoder fails, and not at this text alone."""
    return isinstance(error, ModelUnavailable) and not isinstance(error, TextRefused)


def _owed_keys(*, is_long: bool, limit: int) -> QuerySet[Piece, int]:
    """Keys of up to `limit` memories without vectors, oldest first; they have one piece, as long as their text."""
    in_size = Q(end__gt=LONG_CHARS) if is_long else Q(end__lte=LONG_CHARS)
    found = owed_pieces().filter(in_size).order_by("memory_id")
    return found.values_list("memory_id", flat=True).distinct()[:limit]


def _index_encoder() -> Encoder:
    """The encoder of the index's model if the installed model can act as it, else the configured one."""
    indexed = indexed_model()
    encoder = get_encoder(indexed, timeout_s=MODEL_WAIT_S)
    return encoder.of_model(indexed) or encoder


def _write_pieces(memory: Memory, embedded: EmbeddedText) -> int:
    """Replace the missing pieces by embedded ones; return their number, 0 if another process was first or the memory is gone.

    A row's content never changes, so the text embedded outside the transaction is still its text.
    """
    owed_pieces().filter(memory=memory).delete()
    exists = Memory.objects.filter(pk=memory.pk).exists()
    if not exists or Piece.objects.filter(memory=memory, model=embedded.model).exists():
        return 0
    # Before the pieces: the trigger that fills the vector index reads which model it holds.
    claim_index(embedded.model, embedded.vectors.shape[1])
    return len(Piece.objects.bulk_create(piece_rows(memory, embedded)))
