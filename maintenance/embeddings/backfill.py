"""Vectors that are owed: texts stored while no model was there are embedded once there is one."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from access.actor import WRITE, Actor
from access.errors import NotPermitted
from memories.embedding import Encoder, configured_model_id, get_encoder
from memories.models import Memory, Piece
from memories.store.pieces import (
    EmbeddedText,
    claim_index,
    embed_passages,
    indexed_model,
    passage_of,
    piece_rows,
)

BATCH_MEMORIES = 16  # per transaction: writers wait for one of these at most
MODEL_WAIT_S = 60.0  # a job can wait longer than a person


@dataclass(frozen=True)
class BackfillResult:
    """What embed_owed() did: memories and pieces embedded, memories others were first at, and how many are left."""

    memories: int
    pieces: int
    skipped: int
    still_owed: int


def owed_pieces() -> QuerySet[Piece]:
    """Give the pieces that have no vector yet."""
    return Piece.objects.filter(embedding__isnull=True)


def stray_memories() -> QuerySet[Memory]:
    """Give the memories that have vectors, but none of the index's model: they came while it was exchanged."""
    indexed = indexed_model()
    mine = Piece.objects.filter(memory=OuterRef("pk"), model=indexed)
    # Below and above, not "other than": both are one look at the index of models.
    strays = Piece.objects.filter(Q(model__gt="", model__lt=indexed) | Q(model__gt=indexed))
    return Memory.objects.filter(~Exists(mine), key__in=strays.values("memory_id"))


def is_owed() -> bool:
    """Say whether any vector is owed; a look at two indexes."""
    return owed_pieces().exists() or (_can_mend_strays() and stray_memories().exists())


def _can_mend_strays() -> bool:
    """Without it each tick would embed what a re-embed is about to do, or what this model cannot."""
    return configured_model_id() == indexed_model()


def embed_owed(actor: Actor, *, limit: int = 200) -> BackfillResult:
    """Embed up to `limit` memories whose vectors are owed, oldest first.

    Embeds outside any transaction, then writes a few memories at a time. May run twice at once, or be killed:
    nothing is embedded twice into the index, and the next call goes on.

    Raises:
        ModelUnavailable: there is no model; nothing was changed.
        NotPermitted: the actor may not write everywhere.
    """
    if not (actor.all_groups and actor.may(WRITE)):
        raise NotPermitted("Only who may write everywhere can fill up vectors.")
    keys = list(owed_pieces().order_by("memory_id").values_list("memory_id", flat=True).distinct()[:limit])
    if _can_mend_strays():
        keys += stray_memories().order_by("key").values_list("key", flat=True)[: limit - len(keys)]
    done = pieces = skipped = 0
    encoder = _encoder() if keys else None
    for at in range(0, len(keys), BATCH_MEMORIES):
        batch = list(Memory.objects.filter(key__in=keys[at : at + BATCH_MEMORIES]).order_by("key"))
        written = _embed(batch, encoder)
        done += len(written)
        pieces += sum(written)
        skipped += len(batch) - len(written)
    return BackfillResult(done, pieces, skipped, owed_pieces().values("memory_id").distinct().count())


def _encoder() -> Encoder:
    """Give the encoder of the index's vectors where this model can make them, else the settings' own."""
    encoder = get_encoder(timeout_s=MODEL_WAIT_S)
    return encoder.of_model(indexed_model()) or encoder


def _embed(memories: Sequence[Memory], encoder: Encoder | None) -> list[int]:
    """Embed and write; give the number of pieces of each memory that was written."""
    passages = [passage_of(memory) for memory in memories]
    embedded = embed_passages(passages, encoder=encoder)
    with transaction.atomic():
        counts = [_write(memory, parts) for memory, parts in zip(memories, embedded, strict=True)]
    return [count for count in counts if count]


def _write(memory: Memory, embedded: EmbeddedText) -> int:
    """Put the real pieces in place of the owed one; 0 where another process did, or the memory is gone.

    A row's content never changes, so what was embedded outside the transaction is still its text.
    """
    owed_pieces().filter(memory=memory).delete()
    is_there = Memory.objects.filter(pk=memory.pk).exists()
    if not is_there or Piece.objects.filter(memory=memory, model=embedded.model).exists():
        return 0
    # Before the pieces: the trigger that fills the vector index asks which model it holds.
    claim_index(embedded.model)
    return len(Piece.objects.bulk_create(piece_rows(memory, embedded)))
