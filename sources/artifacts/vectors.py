"""Vectors of chunks: computed at the end of an ingest, later by the worker, and again after a re-embed."""

import logging
import time
from collections.abc import Callable
from math import inf
from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet

from access.actor import Actor
from memories.embedding import Encoder, ModelUnavailable, TextRefused, get_encoder
from memories.embedding.concurrency import ENDING
from memories.language.cleaning import format_count
from memories.store.pieces import claim_index, indexed_model
from sources.models import Chunk, ChunkState

logger = logging.getLogger(__name__)
_BATCH_CHUNKS: Final = 64
_SECONDS_AT_ONCE: Final = 20.0  # of the worker: other jobs wait meanwhile
MODEL_WAIT_S: Final = 60.0


def _owed_chunks(model: str) -> QuerySet[Chunk]:
    # Two ranges instead of "not equal", which could not use the index.
    others = Q(model__lt=model) | Q(model__gt=model) if model else Q(model="")
    return Chunk.objects.filter(others, state=ChunkState.LIVE)


def is_waiting() -> bool:
    """True if live chunks lack a vector of the index's model; one indexed query."""
    return _owed_chunks(indexed_model()).exists()


def embed_waiting(actor: Actor) -> str | None:
    """Embed chunks for some seconds; None without work. The worker repeats it while chunks are left."""
    done = embed_chunks(seconds=_SECONDS_AT_ONCE)
    return f"{format_count(done, 'chunk')} embedded" if done else None


def embed_chunks(*, seconds: float = inf, on_progress: Callable[[int], object] = lambda done: None) -> int:
    """Embed chunks without a vector; returns their number. Runs outside transactions and may be killed."""
    began, done, last = time.monotonic(), 0, 0
    try:
        encoder = get_encoder(indexed_model(), timeout_s=MODEL_WAIT_S)
        encoder = encoder.of_model(indexed_model()) or encoder
    except ModelUnavailable:
        return 0
    if indexed_model() not in ("", encoder.model_id):
        return 0  # a re-embed is under way or needed: vectors of two models are never compared
    while not ENDING.is_set() and time.monotonic() - began < seconds:
        waiting = _owed_chunks(encoder.model_id).select_related("group", "artifact").defer("embedding")
        batch = list(waiting.filter(key__gt=last).order_by("key")[:_BATCH_CHUNKS])
        if not batch:
            break
        last = batch[-1].key
        try:
            embedded = _embed_batch(batch, encoder)
        except ModelUnavailable:
            break
        done += embedded
        on_progress(embedded)
    return done


def _embed_batch(batch: list[Chunk], encoder: Encoder) -> int:
    """Embed chunks but those that an endpoint refuses; their number."""
    try:
        vectors = encoder.encode([_embedded_text(chunk) for chunk in batch])
    except TextRefused:
        if len(batch) > 1:
            return sum(_embed_batch([chunk], encoder) for chunk in batch)
        logger.exception("the chunk %s cannot be embedded", batch[0].key)
        return 0
    with transaction.atomic():
        claim_index(encoder.model_id, encoder.model.width)
        for chunk, vector in zip(batch, vectors, strict=True):
            same = Chunk.objects.filter(pk=chunk.pk, text_hash=chunk.text_hash)
            same.update(embedding=vector.astype("<f4").tobytes(), model=encoder.model_id)
    return len(batch)


def _embedded_text(chunk: Chunk) -> str:
    path = chunk.locator.rsplit("#", 1)[0]
    place = f"{path} {chunk.heading}"[-120:].strip()
    return f"{place}\n{chunk.content}"
