"""The vectors of whole memories, as maintenance compares them: without what their dates add to them."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from access.models import Group
from memories.embedding import Encoder
from memories.models import Memory, Piece
from memories.store.pieces import as_vector, embedded_text
from memories.types import State

Matrix = NDArray[np.float32]
KEYS_AT_ONCE = 500  # in one statement; every database takes that many parameters
TINY = 1e-6


def read_vectors(keys: Sequence[int], *, encoder: Encoder) -> dict[int, NDArray[np.float32]]:
    """Give the memories' vectors (float32[384], unit length) by key; those that are owed theirs are left out."""
    found: dict[int, NDArray[np.float32]] = {}
    for start in range(0, len(keys), KEYS_AT_ONCE):
        rows = Memory.objects.filter(key__in=keys[start : start + KEYS_AT_ONCE])
        owners, matrix = _read(rows, encoder=encoder)
        found |= dict(zip(owners, matrix, strict=True))
    return found


def stream_vectors(
    memories: QuerySet[Memory], *, encoder: Encoder, rows: int
) -> Iterator[tuple[list[int], Matrix]]:
    """Give the memories' keys and vectors in blocks of about `rows`, by key: a large group takes no more room."""
    after = 0
    while True:
        keys = list(memories.filter(key__gt=after).order_by("key").values_list("key", flat=True)[:rows])
        if not keys:
            return
        yield _read(memories.filter(key__gt=after, key__lte=keys[-1]), encoder=encoder)
        after = keys[-1]


def first_owed(group: Group) -> int | None:
    """Give the lowest key of the group's live memories whose vectors are owed; None where all have theirs.

    A pass over new memories ends before it, so that those are looked at once they have their vectors.
    """
    owed = Piece.objects.filter(memory__group=group, memory__state=State.LIVE, embedding__isnull=True)
    return owed.order_by("memory_id").values_list("memory_id", flat=True).first()


def without_date(vectors: Matrix, moment: datetime | None, *, encoder: Encoder) -> Matrix:
    """Give vectors (float32[n, 384]) without the direction of the date that their texts were embedded with.

    Two unrelated events of one week have a cosine of about 0.3 with their dates written before them and of 0.1 without
    that direction, as their bare texts have.
    """
    if moment is None:
        return vectors
    [date] = encoder.encode([embedded_text("", moment).strip()])
    return _unit(vectors - np.outer(vectors @ date, date).astype(np.float32))


def _read(memories: QuerySet[Memory], *, encoder: Encoder) -> tuple[list[int], Matrix]:
    """Give keys in order and the mean vector of each memory's pieces, its date taken out."""
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
    matrix = _unit(np.stack([*sums.values()])) if owners else np.zeros((0, 384), dtype=np.float32)
    return owners, _undated(matrix, [dates[key] for key in owners], encoder=encoder)


def _undated(matrix: Matrix, dates: Sequence[datetime | None], *, encoder: Encoder) -> Matrix:
    texts = [embedded_text("", moment).strip() for moment in dates]
    named = [text for text in dict.fromkeys(texts) if text]
    if not named:
        return matrix
    said = dict(zip(named, encoder.encode(named), strict=True))
    none = np.zeros(matrix.shape[1], dtype=np.float32)
    directions = np.stack([said.get(text, none) for text in texts])
    along = np.einsum("ij,ij->i", matrix, directions)
    return _unit(matrix - along[:, None] * directions)


def _unit(matrix: Matrix) -> Matrix:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: Matrix = (matrix / np.maximum(lengths, TINY)).astype(np.float32)
    return unit
