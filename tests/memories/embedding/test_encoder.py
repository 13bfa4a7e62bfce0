"""Vectors do not depend on the other texts, the number of threads or the order."""

import threading

import numpy as np
import pytest

from memories.embedding import Encoder
from memories.embedding.encoder import plan_batches
from memories.embedding.loader import ModelFolder, load_encoder
from memories.embedding.manifest import MINILM

pytestmark = pytest.mark.model

TEXTS = [
    "The crane needs a new cable.",
    "ok",
    "Which database keeps the accounts?",
    "",
    "Mira leads the lighthouse project. " * 20,
    "東京の天気は晴れです。",
    "She rowed across the bay before the rain came in, and wrote every number down.",
    "🚢⚓️",
    "stop the worker, clear its queue, then start it again",
    "def add(a, b):\n    return a + b",
    "a " * 600,
]


def test_shape_type_and_unit_length(encoder: Encoder) -> None:
    vectors = encoder.encode(TEXTS)

    assert vectors.shape == (11, MINILM.width)
    assert vectors.dtype == np.float32
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6


def test_a_text_that_is_given_twice_is_computed_once(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed, run = list[list[int]](), encoder._session.run
    monkeypatch.setattr(encoder._session, "run", lambda rows, _: computed.extend(rows) or run(rows))
    vectors = encoder.encode([*TEXTS[:3], *TEXTS[:3], TEXTS[1]])
    assert len(computed) == 3
    assert (vectors[:3] == vectors[3:6]).all()
    assert (vectors[1] == vectors[6]).all()


def test_no_texts_give_no_vectors(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, MINILM.width)


def test_a_text_has_the_same_vector_alone_and_in_a_batch(encoder: Encoder) -> None:
    together = encoder.encode(TEXTS)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])

    assert np.abs(together - alone).max() < 1e-6


def test_the_order_is_kept(encoder: Encoder) -> None:
    forwards = encoder.encode(TEXTS)
    backwards = encoder.encode(TEXTS[::-1])

    assert np.abs(forwards - backwards[::-1]).max() < 1e-6


def test_meaning_is_near(encoder: Encoder) -> None:
    question, answer, other = encoder.encode(
        ["Which database keeps the accounts?", "The ledger is in PostgreSQL.", "The crane needs a new cable."]
    )

    assert question @ answer > question @ other + 0.2


def test_many_threads_get_the_vectors_of_one(encoder: Encoder) -> None:
    expected = encoder.encode(TEXTS)
    answers: dict[int, np.ndarray] = {}

    def encode(number: int) -> None:
        answers[number] = encoder.encode(TEXTS)

    threads = [threading.Thread(target=encode, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answers) == list(range(8))
    assert all(np.array_equal(answer, expected) for answer in answers.values())


def test_batches_hold_texts_of_like_length_and_a_bounded_number_of_tokens() -> None:
    # 1,024 tokens are four of 256; the ninth short one needs a batch of its own.
    assert list(plan_batches([3, 256, 256, 3, 256, 256, 256], 1024)) == [[1, 2, 4, 5], [6, 0, 3]]
    assert list(plan_batches([5] * 9, 1024)) == [[0, 1, 2, 3, 4, 5, 6, 7], [8]]
    assert list(plan_batches([], 1024)) == []


def test_a_query_has_the_vector_of_its_text(encoder: Encoder) -> None:
    vector = encoder.encode_query("Which crane?")

    assert vector.shape == (MINILM.width,)
    assert np.abs(vector - encoder.encode(["Which crane?"])[0]).max() < 1e-6
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


def test_a_query_asked_again_is_remembered(installed: ModelFolder) -> None:
    encoder = load_encoder(installed, query_cache=2)

    first = encoder.encode_query("one")
    again = encoder.encode_query("one")

    assert again is first


def test_the_query_asked_longest_ago_is_forgotten_first(installed: ModelFolder) -> None:
    encoder = load_encoder(installed, query_cache=2)
    one, two, again, _, two_again = map(encoder.encode_query, ("one", "two", "one", "three", "two"))

    # Only the second "one" was there: "two" had made way for "three".
    assert again is one
    assert two_again is not two


def test_a_remembered_vector_cannot_be_changed(encoder: Encoder) -> None:
    vector = encoder.encode_query("Which crane?")

    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1.0


def test_the_model_id_names_model_revision_window_pooling_and_recipe(encoder: Encoder) -> None:
    assert encoder.model_id == "all-MiniLM-L6-v2@1110a243/256/mean/r1"
    assert encoder.max_tokens == 256


def test_many_texts_are_cut_as_each_alone(encoder: Encoder) -> None:
    reserves = [number % 3 * 10 for number in range(len(TEXTS))]
    cut = encoder.split_many(TEXTS, reserves=reserves)
    assert cut == [
        encoder.split(text, reserve=reserve) for text, reserve in zip(TEXTS, reserves, strict=True)
    ]
    assert [len(spans) > 1 for spans in cut].count(True) == 1, "one of the texts is longer than the window"
    with pytest.raises(ValueError, match="too small"):
        encoder.split_many(["ok"], reserves=[245])
