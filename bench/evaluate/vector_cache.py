"""Vectors cached on disk by model and text, so that repeated evaluations embed a text once."""

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memories.embedding import Encoder
from memories.embedding.manifest import MINILM
from storage.locks import take_lock

Vectors = NDArray[np.float32]


class VectorCache:
    """An append-only file of records: SHA-256 of the model and the text, then the vector (float32[width])."""

    def __init__(self, path: Path, width: int = MINILM.width) -> None:
        self._record = np.dtype([("digest", "V32"), ("vector", "<f4", width)])
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        self._path = path
        with path.open("r+b") as file:
            take_lock(file.fileno(), wait_s=math.inf)
            whole = path.stat().st_size // self._record.itemsize
            file.truncate(
                whole * self._record.itemsize
            )  # a process killed while writing leaves part of a record
        self._known: dict[bytes, Vectors] = {}
        if whole:
            records = np.memmap(path, dtype=self._record, mode="r", shape=(whole,))
            digests = records["digest"].tolist()
            self._known = dict(zip(digests, records["vector"], strict=True))

    def find(self, model: str, texts: Iterable[str]) -> dict[str, Vectors]:
        """The cached vectors, by text."""
        digests = {text: _digest(model, text) for text in texts}
        return {text: self._known[digest] for text, digest in digests.items() if digest in self._known}

    def add(self, model: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Append the vector of each text."""
        records = np.empty(len(texts), dtype=self._record)
        for index, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
            records[index] = (_digest(model, text), vector)
            self._known[_digest(model, text)] = vector
        with self._path.open("ab") as file:
            take_lock(file.fileno(), wait_s=math.inf)  # no other process cuts or mixes the records
            file.write(records.tobytes())


class CachedEncoder(Encoder):
    """An encoder that embeds only texts that are not in the cache."""

    # Encoder.__init__ is not called on purpose: session, tokenizer and limits are those of another encoder.
    def __init__(self, encoder: Encoder, cache: VectorCache, *, model: str) -> None:
        """`model` names the vectors in the cache: 8-bit weights give slightly different ones than full weights."""
        vars(self).update(vars(encoder))
        self._encoder = encoder
        self._cache = cache
        self._model = model

    def encode(self, texts: Sequence[str], *, patience_s: float | None = None) -> Vectors:
        """float32[n, width], in the order of the texts."""
        known = self._cache.find(self._model, texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            made = self._encoder.encode(new)
            self._cache.add(self._model, new, made)
            known |= dict(zip(new, made, strict=True))
        return (
            np.stack([known[text] for text in texts])
            if texts
            else np.empty((0, self.model.width), np.float32)
        )

    def encode_query(self, text: str) -> Vectors:
        """float32[width]."""
        if self.model.question_prefix != self.model.text_prefix:
            return self._encoder.encode_query(text)
        [vector] = self.encode([text])
        return np.asarray(vector)

    def question_vector(self, text: str) -> Future[Vectors]:
        """The result of encode_query() as a finished future."""
        future = Future[Vectors]()
        future.set_result(self.encode_query(text))
        return future


def _digest(model: str, text: str) -> bytes:
    return sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).digest()
