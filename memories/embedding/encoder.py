"""Texts → unit vectors, in order, with little padding; query vectors are cached."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from typing import Final

import numpy as np

from .concurrency import CORES, ENDING, cores_to_embed, yield_to_answers
from .errors import ModelUnavailable
from .model_id import DIMENSIONS, MAX_TOKENS, MODEL_ID, model_id_of, window_of
from .query_cache import QueryVectorCache
from .session import OnnxSession, Vectors
from .tokenizer import TextTokenizer
from .windows import MIN_WINDOW, Window, split_text

# Measured on CPU: 8 texts of similar length per run are fastest; larger batches exceed the CPU cache.
BATCH_TEXTS: Final = 8
# Padding included. The largest run sets the process's peak memory: 2,048 used 210 MB more and was no faster.
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
        cores = threads or cores_to_embed()
        self._tokenizer = tokenizer
        self._session = session
        # Queries, single memories and long texts each have as many permits or workers of their own, so that stores and
        # imports slow a query down but never make it wait for one of their batches.
        self._query_permits = threading.BoundedSemaphore(cores)
        self._permits = threading.BoundedSemaphore(cores)
        self._workers = ThreadPoolExecutor(
            cores, thread_name_prefix="loci-encode", initializer=yield_to_answers
        )
        self._query_cache_size = query_cache
        self._query_workers = ThreadPoolExecutor(cores, thread_name_prefix="loci-question")
        self._query_vectors = QueryVectorCache(self._encode_one, pool=self._query_workers, size=query_cache)
        self._by_window = {self.max_tokens: self}

    def with_window(self, max_tokens: int) -> "Encoder":
        """The encoder with a window of this many tokens; it shares the session, the threads and the limits."""
        if max_tokens not in self._by_window:
            other = copy(self)
            other.max_tokens, other.model_id = max_tokens, model_id_of(max_tokens)
            other._query_vectors = QueryVectorCache(
                other._encode_one,
                pool=self._query_workers,
                size=self._query_cache_size,
            )
            return self._by_window.setdefault(max_tokens, other)
        return self._by_window[max_tokens]

    def of_model(self, model_id: str) -> "Encoder | None":
        """The encoder of this model id; None for another model than the loaded one."""
        window = window_of(model_id)
        return None if window is None else self.with_window(window)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors float32[n, 384], unit length, in the texts' order; text beyond the window is ignored.

        Raises:
            ModelUnavailable: the process is ending.
        """
        rows, places = _unique(self._tokenizer.ids(texts, max_tokens=self.max_tokens))
        vectors = np.empty((len(rows), DIMENSIONS), dtype=np.float32)
        batches = list(plan_batches([len(row) for row in rows]))
        runs = [[rows[index] for index in batch] for batch in batches]
        answers = map(self._run, runs) if len(runs) < 2 else self._workers.map(self._run_unless_ending, runs)
        for batch, answer in zip(batches, answers, strict=True):
            vectors[batch] = answer
        return vectors[places]

    def encode_unless(self, texts: Sequence[str], is_gone: threading.Event) -> Vectors | None:
        """The vectors as encode() returns them, computed in this thread; None as soon as `is_gone` is set."""
        rows, places = _unique(self._tokenizer.ids(texts, max_tokens=self.max_tokens))
        vectors = np.empty((len(rows), DIMENSIONS), dtype=np.float32)
        for batch in plan_batches([len(row) for row in rows]):
            if is_gone.is_set():
                return None
            vectors[batch] = self._session.run([rows[index] for index in batch])
        return vectors[places]

    def encode_query(self, text: str) -> Vectors:
        """Vector float32[384] of a query, unit length, read-only; the last few thousand are cached."""
        return self._query_vectors.here(text).result()

    def question_vector(self, text: str) -> "Future[Vectors]":
        """The same as encode_query(), as a future: computed in the background if a core is idle."""
        return self._query_vectors.of(text) if CORES.has_spare() else self._query_vectors.here(text)

    def count_tokens(self, text: str) -> int:
        """Number of tokens without [CLS] and [SEP], not truncated."""
        return self._tokenizer.count(text)

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """count_tokens() of each text."""
        return self._tokenizer.counts(texts)

    def split(self, text: str, *, reserve: int = 0, overlap: int = 32) -> list[Window]:
        """Windows that cover the text; each fits the encoder with `reserve` more tokens.

        Windows end with a paragraph, line, sentence or word if one ends in the window's second half; up to `overlap`
        tokens are repeated. A text that fits is one window.

        Raises:
            ValueError: `reserve` leaves less than 16 tokens.
        """
        window = self.max_tokens - SPECIAL_TOKENS - reserve
        return split_text(text, self._tokenizer, window=window, overlap=overlap)

    def split_many(self, texts: Sequence[str], *, reserves: Sequence[int]) -> list[list[Window]]:
        """Windows of each text, as split() with the text's own value of `reserves`."""
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
        """How often a query's vector was found in the cache."""
        return self._query_vectors.hits

    def _encode_one(self, text: str) -> Vectors:
        rows = self._tokenizer.ids([text], max_tokens=self.max_tokens)
        with self._query_permits:
            vector: Vectors = self._session.run(rows)[0]
        vector.setflags(write=False)  # every caller gets the same array
        return vector

    def _run(self, rows: list[list[int]]) -> Vectors:
        with self._permits:
            return self._session.run(rows)

    def _run_unless_ending(self, rows: list[list[int]]) -> Vectors:
        if ENDING.is_set():
            raise ModelUnavailable(
                "The process is ending.", hint="The vectors are computed after its next start."
            )
        return self._session.run(rows)


def plan_batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Batches of indexes of texts of similar length, longest first: a machine with too little memory fails at once."""
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


def _unique(rows: list[list[int]]) -> tuple[list[list[int]], list[int]]:
    """Each row once, and the place of each row among them: a text that repeats a word is one window, many times."""
    known = {tuple(row): row for row in rows}
    places = {key: place for place, key in enumerate(known)}
    return [*known.values()], [places[tuple(row)] for row in rows]
