"""Long texts wait for their vectors in a queue of their own, outside the threads that answer and write.

A server's job that needs the vectors of a long text leaves its database thread by raising VectorsNeeded. Whoever runs the
job waits for the queue and starts it again; the second time it finds the vectors. Nothing is written before that. Commands
and background jobs have no such runner and embed in place.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, TypeVar

from memories.embedding.concurrency import yield_to_answers
from memories.embedding.encoder import Encoder, Window
from memories.embedding.model import STORE_S, ModelUnavailable, Vectors
from storage.call_state import CallState

# Beyond this a text is stored at once and the worker embeds it: 64 windows take a core one to two seconds.
MAX_WINDOWS: Final = 64
SHORT_WINDOWS: Final = 8  # embedded in place: about as long as the rest of a store
MAX_WAITING: Final = 4  # long texts per process, the one being embedded included
TOO_LONG: Final = "the text is long, so words find it now and its vectors are computed later"
_TOO_MANY: Final = "many long texts are waiting, so words find it now and its vectors are computed later"

R = TypeVar("R")
TextKey: TypeAlias = tuple[str, str]  # the text as the model reads it, and the model's id


class LongText(NamedTuple):
    """The windows of a long text, and the texts to embed for them."""

    key: TextKey
    encoder: Encoder
    spans: Sequence[Window]
    texts: Sequence[str]


class LongVectors(NamedTuple):
    """The windows of a long text with their vectors (float32[n, width]); None: they are made later, and why."""

    spans: Sequence[Window]
    vectors: Vectors | None
    owed_because: str = ""


class VectorsNeeded(BaseException):
    """A job must wait for the vectors of a long text. Not an Exception: no handler may take it for a failure."""

    def __init__(self, text: LongText) -> None:
        super().__init__()
        self.text = text


@dataclass(frozen=True)
class Handover:
    """The vectors that were computed for a job which is started again."""

    known: dict[TextKey, LongVectors]
    is_apart: bool = False  # no text is embedded in place, see run_apart()


_HANDOVER: CallState[Handover] = CallState("loci_long_texts")


@contextmanager
def restartable(known: dict[TextKey, LongVectors]) -> Iterator[None]:
    """Allow the job in the block to raise VectorsNeeded; `known` holds what earlier attempts waited for."""
    with _HANDOVER.holding(Handover(known)):
        yield


def known_vectors(key: TextKey) -> LongVectors | None:
    """What an earlier attempt of this job waited for; None if this is the first attempt."""
    handover = _HANDOVER.get()
    return handover.known.get(key) if handover is not None else None


def embed_long_text(text: LongText) -> LongVectors:
    """Vectors of a text of any length: in place if it is short or the job cannot be started again.

    Raises:
        VectorsNeeded: the runner of the job waits for the queue and starts it again.
    """
    handover = _HANDOVER.get()
    if handover is not None and (handover.is_apart or len(text.texts) > SHORT_WINDOWS):
        raise VectorsNeeded(text)
    return _embed_here(text)


def _embed_here(text: LongText) -> LongVectors:
    try:
        return LongVectors(text.spans, text.encoder.encode(text.texts, patience_s=STORE_S))
    except ModelUnavailable:
        return LongVectors(text.spans, None)


def run_apart(job: Callable[[], R]) -> R:
    """Run a job that is one transaction: it ends before each text is embedded, and starts again with the vectors.

    So no writer waits for the lock while a text is embedded.
    """
    outer, known = _HANDOVER.get(), dict[TextKey, LongVectors]()
    while True:
        both = (outer.known if outer is not None else {}) | known
        try:
            with _HANDOVER.holding(Handover(both, is_apart=True)):
                return job()
        except VectorsNeeded as needed:
            text = needed.text
        if outer is not None and len(text.texts) > SHORT_WINDOWS:
            raise VectorsNeeded(text)
        known[text.key] = _embed_here(text)


class LongTextQueue:
    """Embeds one long text at a time in one thread; at most `max_waiting` are accepted."""

    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self._max_waiting = max_waiting
        self._waiting = 0
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(
            1, thread_name_prefix="loci-long-text", initializer=yield_to_answers
        )

    async def embed(self, text: LongText) -> LongVectors:
        """Wait for the vectors of a text. If the caller is cancelled, the work ends with the current batch."""
        with self._lock:
            if self._waiting >= self._max_waiting:
                return LongVectors(text.spans, None, _TOO_MANY)
            self._waiting += 1
        is_gone = threading.Event()
        future = self._thread.submit(text.encoder.encode_unless, text.texts, is_gone)
        future.add_done_callback(self._leave)
        try:
            return LongVectors(text.spans, await asyncio.wrap_future(future))
        except asyncio.CancelledError:
            is_gone.set()
            raise
        except ModelUnavailable:
            return LongVectors(text.spans, None)

    def _leave(self, _future: "Future[Vectors | None]") -> None:
        with self._lock:
            self._waiting -= 1


LONG_TEXTS = LongTextQueue()
