"""Making all vectors anew with the model and window of the settings, while everybody works on.

The new pieces are written beside the old ones, which answer until the last is there; then the index is exchanged in one
short transaction. A killed run goes on where it stopped: what is written stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, QuerySet

from access import audit
from access.actor import ADMIN, Actor
from access.audit.operations import Operation
from access.errors import NotPermitted, Unavailable
from maintenance.backups import Progress, ignore_progress
from memories.embedding import Encoder, configured_model_id, get_encoder
from memories.models import Memory, Piece
from memories.search.base import search_index
from memories.store.pieces import claim_index, embed_passages, indexed_model, passage_of, piece_rows

MEMORIES_AT_ONCE = 64  # the encoder sorts them by length and runs eight at a time
WRITTEN_AT_ONCE = 16  # per transaction: writers wait for one of these at most
DELETED_AT_ONCE = 200
MODEL_WAIT_S = 120.0
MOST_ROUNDS = 50  # each embeds only what was stored during the one before


@dataclass(frozen=True)
class ReembedPlan:
    """What a re-embed would do: from which model to which, and how many memories still lack its vectors."""

    indexed: str
    target: str
    memories: int
    lacking: int

    @property
    def is_done(self) -> bool:
        """True where the index holds the target's vectors of everything."""
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
    """Say what a re-embed would do; changes nothing."""
    _check_right(actor)
    target = configured_model_id()
    return ReembedPlan(indexed_model(), target, Memory.objects.count(), lacking(target).count())


def reembed(actor: Actor, *, progress: Progress | None = None) -> ReembedResult:
    """Give every memory vectors of the configured model, exchange the index, and delete the old vectors.

    No search ever compares vectors of two models: the old ones answer until the exchange, the new ones from then on.

    Raises:
        NotPermitted: the actor may not administer everything.
        ModelUnavailable: the model is not there; nothing was changed.
        Unavailable: more was stored all the time than could be embedded; what was made stays.
    """
    _check_right(actor)
    say = progress or ignore_progress
    encoder = get_encoder(timeout_s=MODEL_WAIT_S)
    target, before = encoder.model_id, indexed_model()
    with transaction.atomic():
        claim_index(target)
    memories, pieces = _embed_all(encoder, say)
    switched = False
    if before not in ("", target):
        for _ in range(MOST_ROUNDS):
            newest = Memory.objects.aggregate(newest=Max("key"))["newest"] or 0
            memories, pieces = _added((memories, pieces), _embed_all(encoder, say))
            is_complete = partial(_is_complete, target, after=newest)
            if search_index().switch_model(
                target, is_complete=is_complete, progress=partial(say, "indexing")
            ):
                switched = True
                break
        else:
            raise Unavailable(
                "More is stored than can be embedded.", hint="Run 'loci reembed' again at a calmer time."
            )
    # Who was about to store while the index was exchanged may have made vectors of the old model.
    memories, pieces = _added((memories, pieces), _embed_all(encoder, say))
    deleted = _delete_others(target, say)
    if memories or switched or deleted:
        _log(actor, before, target, memories)
    return ReembedResult(before, target, memories, pieces, switched, deleted)


def lacking(model: str, *, after: int = 0) -> QuerySet[Memory]:
    """Give the memories above a key that have no vectors of this model."""
    made = Piece.objects.filter(memory=OuterRef("pk"), model=model, embedding__isnull=False)
    return Memory.objects.filter(~Exists(made), key__gt=after).order_by("key")


def _is_complete(model: str, *, after: int) -> bool:
    # A memory at or below `after` was looked at before the write lock; its text does not change.
    return not lacking(model, after=after).exists()


def _embed_all(encoder: Encoder, say: Progress) -> tuple[int, int]:
    """Embed what lacks the encoder's vectors, in order; give the memories and pieces written."""
    total = lacking(encoder.model_id).count()
    memories = pieces = last = 0
    while batch := list(lacking(encoder.model_id, after=last)[:MEMORIES_AT_ONCE]):
        counts = _embed(batch, encoder)
        memories, pieces, last = memories + len(counts), pieces + sum(counts), batch[-1].key
        say("embedding", min(memories, total), total)
    return memories, pieces


def _embed(batch: Sequence[Memory], encoder: Encoder) -> list[int]:
    embedded = embed_passages([passage_of(memory) for memory in batch], encoder=encoder)
    counts: list[int] = []
    for at in range(0, len(batch), WRITTEN_AT_ONCE):
        part = list(zip(batch, embedded, strict=True))[at : at + WRITTEN_AT_ONCE]
        with transaction.atomic():
            # Purged meanwhile, or done by another process.
            wanted = set(
                lacking(encoder.model_id)
                .filter(key__in=[memory.key for memory, _ in part])
                .values_list("key", flat=True)
            )
            rows = [piece_rows(memory, parts) for memory, parts in part if memory.key in wanted]
            Piece.objects.bulk_create([row for of_one in rows for row in of_one])
        counts += [len(of_one) for of_one in rows]
    return counts


def _delete_others(model: str, say: Progress) -> int:
    """Delete the pieces of other models, and owed ones, of memories that have this model's; some at a time."""
    made = Piece.objects.filter(memory=OuterRef("memory"), model=model, embedding__isnull=False)
    # Below and above, not "other than": both are one look at the index of models.
    others = [
        Piece.objects.filter(Exists(made), model__lt=model),
        Piece.objects.filter(Exists(made), model__gt=model),
    ]
    total, done = sum(rows.count() for rows in others), 0
    for rows in others:
        while keys := list(rows.values_list("key", flat=True)[:DELETED_AT_ONCE]):
            Piece.objects.filter(key__in=keys).delete()
            done += len(keys)
            say("deleting old vectors", min(done, total), total)
    return done


def _added(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _check_right(actor: Actor) -> None:
    if not (actor.all_groups and actor.may(ADMIN)):
        raise NotPermitted("Only an admin of everything may make the vectors anew.")


def _log(actor: Actor, before: str, model: str, memories: int) -> None:
    payload = {"action": "reembed", "before": before, "model": model, "memories": memories}
    audit.append(actor, Operation.RUN, subject="reembed", payload=payload)
