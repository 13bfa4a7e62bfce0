"""Vectors that are owed: texts stored while no model was there are embedded once there is one."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from access.actor import WRITE, Actor
from access.errors import NotPermitted
from memories.embedding import Encoder, get_encoder
from memories.models import Memory, Piece
from memories.pieces import Embedded, claim_index, embed_passages, passage_of, piece_rows

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


def is_owed() -> bool:
    """Say whether any vector is owed; one look at an index."""
    return owed_pieces().exists()


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
    done = pieces = skipped = 0
    encoder = get_encoder(timeout_s=MODEL_WAIT_S) if keys else None
    for at in range(0, len(keys), BATCH_MEMORIES):
        batch = list(Memory.objects.filter(key__in=keys[at : at + BATCH_MEMORIES]).order_by("key"))
        written = _embed(batch, encoder)
        done += len(written)
        pieces += sum(written)
        skipped += len(batch) - len(written)
    return BackfillResult(done, pieces, skipped, owed_pieces().values("memory_id").distinct().count())


def _embed(memories: Sequence[Memory], encoder: Encoder | None) -> list[int]:
    """Embed and write; give the number of pieces of each memory that was written."""
    passages = [passage_of(memory) for memory in memories]
    embedded = embed_passages(passages, encoder=encoder)
    with transaction.atomic():
        counts = [_write(memory, parts) for memory, parts in zip(memories, embedded, strict=True)]
    return [count for count in counts if count]


def _write(memory: Memory, embedded: Embedded) -> int:
    """Put the real pieces in place of the owed one; 0 where another process did, or the memory is gone.

    A row's content never changes, so what was embedded outside the transaction is still its text.
    """
    deleted, _ = owed_pieces().filter(memory=memory).delete()
    if not deleted or Piece.objects.filter(memory=memory, model=embedded.model).exists():
        return 0
    # Before the pieces: the trigger that fills the vector index asks which model it holds.
    claim_index(embedded.model)
    return len(Piece.objects.bulk_create(piece_rows(memory, embedded)))
