"""Vectors kept on disk by model and text, so that the same texts are embedded once for many evaluations."""

import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from memories.embedding import DIMENSIONS, Encoder, Span

Vectors = NDArray[np.float32]
LOOKUP = 500  # digests asked for at once


class VectorCache:
    """A file of vectors (float32[384]); the key is the SHA-256 of the model's id and the text. One thread's own."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = sqlite3.connect(path)
        # What is lost when the machine stops is made again.
        self._file.execute("PRAGMA synchronous = OFF")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS vector (digest BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
        )

    def __enter__(self) -> "VectorCache":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def find(self, model: str, texts: Iterable[str]) -> dict[str, Vectors]:
        """Give the vectors that are there, by text."""
        digests = {_digest(model, text): text for text in texts}
        wanted = list(digests)
        found: dict[str, Vectors] = {}
        for start in range(0, len(wanted), LOOKUP):
            part = wanted[start : start + LOOKUP]
            sql = f"SELECT digest, value FROM vector WHERE digest IN ({','.join('?' * len(part))})"  # noqa: S608 - question marks alone
            for digest, value in self._file.execute(sql, part):
                found[digests[digest]] = np.frombuffer(value, dtype="<f4")
        return found

    def keep(self, model: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Keep the vector of each text."""
        rows = [
            (_digest(model, text), v.astype("<f4").tobytes()) for text, v in zip(texts, vectors, strict=True)
        ]
        with self._file:
            self._file.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", rows)


class CachedEncoder(Encoder):
    """An encoder that embeds only what the cache does not hold."""

    # Encoder's own __init__ is left out on purpose: this one has no session, it hands on to one that has.
    def __init__(self, encoder: Encoder, cache: VectorCache) -> None:
        self._encoder = encoder
        self._cache = cache

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Give float32[n, 384] in the texts' order."""
        known = self._cache.find(self.model_id, texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            made = self._encoder.encode(new)
            self._cache.keep(self.model_id, new, made)
            known |= dict(zip(new, made, strict=True))
        return np.stack([known[text] for text in texts]) if texts else np.empty((0, DIMENSIONS), np.float32)

    def encode_query(self, text: str) -> Vectors:
        """Give float32[384]."""
        vector: Vectors = self.encode([text])[0]
        return vector

    def count_tokens(self, text: str) -> int:
        """Give the number of tokens, uncut."""
        return self._encoder.count_tokens(text)

    def split(self, text: str, *, reserve: int = 0, overlap: int = 32) -> list[Span]:
        """Give windows that cover the text."""
        return self._encoder.split(text, reserve=reserve, overlap=overlap)

    def query_cache_hits(self) -> int:
        """Give how often the encoder behind remembered a question."""
        return self._encoder.query_cache_hits()


def _digest(model: str, text: str) -> bytes:
    return sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).digest()
