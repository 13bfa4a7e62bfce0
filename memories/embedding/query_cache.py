"""Query vectors: computed on background threads while keywords are searched, cached in memory."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from .session import Vectors


def resolved_future(vector: Vectors) -> Future[Vectors]:
    """A finished future with this vector."""
    future: Future[Vectors] = Future()
    future.set_result(vector)
    return future


class QueryVectorCache:
    """Vectors of the last `size` queries. Safe to share between threads; equal queries at one time share a computation."""

    def __init__(self, encode: Callable[[str], Vectors], *, pool: ThreadPoolExecutor, size: int) -> None:
        self._encode = encode
        self._pool = pool
        self._size = size
        self._lock = threading.Lock()
        self._cached: OrderedDict[str, Future[Vectors]] = OrderedDict()
        self.hits = 0

    def of(self, text: str) -> Future[Vectors]:
        """Vector of a query, perhaps still being computed: float32[384], unit length, read-only."""
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
        self.hits += 1
        self._cached.move_to_end(text)
        return future

    def _store(self, text: str, future: Future[Vectors]) -> Future[Vectors]:
        self._cached[text] = future
        while len(self._cached) > self._size:
            self._cached.popitem(last=False)
        return future
