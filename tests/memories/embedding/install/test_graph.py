"""The graph that Loci builds computes the published model."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from memories.embedding import Encoder
from memories.embedding.install.graph import build_graph
from memories.embedding.loader import ModelFolder, read_reference
from memories.embedding.manifest import MINILM, WEIGHTS_FILE
from memories.embedding.model import OnnxSession, TextTokenizer
from tests.memories.embedding.forward import load_float64, sentence_vector

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


@pytest.fixture(scope="module")
def halves(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph with weights in half precision."""
    path = tmp_path_factory.mktemp("halves") / "model.onnx"
    build_graph(weights / WEIGHTS_FILE, path, model=MINILM, precision="fp16-weights")
    return path


def test_half_precision_weights_keep_the_vectors(
    halves: Path, tokenizer: TextTokenizer, exact: np.ndarray
) -> None:
    vectors = Encoder(tokenizer, OnnxSession(halves)).encode(read_reference().sentences)

    assert (vectors * exact).sum(axis=1).min() >= 0.999999


def test_8_bits_keep_nearly_all_of_the_vectors(encoder: Encoder, exact: np.ndarray) -> None:
    vectors = encoder.encode(read_reference().sentences)

    cosines = dict(zip(read_reference().sentences, (vectors * exact).sum(axis=1), strict=True))

    assert cosines.pop("ok") >= 0.994  # three tokens: nothing evens out
    assert min(cosines.values()) >= 0.9985


def test_the_few_large_numbers_are_multiplied_in_full(
    weights: Path,
    tokenizer: TextTokenizer,
    exact: np.ndarray,
    tmp_path: Path,
) -> None:
    path = tmp_path / "model.onnx"
    others = replace(MINILM, large=(0, 1, 2, 3))
    build_graph(weights / WEIGHTS_FILE, path, model=others, precision="8-bit")
    worse = Encoder(tokenizer, OnnxSession(path)).encode(read_reference().sentences)

    assert 0.97 < (worse * exact).sum(axis=1).mean() < 0.9975


def test_a_text_has_the_same_vector_whatever_stands_beside_it(installed: ModelFolder) -> None:
    session, tokens = OnnxSession(installed.graph), TextTokenizer(installed.tokenizer)
    rows = tokens.ids(read_reference().sentences[:3], max_tokens=256)

    together = session.run(rows)
    alone = np.concatenate([session.run([row]) for row in rows])

    assert np.abs(together - alone).max() < 1e-6


def test_sums_that_cannot_overflow_give_the_same_vectors(installed: ModelFolder) -> None:
    rows = TextTokenizer(installed.tokenizer).ids(read_reference().sentences[:3], max_tokens=256)

    quick, exact_sums = (OnnxSession(installed.graph, exact_sums=exact) for exact in (False, True))

    assert np.abs(quick.run(rows) - exact_sums.run(rows)).max() < 1e-6


def test_fewer_bits_make_a_smaller_file(installed: ModelFolder, halves: Path, fp32_graph: Path) -> None:
    assert 33e6 < installed.graph.stat().st_size < 36e6
    assert 44e6 < halves.stat().st_size < 46e6
    assert 89e6 < fp32_graph.stat().st_size < 91e6


def test_in_full_precision_the_graph_has_standard_operators_only(fp32_graph: Path) -> None:
    model = onnx.load(str(fp32_graph))

    assert {node.domain for node in model.graph.node} == {""}
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 17)]
    assert [entry.name for entry in model.graph.input] == ["input_ids", "attention_mask"]
    assert [entry.name for entry in model.graph.output] == ["embedding"]


def test_scalars_stay_without_axes(fp32_graph: Path) -> None:
    constants = {entry.name: list(entry.dims) for entry in onnx.load(str(fp32_graph)).graph.initializer}

    assert constants["half"] == []
    assert constants["masked"] == []
