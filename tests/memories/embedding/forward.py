"""The same model once more, in float64 and plain numpy, written from the paper and from the names of the tensors.

Only for comparison: it shares no line with the graph that Loci builds.
"""

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


def load_float64(path: Path) -> dict[str, Array]:
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    tensors = {}
    for name, info in json.loads(raw[8 : 8 + size]).items():
        if info.get("dtype") == "F32":
            start, end = (8 + size + offset for offset in info["data_offsets"])
            tensors[name] = np.frombuffer(raw[start:end], "<f4").reshape(info["shape"]).astype(np.float64)
    return tensors


def sentence_vector(tensors: dict[str, Array], ids: list[int]) -> Array:
    """One text without padding: mean of the last layer's tokens, unit length."""
    x = tensors["embeddings.word_embeddings.weight"][ids]
    x = x + tensors["embeddings.position_embeddings.weight"][: len(ids)]
    x = x + tensors["embeddings.token_type_embeddings.weight"][0]
    x = norm(tensors, "embeddings.LayerNorm", x)
    for number in range(6):
        x = layer(tensors, f"encoder.layer.{number}", x)
    mean = x.sum(axis=0) / len(ids)
    return mean / math.sqrt(float(mean @ mean))


def layer(tensors: dict[str, Array], name: str, x: Array) -> Array:
    q, k, v = (dense(tensors, f"{name}.attention.self.{part}", x) for part in ("query", "key", "value"))
    context = np.zeros_like(x)
    for head in range(12):
        part = slice(head * 32, head * 32 + 32)
        scores = q[:, part] @ k[:, part].T / math.sqrt(32)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        context[:, part] = powers / powers.sum(axis=1, keepdims=True) @ v[:, part]
    x = norm(
        tensors,
        f"{name}.attention.output.LayerNorm",
        x + dense(tensors, f"{name}.attention.output.dense", context),
    )
    wide = dense(tensors, f"{name}.intermediate.dense", x)
    wide = np.vectorize(lambda value: value * 0.5 * math.erfc(-value / math.sqrt(2)))(wide)
    return norm(tensors, f"{name}.output.LayerNorm", x + dense(tensors, f"{name}.output.dense", wide))


def dense(tensors: dict[str, Array], name: str, x: Array) -> Array:
    return x @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]


def norm(tensors: dict[str, Array], name: str, x: Array) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
    return centred / spread * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]
