"""Texts → unit vectors: order kept, padding kept small, query vectors remembered."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from typing import Final

import numpy as np

from .concurrency import CORES, available_cores
from .model_id import DIMENSIONS, MAX_TOKENS, MODEL_ID, model_id_of, window_of
from .query_cache import QueryVectorCache
from .session import OnnxSession, Vectors
from .tokenizer import TextTokenizer
from .windows import MIN_WINDOW, Window, split_text

# Measured on CPU: 8 texts of like length per run are the fastest; larger batches fall out of the cache.
BATCH_TEXTS: Final = 8
# Padding included. The largest run sets the process's peak memory: 2,048 took 210 MB more and was no faster.
BATCH_TOKENS: Final = 1024
SPECIAL_TOKENS: Final = 2  # [CLS] and [SEP]


class Encoder:
    """The embedding model of this process. Safe to share between threads."""

    model_id: str = MODEL_ID
    max_tokens: int = MAX_TOKENS

    def __init__(
        self,
        tokenizer: TextTokenizer,
        session: OnnxSession,
        *,
        threads: int = 0,
        query_cache: int = 4096,
    ) -> None:
        self.max_tokens = MAX_TOKENS
        self.model_id = MODEL_ID
        cores = threads or available_cores()
        self._tokenizer = tokenizer
        self._session = session
        # Short calls (queries, single memories) share these; long ones have as many workers of their own, so
        # that an import slows a query down but never keeps it waiting for a whole batch.
        self._permits = threading.BoundedSemaphore(cores)
        self._workers = ThreadPoolExecutor(cores, thread_name_prefix="loci-encode")
        self._query_cache = query_cache
        self._askers = ThreadPoolExecutor(cores, thread_name_prefix="loci-question")
        self._asked = QueryVectorCache(self._encode_one, pool=self._askers, size=query_cache)
        self._by_window = {self.max_tokens: self}

    def with_window(self, max_tokens: int) -> "Encoder":
        """Give the encoder that reads windows of so many tokens; it shares the session, the threads and the limits."""
        if max_tokens not in self._by_window:
            other = copy(self)
            other.max_tokens, other.model_id = max_tokens, model_id_of(max_tokens)
            other._asked = QueryVectorCache(other._encode_one, pool=self._askers, size=self._query_cache)
            return self._by_window.setdefault(max_tokens, other)
        return self._by_window[max_tokens]

    def of_model(self, model_id: str) -> "Encoder | None":
        """Give the encoder whose vectors bear this id; None where it takes another model than the one loaded."""
        window = window_of(model_id)
        return None if window is None else self.with_window(window)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Give float32[n, 384], unit length, in the texts' order; what exceeds the window is cut off."""
        rows = self._tokenizer.ids(texts, max_tokens=self.max_tokens)
        vectors = np.empty((len(rows), DIMENSIONS), dtype=np.float32)
        batches = list(_batches([len(row) for row in rows]))
        runs = [[rows[index] for index in batch] for batch in batches]
        answers = map(self._run, runs) if len(runs) < 2 else self._workers.map(self._session.run, runs)
        for batch, answer in zip(batches, answers, strict=True):
            vectors[batch] = answer
        return vectors

    def encode_query(self, text: str) -> Vectors:
        """Give float32[384], unit length, read-only; the last few thousand queries are remembered."""
        return self._asked.here(text).result()

    def question_vector(self, text: str) -> "Future[Vectors]":
        """Give what encode_query() does; where a core is idle it is given at once, still being made there."""
        return self._asked.of(text) if CORES.has_spare() else self._asked.here(text)

    def count_tokens(self, text: str) -> int:
        """Give the number of tokens without [CLS] and [SEP], uncut."""
        return self._tokenizer.count(text)

    def split(self, text: str, *, reserve: int = 0, overlap: int = 32) -> list[Window]:
        """Give windows that cover the text; each fits the encoder and leaves room for `reserve` more tokens.

        Cuts fall at the end of a paragraph, line, sentence or word where there is one in the window's second
        half; up to `overlap` tokens are repeated. A text that fits is one span.

        Raises:
            ValueError: `reserve` leaves less than 16 tokens.
        """
        window = self.max_tokens - SPECIAL_TOKENS - reserve
        return split_text(text, self._tokenizer, window=window, overlap=overlap)

    def split_many(self, texts: Sequence[str], *, reserves: Sequence[int]) -> list[list[Window]]:
        """Give each text's windows as split() does, with room for as many more tokens as its place in `reserves` has."""
        limits = [self.max_tokens - SPECIAL_TOKENS - reserve for reserve in reserves]
        return [
            [Window(0, len(text), count)]
            if count <= limit and limit >= MIN_WINDOW
            else self.split(text, reserve=reserve)
            for text, count, limit, reserve in zip(
                texts, self._tokenizer.counts(texts), limits, reserves, strict=True
            )
        ]

    def query_cache_hits(self) -> int:
        """Give how often a query's vector was remembered."""
        return self._asked.hits

    def _encode_one(self, text: str) -> Vectors:
        rows = self._tokenizer.ids([text], max_tokens=self.max_tokens)
        with self._permits:
            vector: Vectors = self._session.run(rows)[0]
        vector.setflags(write=False)  # every caller gets the same array
        return vector

    def _run(self, rows: list[list[int]]) -> Vectors:
        with self._permits:
            return self._session.run(rows)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indexes of texts of like length, longest first: a machine too small for them fails at once."""
    batch: list[int] = []
    widest = 0
    for index in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if batch and (len(batch) == BATCH_TEXTS or widest * (len(batch) + 1) > BATCH_TOKENS):
            yield batch
            batch = []
        widest = widest if batch else lengths[index]
        batch.append(index)
    if batch:
        yield batch
