"""Vectors for comparison: of whole memories, without their dates."""

import numpy as np
import pytest
from numpy.typing import NDArray

from maintenance.cycle.vectors import read_vectors, remove_dates, stream_vectors
from memories.embedding import Encoder, get_encoder
from memories.models import Memory, Piece
from memories.store.pieces import as_vector
from tests.maintenance.events import DEPLOYS, MONDAY, TOMATOES, UNRELATED, happen

Matrix = NDArray[np.float32]


def plane(*degrees: float) -> Matrix:
    """Unit vectors in a plane at these angles; the cosine of two is that of their difference."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


@pytest.mark.model
@pytest.mark.django_db
def test_without_their_dates_unrelated_events_of_a_day_are_far_apart(
    ledger: object, encoder: Encoder
) -> None:
    memories = happen(UNRELATED)
    vectors = read_vectors([memory.key for memory in memories], encoder=encoder)
    bare = np.stack([vectors[memory.key] for memory in memories])
    dated = np.stack([as_vector(piece.embedding) for piece in Piece.objects.order_by("memory_id")])
    others = ~np.eye(len(memories), dtype=bool)
    assert (dated @ dated.T)[others].mean() > 0.3
    assert (bare @ bare.T)[others].mean() < 0.2
    assert np.allclose(np.linalg.norm(bare, axis=1), 1, atol=1e-5)


@pytest.mark.model
@pytest.mark.django_db
def test_streaming_yields_the_same_vectors_in_blocks(ledger: object, encoder: Encoder) -> None:
    memories = happen([*TOMATOES, *DEPLOYS])
    once = read_vectors([memory.key for memory in memories], encoder=encoder)
    blocks = list(stream_vectors(Memory.objects.all(), encoder=encoder, rows=4))
    assert [len(keys) for keys, _ in blocks] == [4, 4, 2]
    for keys, block in blocks:
        assert np.allclose(block, np.stack([once[key] for key in keys]), atol=1e-6)


@pytest.mark.model
def test_a_vector_without_a_date_is_unchanged() -> None:
    vectors = plane(0, 90)
    assert remove_dates(vectors, [None] * len(vectors), encoder=get_encoder(timeout_s=60)) is vectors


@pytest.mark.model
def test_removing_a_date_leaves_nothing_in_its_direction(encoder: Encoder) -> None:
    text = encoder.encode(["[8 May 2023] The office coffee machine is broken"])
    bare = remove_dates(text, [MONDAY] * len(text), encoder=encoder)
    assert float((bare @ encoder.encode(["[8 May 2023]"])[0])[0]) == pytest.approx(0, abs=1e-5)


@pytest.fixture
def encoder() -> Encoder:
    return get_encoder(timeout_s=60)
