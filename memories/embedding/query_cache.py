"""Query vectors: computed on background threads while keywords are searched, cached in memory and Redis."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from storage.shared_cache import shared_cache

from .session import Vectors

KIND = "query"
BYTES = 4 * 384
UNIT_TOLERANCE = 1e-3
KEPT_S = 24 * 3600  # in Redis; a question comes again on the same day or hardly ever


def resolved_future(vector: Vectors) -> Future[Vectors]:
    """A finished future with this vector."""
    future: Future[Vectors] = Future()
    future.set_result(vector)
    return future


def shared(encode: Callable[[str], Vectors], model_id: str) -> Callable[[str], Vectors]:
    """`encode` with Redis as a cache in front of it, if configured."""

    def run(text: str) -> Vectors:
        cache = shared_cache()
        if cache is None:
            return encode(text)
        name = f"{model_id}\0{text}"
        found = read_vector(cache.get(KIND, name))
        if found is None:
            found = encode(text)
            cache.put(KIND, name, found.astype("<f4").tobytes(), kept_s=KEPT_S)
        return found

    return run


def read_vector(stored: bytes | None) -> Vectors | None:
    """The vector in these bytes; None if they are not a unit vector."""
    if stored is None or len(stored) != BYTES:
        return None
    vector = np.frombuffer(stored, dtype="<f4").astype(np.float32)
    if not abs(float(vector @ vector) - 1.0) < UNIT_TOLERANCE:
        return None
    vector.flags.writeable = False
    return vector


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
