"""A session pads a batch to its longest row, says which tokens are padding, and returns unit vectors."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from memories.embedding.model import OnnxSession

pytestmark = pytest.mark.model  # it needs the compiled library, not the model itself


def save(path: Path) -> Path:
    """Write a graph that returns the ids without padding, as numbers."""
    nodes = [
        helper.make_node("Mul", ["input_ids", "attention_mask"], ["ids"]),
        helper.make_node("Cast", ["ids"], ["embedding"], to=TensorProto.FLOAT),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"])
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["n", "t"])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


def test_rows_are_padded_to_the_longest_and_become_unit_vectors(tmp_path: Path) -> None:
    vectors = OnnxSession(save(tmp_path / "m.onnx")).run([[101, 5, 102], [101, 102]])

    assert vectors.dtype == np.float32
    assert vectors[1].tolist() == pytest.approx([101 / 143.5444, 102 / 143.5444, 0])
    assert vectors[0].tolist() == pytest.approx([101 / 143.6315, 5 / 143.6315, 102 / 143.6315])
