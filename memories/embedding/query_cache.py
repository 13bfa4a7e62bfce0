"""The vectors of questions: made in threads of their own, while whoever asks looks for words, and remembered."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from .session import Vectors


def resolved_future(vector: Vectors) -> Future[Vectors]:
    """Give a vector that is there as one that was being made."""
    made: Future[Vectors] = Future()
    made.set_result(vector)
    return made


class QueryVectorCache:
    """The last few thousand questions' vectors. Safe to share between threads; who ask the same at once share one."""

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
            return self._known(text) or self._keep(text, self._pool.submit(self._encode, text))

    def here(self, text: str) -> Future[Vectors]:
        """Give what of() does, made by the caller's thread where it is not there: a process that ends has no others."""
        made: Future[Vectors] = Future()
        with self._lock:
            known = self._known(text) or self._keep(text, made)
        if known is made:
            try:
                made.set_result(self._encode(text))
            except BaseException as fault:
                made.set_exception(fault)  # others may wait for it
                raise
        return known

    def _known(self, text: str) -> Future[Vectors] | None:
        known = self._kept.get(text)
        if known is None or (known.done() and known.exception()):
            return None
        self.hits += 1
        self._kept.move_to_end(text)
        return known

    def _keep(self, text: str, made: Future[Vectors]) -> Future[Vectors]:
        self._kept[text] = made
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return made
