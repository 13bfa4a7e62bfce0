"""Vectors kept on disk by model and text, so that the same texts are embedded once for many evaluations."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memories.embedding import DIMENSIONS, Encoder, Window
from memories.embedding.query_cache import resolved_future

Vectors = NDArray[np.float32]
RECORD = np.dtype([("digest", "V32"), ("vector", "<f4", DIMENSIONS)])


class VectorCache:
    """A file of records that only grows: the SHA-256 of the model and the text, then the vector (float32[384])."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        self._path = path
        whole = path.stat().st_size // RECORD.itemsize
        # A process that was killed while it wrote leaves a part of a record behind.
        if path.stat().st_size > whole * RECORD.itemsize:
            with path.open("r+b") as file:
                file.truncate(whole * RECORD.itemsize)
        self._known: dict[bytes, Vectors] = {}
        if whole:
            records = np.memmap(path, dtype=RECORD, mode="r", shape=(whole,))
            digests = records["digest"].tolist()
            self._known = dict(zip(digests, records["vector"], strict=True))

    def find(self, model: str, texts: Iterable[str]) -> dict[str, Vectors]:
        """Give the vectors that are there, by text."""
        digests = {text: _digest(model, text) for text in texts}
        return {text: self._known[digest] for text, digest in digests.items() if digest in self._known}

    def keep(self, model: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Keep the vector of each text."""
        records = np.empty(len(texts), dtype=RECORD)
        for index, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
            records[index] = (_digest(model, text), vector)
            self._known[_digest(model, text)] = vector
        # One unbuffered write, so that two processes do not mix their records.
        with self._path.open("ab", buffering=0) as file:
            file.write(records.tobytes())


class CachedEncoder(Encoder):
    """An encoder that embeds only what the cache does not hold."""

    # Encoder's own __init__ is left out on purpose: this one has no session, it hands on to one that has.
    def __init__(self, encoder: Encoder, cache: VectorCache, *, model: str) -> None:
        """`model` says which vectors these are: those of 8 bits are not quite those of full weights."""
        self._encoder = encoder
        self._cache = cache
        self._model = model
        self.model_id, self.max_tokens = encoder.model_id, encoder.max_tokens

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Give float32[n, 384] in the texts' order."""
        known = self._cache.find(self._model, texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            made = self._encoder.encode(new)
            self._cache.keep(self._model, new, made)
            known |= dict(zip(new, made, strict=True))
        return np.stack([known[text] for text in texts]) if texts else np.empty((0, DIMENSIONS), np.float32)

    def encode_query(self, text: str) -> Vectors:
        """Give float32[384]."""
        [vector] = self.encode([text])
        return np.asarray(vector)

    def question_vector(self, text: str) -> Future[Vectors]:
        """Give what encode_query() does, made already."""
        return resolved_future(self.encode_query(text))

    def count_tokens(self, text: str) -> int:
        """Give the number of tokens, uncut."""
        return self._encoder.count_tokens(text)

    def split(self, text: str, *, reserve: int = 0, overlap: int = 32) -> list[Window]:
        """Give windows that cover the text."""
        return self._encoder.split(text, reserve=reserve, overlap=overlap)

    def split_many(self, texts: Sequence[str], *, reserves: Sequence[int]) -> list[list[Window]]:
        """Give each text's windows."""
        return self._encoder.split_many(texts, reserves=reserves)

    def query_cache_hits(self) -> int:
        """Give how often the encoder behind remembered a question."""
        return self._encoder.query_cache_hits()


def _digest(model: str, text: str) -> bytes:
    return sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).digest()
