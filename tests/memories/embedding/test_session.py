"""A session takes graphs of several shapes and gives unit vectors from each; other graphs are refused."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from memories.embedding.session import OnnxSession

pytestmark = pytest.mark.model  # it needs the compiled library, not the model itself

IDS = ["input_ids", "attention_mask"]


def save(path: Path, *, inputs: list[str], output: str, axes: list[str | int], width: int = 384) -> Path:
    """Write a graph whose hidden state of a token is its id, `width` times; or, pooled, the sum of the ids."""
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["numbers", "last"], ["column"]),
        helper.make_node("Expand", ["column", "shape"], ["hidden"]),
        helper.make_node("ReduceSum", ["hidden", "first"], ["pooled"], keepdims=0),
        helper.make_node("Identity", ["hidden" if len(axes) == 2 else "pooled"], [output]),
    ]
    constants = {"last": [2], "first": [1], "shape": [1, 1, width]}
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, [*axes, width])],
        [
            helper.make_tensor(name, TensorProto.INT64, [len(value)], value)
            for name, value in constants.items()
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


@pytest.mark.parametrize(
    ("inputs", "axes"),
    [(IDS, ["n"]), (IDS, ["n", "t"]), ([*IDS, "token_type_ids"], ["n", "t"])],
    ids=["pooled", "hidden states", "with token types"],
)
def test_every_known_shape_gives_unit_vectors(
    tmp_path: Path, inputs: list[str], axes: list[str | int]
) -> None:
    session = OnnxSession(save(tmp_path / "m.onnx", inputs=inputs, output="out", axes=axes))

    vectors = session.run([[101, 5, 102], [101, 102]])

    # All numbers of a vector are equal here, so each is 1 / sqrt(384) = 0.0510310.
    assert vectors.shape == (2, 384)
    assert vectors.dtype == np.float32
    assert np.abs(vectors - 0.0510310).max() < 1e-6


def test_padding_takes_no_part_in_the_mean(tmp_path: Path) -> None:
    from memories.embedding.session import pool_mean

    hidden = np.array([[[2.0], [4.0]], [[6.0], [100.0]]], dtype=np.float32)
    mask = np.array([[1, 1], [1, 0]], dtype=np.int64)

    assert pool_mean(hidden, mask).tolist() == [[3.0], [6.0]]


def test_unknown_inputs_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", inputs=[*IDS, "pixel_values"], output="out", axes=["n"])

    with pytest.raises(ValueError, match="not have a sentence encoder's inputs"):
        OnnxSession(path)


def test_vectors_of_another_length_are_refused(tmp_path: Path) -> None:
    session = OnnxSession(save(tmp_path / "m.onnx", inputs=IDS, output="out", axes=["n"], width=768))

    with pytest.raises(ValueError, match="vectors of 768 numbers, not 384"):
        session.run([[101, 102]])
