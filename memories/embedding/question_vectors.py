"""The vectors of questions: made in threads of their own, while whoever asks looks for words, and remembered."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from .session import Vectors


class QuestionVectors:
    """The last few thousand questions' vectors. Safe to share between threads; the same question is never made twice."""

    def __init__(self, encode: Callable[[str], Vectors], *, pool: ThreadPoolExecutor, size: int) -> None:
        self._encode = encode
        self._pool = pool
        self._size = size
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Future[Vectors]] = OrderedDict()
        self.hits = 0

    def of(self, text: str) -> Future[Vectors]:
        """Give the vector of a question, which may still be being made: float32[384], unit length, read-only."""
        with self._lock:
            known = self._kept.get(text)
            if known is not None and not (known.done() and known.exception()):
                self.hits += 1
                self._kept.move_to_end(text)
                return known
            made = self._kept[text] = self._pool.submit(self._encode, text)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
            return made
