"""The graph that Loci builds computes the published model."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from memories.embedding import Encoder
from memories.embedding.folder import ModelFolder
from memories.embedding.graph import build_graph
from memories.embedding.recipe import WEIGHTS_FILE
from memories.embedding.reference import read_reference
from memories.embedding.session import OnnxSession
from memories.embedding.tokenizer import TextTokenizer
from tests.embedding.forward import load_float64, sentence_vector

pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]  # the first run may have to fetch the weights


@pytest.fixture(scope="module")
def exact(weights: Path, tokenizer: TextTokenizer) -> np.ndarray:
    """The reference sentences through the float64 forward."""
    tensors = load_float64(weights / WEIGHTS_FILE)
    rows = tokenizer.ids(read_reference().sentences, max_tokens=256)
    return np.stack([sentence_vector(tensors, row) for row in rows])


def test_fp32_equals_an_independent_float64_forward(fp32_encoder: Encoder, exact: np.ndarray) -> None:
    vectors = fp32_encoder.encode(read_reference().sentences)

    assert np.abs(vectors - exact).max() < 1e-5


def test_the_reference_that_ships_equals_the_float64_forward(exact: np.ndarray) -> None:
    assert np.abs(read_reference().vectors - exact).max() < 1e-5


def test_half_precision_weights_keep_the_vectors(encoder: Encoder, exact: np.ndarray) -> None:
    vectors = encoder.encode(read_reference().sentences)

    cosines = (vectors * exact).sum(axis=1)

    assert cosines.min() >= 0.999999


def test_weights_in_8_bits_keep_most_of_a_question(installed: ModelFolder, exact: np.ndarray) -> None:
    session, tokens = OnnxSession(installed.question_graph), TextTokenizer(installed.tokenizer)
    rows = tokens.ids(read_reference().sentences, max_tokens=256)

    alone = np.concatenate([session.run([row]) for row in rows])
    again = session.run([rows[0]])

    assert (alone * exact).sum(axis=1).min() >= 0.99
    assert (alone * exact).sum(axis=1).mean() >= 0.998
    assert np.array_equal(again[0], alone[0])


def test_half_precision_halves_the_file(weights: Path, fp32_graph: Path, tmp_path: Path) -> None:
    small = tmp_path / "model.onnx"

    build_graph(weights / WEIGHTS_FILE, small, precision="fp16-weights")

    assert 44e6 < small.stat().st_size < 46e6
    assert 89e6 < fp32_graph.stat().st_size < 91e6


def test_the_graph_has_standard_operators_only(fp32_graph: Path) -> None:
    model = onnx.load(str(fp32_graph))

    assert {node.domain for node in model.graph.node} == {""}
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 17)]
    assert [entry.name for entry in model.graph.input] == ["input_ids", "attention_mask"]
    assert [entry.name for entry in model.graph.output] == ["embedding"]


def test_scalars_stay_without_axes(fp32_graph: Path) -> None:
    constants = {entry.name: list(entry.dims) for entry in onnx.load(str(fp32_graph)).graph.initializer}

    assert constants["half"] == []
    assert constants["masked"] == []
