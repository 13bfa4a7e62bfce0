"""Topics: memories about the same thing are grouped, others are not, and every run gives the same result."""

import numpy as np
import pytest
from numpy.typing import NDArray

from maintenance.cycle.compaction.topics import find_topics
from maintenance.cycle.vectors import read_vectors, remove_dates, stream_vectors
from memories.embedding import Encoder, get_encoder
from memories.models import Memory, Piece
from memories.store.pieces import as_vector
from tests.maintenance.events import DEPLOYS, LISBON, MONDAY, TOMATOES, UNRELATED, happen

Matrix = NDArray[np.float32]


def plane(*degrees: float) -> Matrix:
    """Unit vectors in a plane at these angles; the cosine of two is that of their difference."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_two_clusters_are_two_topics() -> None:
    vectors = plane(0, 90, 5, 95, 10, 100)
    assert find_topics(vectors, cosine=0.9, at_least=3) == [[0, 2, 4], [1, 3, 5]]


def test_a_topic_that_is_too_small_is_dropped() -> None:
    assert find_topics(plane(0, 5, 90, 95, 100), cosine=0.9, at_least=3) == [[2, 3, 4]]
    assert find_topics(plane(0, 90, 180), cosine=0.9, at_least=2) == []


def test_a_chain_of_neighbours_is_not_one_topic() -> None:
    """Each is close to the next (cos 30° = 0.87), but the ends are opposite, so they are not one topic."""
    topics = find_topics(plane(0, 30, 60, 90, 120, 150, 180), cosine=0.8, at_least=2)
    assert topics == [[0, 1], [2, 3], [4, 5]]


def test_the_worst_fitting_row_is_dropped() -> None:
    """The mean cosines of 0°, 10° and 50° to the others are 0.814, 0.875 and 0.705."""
    assert find_topics(plane(0, 10, 50), cosine=0.70, at_least=3) == [[0, 1, 2]]
    assert find_topics(plane(0, 10, 50), cosine=0.72, at_least=2) == [[0, 1]]


def test_the_order_of_equal_rows_does_not_matter() -> None:
    vectors = plane(*([20.0] * 6 + [110.0] * 6))
    expected = [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert find_topics(vectors, cosine=0.9, at_least=5) == expected
    assert all(find_topics(vectors, cosine=0.9, at_least=5) == expected for _ in range(3))


def test_a_full_window_is_clustered_quickly() -> None:
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(100, 384))
    raw = np.repeat(centres, 10, axis=0) + 0.3 * rng.normal(size=(1000, 384))
    vectors = (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)
    topics = find_topics(vectors, cosine=0.35, at_least=5)
    assert topics == [list(range(start, start + 10)) for start in range(0, 1000, 10)]


@pytest.mark.model
@pytest.mark.django_db
def test_real_topics_are_separated(ledger: object, encoder: Encoder) -> None:
    groups = [happen(texts) for texts in (TOMATOES, DEPLOYS, LISBON, UNRELATED)]
    keys = [memory.key for memories in groups for memory in memories]
    vectors = read_vectors(keys, encoder=encoder)
    topics = find_topics(np.stack([vectors[key] for key in keys]), cosine=0.35, at_least=5)
    assert topics == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14]]


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
