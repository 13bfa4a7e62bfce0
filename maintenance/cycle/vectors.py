"""Vectors of whole memories for comparison in maintenance, with the influence of their dates removed."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from memories.embedding import Encoder
from memories.models import Memory, Piece
from memories.store.pieces import as_vector, available_encoder, embedded_text, indexed_model
from storage.bulk import batches

Matrix = NDArray[np.float32]
_TINY = 1e-6


def read_vectors(keys: Sequence[int], *, encoder: Encoder) -> dict[int, NDArray[np.float32]]:
    """The memories' vectors (float32[width], unit length) by key; memories without vectors are left out."""
    found: dict[int, NDArray[np.float32]] = {}
    for some in batches(keys):
        owners, matrix = _read_mean_vectors(Memory.objects.filter(key__in=some), encoder=encoder)
        found |= dict(zip(owners, matrix, strict=True))
    return found


def stream_vectors(
    memories: QuerySet[Memory], *, encoder: Encoder, rows: int
) -> Iterator[tuple[list[int], Matrix]]:
    """The memories' keys and vectors by key, in blocks of about `rows`, so that memory use stays constant."""
    after = 0
    while True:
        keys = list(memories.filter(key__gt=after).order_by("key").values_list("key", flat=True)[:rows])
        if not keys:
            return
        yield _read_mean_vectors(memories.filter(key__gt=after, key__lte=keys[-1]), encoder=encoder)
        after = keys[-1]


def usable_encoder() -> Encoder | None:
    """The encoder of the index's model; None if it is unavailable, so that vectors cannot be compared."""
    encoder = available_encoder()
    return encoder if encoder is not None and indexed_model() == encoder.model_id else None


def next_with_vectors(*parts: QuerySet[Memory], limit: int) -> list[int]:
    """The lowest keys of these memories, up to the first that still lacks a vector: a later pass compares the others."""
    rows = (part.order_by("key").values_list("key", flat=True)[:limit] for part in parts)
    keys = sorted(chain.from_iterable(rows))[:limit]
    waiting = [
        key
        for some in batches(keys)
        for key in Piece.objects.filter(memory__in=some, embedding=None).values_list("memory_id", flat=True)
    ]
    return [key for key in keys if not waiting or key < min(waiting)]


def _read_mean_vectors(memories: QuerySet[Memory], *, encoder: Encoder) -> tuple[list[int], Matrix]:
    """Keys in order and the mean vector of each memory's pieces (float32[n, width], unit length), date removed."""
    pieces = Piece.objects.filter(
        memory__in=memories.order_by().values("key"), embedding__isnull=False, model=encoder.model_id
    )
    sums: dict[int, NDArray[np.float32]] = {}
    dates: dict[int, datetime | None] = {}
    for key, blob, moment in pieces.values_list("memory_id", "embedding", "memory__valid_from").order_by(
        "memory_id", "ordinal"
    ):
        sums[key] = sums[key] + as_vector(blob) if key in sums else as_vector(blob)
        dates[key] = moment
    owners = list(sums)
    matrix = (
        _unit_rows(np.stack([*sums.values()]))
        if owners
        else np.zeros((0, encoder.model.width), dtype=np.float32)
    )
    return owners, remove_dates(matrix, [dates[key] for key in owners], encoder=encoder)


def remove_dates(matrix: Matrix, dates: Sequence[datetime | None], *, encoder: Encoder) -> Matrix:
    """Project the direction of each row's date out of the vector (float32[n, width]) of a text embedded with it.

    Two unrelated events of one week have a cosine of about 0.3 with their dates in front, and of 0.1 without that
    direction, like their bare texts. Rows without a date stay as they are.
    """
    texts = [embedded_text("", moment).strip() for moment in dates]
    distinct = [text for text in dict.fromkeys(texts) if text]
    if not distinct:
        return matrix
    encoded = dict(zip(distinct, encoder.encode(distinct), strict=True))
    none = np.zeros(matrix.shape[1], dtype=np.float32)
    directions = np.stack([encoded.get(text, none) for text in texts])
    along = np.einsum("ij,ij->i", matrix, directions)
    return _unit_rows(matrix - along[:, None] * directions)


def _unit_rows(matrix: Matrix) -> Matrix:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: Matrix = (matrix / np.maximum(lengths, _TINY)).astype(np.float32)
    return unit
