"""Re-embed all memories with the configured model and window while the store is in use.

New pieces are written next to the old ones, which keep answering until the last new one exists; then the index is
switched in one transaction. After a kill, the next run continues: what was written stays.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, QuerySet

from access import audit
from access.actor import Actor, require_admin_of_all
from access.audit.operations import Operation
from access.errors import Unavailable
from memories.embedding import Encoder, configured_model_id, get_encoder
from memories.models import Memory, Piece
from memories.search.base import search_index
from memories.store.pieces import claim_index, embed_passages, indexed_model, passage_of, piece_rows
from storage.bulk import batches
from storage.progress import Progress, ignore_progress

_EMBED_BATCH = 64  # memories; the encoder sorts them by length and runs eight at a time
_WRITE_BATCH = 16  # memories per transaction: the longest that other writers wait
_DELETE_BATCH = 200
MODEL_WAIT_S = 120.0
_MAX_ROUNDS = 50  # each embeds only what was stored during the previous one


@dataclass(frozen=True)
class ReembedPlan:
    """What a re-embed would do: the present model, the target model, and how many memories lack the target's vectors."""

    indexed: str
    target: str
    memories: int
    lacking: int

    @property
    def is_done(self) -> bool:
        """True if the index holds the target model's vectors of every memory."""
        return self.indexed in ("", self.target) and not self.lacking


@dataclass(frozen=True)
class ReembedResult:
    """What a re-embed did."""

    before: str
    model: str
    memories: int
    pieces: int
    switched: bool
    pieces_deleted: int


def plan_reembed(actor: Actor) -> ReembedPlan:
    """What a re-embed would do; read-only."""
    require_admin_of_all(actor, "re-embed the memories")
    target = configured_model_id()
    return ReembedPlan(indexed_model(), target, Memory.objects.count(), lacking(target).count())


def reembed(actor: Actor, *, progress: Progress = ignore_progress) -> ReembedResult:
    """Embed every memory with the configured model, switch the index, and delete the old vectors.

    A search never compares vectors of two models: it uses the old ones before the switch and the new ones after it.

    Raises:
        NotPermitted: the actor does not administer all groups.
        ModelUnavailable: the model is not installed; nothing was changed.
        Unavailable: memories were stored faster than they could be embedded; what was embedded stays.
    """
    require_admin_of_all(actor, "re-embed the memories")
    encoder = get_encoder(timeout_s=MODEL_WAIT_S)
    target, before = encoder.model_id, indexed_model()
    with transaction.atomic():
        claim_index(target, encoder.model.width)
    total = _embed_lacking(encoder, progress)
    switched = False
    if before not in ("", target):
        for _ in range(_MAX_ROUNDS):
            newest = Memory.objects.aggregate(newest=Max("key"))["newest"] or 0
            total += _embed_lacking(encoder, progress)
            is_complete = partial(_is_complete, target, after=newest)
            if search_index().switch_model(
                target,
                width=encoder.model.width,
                is_complete=is_complete,
                progress=partial(progress, "indexing"),
            ):
                switched = True
                break
        else:
            raise Unavailable(
                "Memories are stored faster than they can be embedded.",
                hint="Run 'loci model reembed' again at a quieter time.",
            )
    # A writer that was embedding during the switch may have stored vectors of the old model.
    total += _embed_lacking(encoder, progress)
    deleted = _delete_old_pieces(target, progress)
    if total["memories"] or switched or deleted:
        payload = {"action": "reembed", "before": before, "model": target, "memories": total["memories"]}
        audit.append(actor, Operation.RUN, subject="reembed", payload=payload)
    return ReembedResult(before, target, total["memories"], total["pieces"], switched, deleted)


def lacking(model: str, *, after: int = 0) -> QuerySet[Memory]:
    """Memories with a key above `after` that have no vectors of this model."""
    made = Piece.objects.filter(memory=OuterRef("pk"), model=model, embedding__isnull=False)
    return Memory.objects.filter(~Exists(made), key__gt=after).order_by("key")


def _is_complete(model: str, *, after: int) -> bool:
    # Memories up to `after` were checked before the write lock was taken; texts never change.
    return not lacking(model, after=after).exists()


def _embed_lacking(encoder: Encoder, report: Progress) -> Counter[str]:
    to_do = lacking(encoder.model_id).count()
    total, last = Counter[str](), 0
    while batch := list(lacking(encoder.model_id, after=last)[:_EMBED_BATCH]):
        total += _embed_batch(batch, encoder)
        last = batch[-1].key
        report("embedding", min(total["memories"], to_do), to_do)
    return total


def _embed_batch(batch: Sequence[Memory], encoder: Encoder) -> Counter[str]:
    """Embed the memories, then write their pieces in short transactions."""
    embedded = embed_passages([passage_of(memory) for memory in batch], encoder=encoder)
    total = Counter[str]()
    for part in batches(zip(batch, embedded, strict=True), _WRITE_BATCH):
        with transaction.atomic():
            # Leave out memories that were purged, or embedded by another process, in the meantime.
            wanted = set(
                lacking(encoder.model_id)
                .filter(key__in=[memory.key for memory, _ in part])
                .values_list("key", flat=True)
            )
            rows = [piece_rows(memory, parts) for memory, parts in part if memory.key in wanted]
            Piece.objects.bulk_create([row for pieces in rows for row in pieces])
        total.update(memories=len(rows), pieces=sum(map(len, rows)))
    return total


def _delete_old_pieces(model: str, report: Progress) -> int:
    """Delete other models' pieces, and pieces without a vector, of memories that have this model's; in small batches."""
    made = Piece.objects.filter(memory=OuterRef("memory"), model=model, embedding__isnull=False)
    # Two ranges instead of "not equal", which could not use the index on the model.
    others = [
        Piece.objects.filter(Exists(made), model__lt=model),
        Piece.objects.filter(Exists(made), model__gt=model),
    ]
    total, done = sum(rows.count() for rows in others), 0
    for rows in others:
        while keys := list(rows.values_list("key", flat=True)[:_DELETE_BATCH]):
            Piece.objects.filter(key__in=keys).delete()
            done += len(keys)
            report("deleting old vectors", min(done, total), total)
    return done
