"""The reader of weights takes the format's own layout and nothing that reaches outside of its file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memories.embedding.install.graph import read_tensors


def write(path: Path, header: dict[str, Any], body: bytes) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    return path


def test_tensors_come_back_with_shape_and_values(tmp_path: Path) -> None:
    body = np.array([1, 2, 3, 4, 5, 6], dtype="<f4").tobytes()
    header = {
        "__metadata__": {"format": "pt"},
        "matrix": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "vector": {"dtype": "F32", "shape": [2], "data_offsets": [16, 24]},
    }

    tensors = read_tensors(write(tmp_path / "w", header, body))

    assert tensors["matrix"].tolist() == [[1, 2], [3, 4]]
    assert tensors["vector"].tolist() == [5, 6]
    assert sorted(tensors) == ["matrix", "vector"]


def test_other_number_types_are_left_out(tmp_path: Path) -> None:
    header = {"position_ids": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}}

    assert read_tensors(write(tmp_path / "w", header, bytes(8))) == {}


@pytest.mark.parametrize("offsets", [[0, 12], [-4, 4], [8, 4]])
def test_a_tensor_outside_of_its_file_is_refused(tmp_path: Path, offsets: list[int]) -> None:
    header = {"far": {"dtype": "F32", "shape": [2], "data_offsets": offsets}}

    with pytest.raises(ValueError, match="far is outside"):
        read_tensors(write(tmp_path / "w", header, bytes(8)))


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"<html><body>not found</body></html>")

    with pytest.raises(ValueError, match="not a safetensors file"):
        read_tensors(path)
