"""Texts → unit vectors, in order, with little padding; query vectors are cached."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Final

import numpy as np

from memories.embedding.concurrency import CORES, ENDING, cores_to_embed, yield_to_answers
from memories.embedding.manifest import MINILM, WINDOW, Model
from memories.embedding.model import (
    QUESTION_S,
    STORE_S,
    ModelUnavailable,
    TextTokenizer,
    TokenSpan,
    Vectors,
    VectorSession,
    unit_rows,
)

_SENTENCE_ENDS: Final = frozenset(".!?…。！？")
# Closing marks that may come between a sentence's end and the white space after it.
_CLOSERS: Final = "\"'”’)]»」』"
# Tokens; a smaller window has too little context.
_MIN_WINDOW: Final = 16


@dataclass(frozen=True)
class Window:
    """A window of a text: character offsets, and the number of tokens without [CLS] and [SEP]."""

    start: int
    end: int
    tokens: int


class _CutQuality(IntEnum):
    """How good a cut between two tokens is; higher is better."""

    INSIDE_WORD = 0
    WORD = 1
    SPACE = 2
    SENTENCE = 3
    LINE = 4
    PARAGRAPH = 5


def split_text(text: str, tokenizer: TextTokenizer, *, window: int, overlap: int) -> list[Window]:
    """Windows of at most `window` tokens that cover the whole text, each repeating up to `overlap` tokens.

    A text that fits is one window. White space belongs to the window before it.
    """
    if window < _MIN_WINDOW:
        raise ValueError(f"A window of {window} tokens is too small; at least {_MIN_WINDOW} are needed.")
    count = tokenizer.count(text)  # takes a third of the time of the tokens' offsets
    if count <= window:
        return [Window(0, len(text), count)]
    tokens = tokenizer.tokens(text)
    # Half a window at most, so that each window begins after the one before it.
    overlap = min(max(overlap, 0), window // 2 - 1)
    windows, first, stop = list[Window](), 0, 0
    while stop < len(tokens):
        stop, found = _fit_window(text, tokens, tokenizer, first, window)
        windows.append(found)
        if stop < len(tokens):
            first = _find_next_start(text, tokens, first, stop, overlap)
    return windows


def _fit_window(
    text: str, tokens: list[TokenSpan], tokenizer: TextTokenizer, first: int, window: int
) -> tuple[int, Window]:
    """The window from token `first` on, with the index of the token after it."""

    def window_until(stop: int) -> Window:
        start = tokens[first].start if first else 0
        end = tokens[stop].start if stop < len(tokens) else len(text)
        return Window(start, end, tokenizer.count(text[start:end]))

    stop = _find_stop(text, tokens, first, window)
    found = window_until(stop)
    while found.tokens > window and stop > first + 1:
        # The rest of a word cut in two is tokenized differently; drop the excess tokens.
        stop = max(first + 1, stop - (found.tokens - window))
        found = window_until(stop)
    return stop, found


def _find_stop(text: str, tokens: list[TokenSpan], first: int, window: int) -> int:
    """The best cut in the second half of the window; of equal ones the last."""
    last = first + window
    if last >= len(tokens):
        return len(tokens)
    return max(
        range(first + window // 2, last + 1), key=lambda index: (_cut_quality(text, tokens, index), index)
    )


def _find_next_start(text: str, tokens: list[TokenSpan], first: int, stop: int, overlap: int) -> int:
    """The best start of the next window within the overlap; of equal ones the first, which repeats more."""
    places = range(max(first + 1, stop - overlap), max(first + 2, stop)) if overlap else (stop,)
    return max(
        places, key=lambda index: (min(_cut_quality(text, tokens, index), _CutQuality.SENTENCE), -index)
    )


def _cut_quality(text: str, tokens: list[TokenSpan], index: int) -> _CutQuality:
    before, after = tokens[index - 1], tokens[index]
    gap = text[before.end : after.start]
    if "\n" in gap:
        return _CutQuality.PARAGRAPH if gap.count("\n") > 1 else _CutQuality.LINE
    ending = text[max(0, before.end - 3) : before.end].rstrip(_CLOSERS)
    if ending and ending[-1] in _SENTENCE_ENDS and (gap or ending[-1] in "。！？"):
        return _CutQuality.SENTENCE
    if gap:
        return _CutQuality.SPACE
    return _CutQuality.INSIDE_WORD if before.word == after.word else _CutQuality.WORD


class QueryVectorCache:
    """Vectors of the last `size` queries. Safe to share between threads; equal queries at one time share a computation."""

    def __init__(self, encode: Callable[[str], Vectors], *, pool: ThreadPoolExecutor, size: int) -> None:
        self._encode = encode
        self._pool = pool
        self._size = size
        self._lock = threading.Lock()
        self._cached: OrderedDict[str, Future[Vectors]] = OrderedDict()

    def of(self, text: str) -> Future[Vectors]:
        """Vector of a query, perhaps still being computed: float32[width], unit length, read-only."""
        with self._lock:
            return self._find(text) or self._store(text, self._pool.submit(self._encode, text))

    def here(self, text: str) -> Future[Vectors]:
        """The same as of(), computed on the caller's thread if not cached: a process that exits has no other threads."""
        own: Future[Vectors] = Future()
        with self._lock:
            future = self._find(text) or self._store(text, own)
        if future is own:
            try:
                own.set_result(self._encode(text))
            except BaseException as error:
                own.set_exception(error)  # other threads may wait for it
                raise
        return future

    def _find(self, text: str) -> Future[Vectors] | None:
        future = self._cached.get(text)
        if future is None or (future.done() and future.exception()):
            return None
        self._cached.move_to_end(text)
        return future

    def _store(self, text: str, future: Future[Vectors]) -> Future[Vectors]:
        self._cached[text] = future
        while len(self._cached) > self._size:
            self._cached.popitem(last=False)
        return future


