"""How the interpreter works while many rows are made at once, and what is made ahead of them."""

import gc
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, TypeVar

# New objects between two looks for cycles, of which a batch has none: with Python's 700, the looks take a twentieth.
YOUNG: Final = 10_000
_guard = threading.Lock()
T = TypeVar("T")
_usual: list[int] = []  # as it was before the first of the blocks that run now


@contextmanager
def bulk_work() -> Iterator[None]:
    """Look for cycles less often meanwhile. Blocks may overlap in several threads; what is rarer already stays."""
    with _guard:
        usual = _usual[0] if _usual else gc.get_threshold()[0]
        _usual.append(usual)
        _look_after(max(usual, YOUNG) if usual else 0)  # nought: it never looks
    try:
        yield
    finally:
        with _guard:
            before = _usual.pop()
            if not _usual:
                _look_after(before)


def made_ahead(items: Iterator[T], *, name: str) -> Generator[T, None, None]:
    """Give what an iterator does, none of it None, in order; while one is worked on, a thread makes the next."""
    with ThreadPoolExecutor(1, thread_name_prefix=name) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item


def _look_after(young: int) -> None:
    gc.set_threshold(young, *gc.get_threshold()[1:])
