"""Vectors of questions are computed in the background, once for equal questions."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memories.embedding.encoder import QueryVectorCache
from memories.embedding.model import Vectors

LIMIT_S = 10


class Maker:
    """Encodes when released; fails a set number of times."""

    def __init__(self, *, failures: int = 0) -> None:
        self.may_go = threading.Event()
        self.made: list[str] = []
        self._failures = failures

    def __call__(self, text: str) -> Vectors:
        assert self.may_go.wait(LIMIT_S)
        self.made.append(text)
        if len(self.made) <= self._failures:
            raise RuntimeError("no memory left")
        return np.full(384, len(text), dtype=np.float32)


def test_two_who_ask_the_same_at_once_wait_for_one_vector() -> None:
    make = Maker()
    with ThreadPoolExecutor(2) as pool:
        vectors = QueryVectorCache(make, pool=pool, size=10)
        first, second = vectors.of("which port?"), vectors.of("which port?")
        assert not first.done()
        make.may_go.set()
        assert first.result(LIMIT_S) is second.result(LIMIT_S)
    assert make.made == ["which port?"]


def test_what_failed_is_made_again() -> None:
    make = Maker(failures=1)
    make.may_go.set()
    with ThreadPoolExecutor(1) as pool:
        vectors = QueryVectorCache(make, pool=pool, size=10)
        with pytest.raises(RuntimeError, match="no memory left"):
            vectors.of("which port?").result(LIMIT_S)
        assert vectors.of("which port?").result(LIMIT_S)[0] == 11.0
        make.made, make._failures = [], 1
        with pytest.raises(RuntimeError, match="no memory left"):
            vectors.here("whose port?")
        assert vectors.here("whose port?").result()[0] == 11.0
    assert make.made == ["whose port?"] * 2


def test_who_asks_now_needs_no_other_thread() -> None:
    make = Maker()
    make.may_go.set()
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    vectors = QueryVectorCache(make, pool=pool, size=10)
    assert vectors.here("which port?") is vectors.here("which port?") is vectors.of("which port?")
    assert make.made == ["which port?"]


def test_none_is_kept_where_none_shall_be() -> None:
    make = Maker()
    make.may_go.set()
    with ThreadPoolExecutor(1) as pool:
        vectors = QueryVectorCache(make, pool=pool, size=0)
        for _ in range(2):
            assert vectors.of("a").result(LIMIT_S)[0] == 1.0
    assert make.made == ["a", "a"]
