"""The graph of an MPNet computes what its paper says; written once more in float64, from the names of its tensors."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memories.embedding.install.graph import build_graph
from memories.embedding.manifest import WEIGHTS_FILE
from memories.embedding.model import OnnxSession
from tests.memories.embedding.forward import Array, dense, norm
from tests.memories.embedding.small_model import TOKENS, random_tensors, small_model, write_tensors

pytestmark = pytest.mark.model
WIDTH, HEADS, BUCKETS = 64, 4, 32
NAMES = {
    "attention.self.query": "attention.attn.q", "attention.self.key": "attention.attn.k",
    "attention.self.value": "attention.attn.v", "attention.output.dense": "attention.attn.o",
    "attention.output.LayerNorm": "attention.LayerNorm",
}  # fmt: skip


def bucket(distance: int) -> int:
    """The bucket of the distance from one token to another: 8 exact ones on each side, then by its logarithm up to 128."""
    side, size = (16 if distance > 0 else 0), abs(distance)
    if size < 8:
        return side + size
    return side + min(15, 8 + int(math.log(size / 8) / math.log(128 / 8) * 8))


def forward(tensors: dict[str, Array], ids: list[int]) -> Array:
    name = "encoder.layer.0"
    x = tensors["embeddings.word_embeddings.weight"][ids]
    x = norm(
        tensors,
        "embeddings.LayerNorm",
        x + tensors["embeddings.position_embeddings.weight"][2 : 2 + len(ids)],
    )
    q, k, v = (dense(tensors, f"{name}.attention.attn.{part}", x) for part in "qkv")
    bias = tensors["encoder.relative_attention_bias.weight"]
    places, size, context = range(len(ids)), WIDTH // HEADS, np.zeros_like(x)
    for head in range(HEADS):
        part = slice(head * size, (head + 1) * size)
        apart = np.array([[bias[bucket(there - here), head] for there in places] for here in places])
        powers = np.exp(q[:, part] @ k[:, part].T / math.sqrt(size) + apart)
        context[:, part] = powers / powers.sum(axis=1, keepdims=True) @ v[:, part]
    x = norm(tensors, f"{name}.attention.LayerNorm", x + dense(tensors, f"{name}.attention.attn.o", context))
    wide = dense(tensors, f"{name}.intermediate.dense", x)
    wide = np.vectorize(lambda value: value * 0.5 * math.erfc(-value / math.sqrt(2)))(wide)
    x = norm(tensors, f"{name}.output.LayerNorm", x + dense(tensors, f"{name}.output.dense", wide))
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_it_equals_the_forward_in_float64(tmp_path: Path) -> None:
    model = replace(small_model(tmp_path, WIDTH), max_tokens=300)
    dice, found = np.random.default_rng(1), {}
    for name, tensor in random_tensors(100, WIDTH).items():
        for bert, mpnet in NAMES.items():
            name = name.replace(bert, mpnet)
        found[name] = tensor
    del found["embeddings.token_type_embeddings.weight"]
    found["embeddings.position_embeddings.weight"] = dice.normal(size=(302, WIDTH)) / 8
    found["encoder.relative_attention_bias.weight"] = dice.normal(size=(BUCKETS, HEADS))
    found = {name: np.asarray(tensor, dtype="<f4").astype(float) for name, tensor in found.items()}
    write_tensors(tmp_path / WEIGHTS_FILE, found)
    build_graph(tmp_path / WEIGHTS_FILE, tmp_path / "model.onnx", model=model, precision="fp32")
    rows = [dice.integers(0, 100, size=length).tolist() for length in (3, TOKENS, 300)]

    vectors = OnnxSession(tmp_path / "model.onnx").run(rows)

    for row, vector in zip(rows, vectors, strict=True):
        assert np.abs(vector - forward(found, row)).max() < 1e-5