# Measured on CPU: 8 texts of similar length per run are fastest; larger batches exceed the CPU cache.
_BATCH_TEXTS: Final = 8
_SPECIAL_TOKENS: Final = 2  # [CLS] and [SEP]


class Encoder:
    """An embedding model of this process. Safe to share between threads."""

    model: Model = MINILM
    max_tokens: int = WINDOW

    def __init__(
        self,
        tokenizer: TextTokenizer,
        session: VectorSession,
        *,
        model: Model = MINILM,
        centre: Vectors | None = None,
        threads: int = 0,
        query_cache: int = 4096,
    ) -> None:
        """`centre` (float32[width]) is subtracted from every vector."""
        cores = threads or cores_to_embed()
        self.model, self._centre = model, centre
        self.max_tokens = min(self.max_tokens, model.max_tokens)
        self.model_id = model.id_of(self.max_tokens)
        self._added_tokens = _SPECIAL_TOKENS + tokenizer.count(model.text_prefix)
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
        max_tokens = min(max_tokens, self.model.max_tokens)
        if max_tokens not in self._by_window:
            other = copy(self)
            other.max_tokens, other.model_id = max_tokens, self.model.id_of(max_tokens)
            other._query_vectors = QueryVectorCache(
                other._encode_one, pool=self._query_workers, size=self._query_cache_size
            )
            return self._by_window.setdefault(max_tokens, other)
        return self._by_window[max_tokens]

    def of_model(self, model_id: str) -> "Encoder | None":
        """The encoder of this model id; None for another model than the loaded one."""
        window = self.model.window_of(model_id)
        return None if window is None else self.with_window(window)

    def encode(self, texts: Sequence[str], *, patience_s: float | None = None) -> Vectors:
        """Vectors of texts, float32[n, width], unit length, in their order; text beyond the window is ignored.

        `patience_s`: that the caller waits for each batch of an endpoint; None: long.

        Raises:
            ModelUnavailable: the process is ending, or the model's endpoint does not answer.
        """
        rows, places = _unique(self._ids(texts, self.model.text_prefix))
        vectors = np.empty((len(rows), self.model.width), dtype=np.float32)
        batches = list(plan_batches([len(row) for row in rows], self._session.batch_tokens))
        runs = [[rows[index] for index in batch] for batch in batches]
        alone, one_of_many = (
            partial(run, patience_s=patience_s) for run in (self._run, self._run_unless_ending)
        )
        answers = map(alone, runs) if len(runs) < 2 else self._workers.map(one_of_many, runs)
        for batch, answer in zip(batches, answers, strict=True):
            vectors[batch] = answer
        return self._centred(vectors)[places]

    def encode_unless(self, texts: Sequence[str], is_gone: threading.Event) -> Vectors | None:
        """The vectors as encode() returns them, computed in this thread; None as soon as `is_gone` is set."""
        rows, places = _unique(self._ids(texts, self.model.text_prefix))
        vectors = np.empty((len(rows), self.model.width), dtype=np.float32)
        for batch in plan_batches([len(row) for row in rows], self._session.batch_tokens):
            if is_gone.is_set():
                return None
            vectors[batch] = self._session.run([rows[index] for index in batch], STORE_S)
        return self._centred(vectors)[places]

    def encode_query(self, text: str) -> Vectors:
        """Vector float32[width] of a query, unit length, read-only; the last few thousand are cached."""
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
        window = self.max_tokens - self._added_tokens - reserve
        return split_text(text, self._tokenizer, window=window, overlap=overlap)

    def split_many(self, texts: Sequence[str], *, reserves: Sequence[int]) -> list[list[Window]]:
        """Windows of each text, as split() with the text's own value of `reserves`."""
        limits = [self.max_tokens - self._added_tokens - reserve for reserve in reserves]
        return [
            [Window(0, len(text), count)]
            if count <= limit and limit >= _MIN_WINDOW
            else self.split(text, reserve=reserve)
            for text, count, limit, reserve in zip(
                texts, self._tokenizer.counts(texts), limits, reserves, strict=True
            )
        ]

    def _encode_one(self, text: str) -> Vectors:
        rows = self._ids([text], self.model.question_prefix)
        with self._query_permits:
            vector: Vectors = self._centred(self._session.run(rows, QUESTION_S))[0]
        vector.setflags(write=False)  # every caller gets the same array
        return vector

    def _ids(self, texts: Sequence[str], prefix: str) -> list[list[int]]:
        read = [prefix + text for text in texts] if prefix else texts
        return self._tokenizer.ids(read, max_tokens=self.max_tokens)

    def _centred(self, vectors: Vectors) -> Vectors:
        return vectors if self._centre is None else unit_rows(vectors - self._centre)

    def _run(self, rows: list[list[int]], patience_s: float | None) -> Vectors:
        with self._permits:
            return self._session.run(rows, patience_s)

    def _run_unless_ending(self, rows: list[list[int]], patience_s: float | None) -> Vectors:
        if ENDING.is_set():
            raise ModelUnavailable(
                "The process is ending.", hint="The vectors are computed after its next start."
            )
        return self._session.run(rows, patience_s)


def plan_batches(lengths: Sequence[int], most_tokens: int) -> Iterator[list[int]]:
    """Batches of indexes of texts of similar length, longest first: a machine with too little memory fails at once."""
    batch: list[int] = []
    widest = 0
    for index in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if batch and (len(batch) == _BATCH_TEXTS or widest * (len(batch) + 1) > most_tokens):
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
