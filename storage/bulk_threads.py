"""Interpreter settings for blocks that create many objects at once."""

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# New objects between two looks for cycles, of which a batch has none: with Python's 700, the looks take a twentieth.
YOUNG: Final = 10_000
TURN_S: Final = 0.0002  # of a thread, while others wait for the interpreter; as Python has it, a batch waits 5 ms at a time
_guard = threading.Lock()
_usual: list[tuple[int, float]] = []  # as it was before the first of the blocks that run now


@contextmanager
def bulk_work() -> Iterator[None]:
    """Look for cycles less often meanwhile, and let threads take shorter turns.

    Blocks may overlap in several threads; what is rarer or shorter already stays.
    """
    with _guard:
        usual, turn_s = _usual[0] if _usual else (gc.get_threshold()[0], sys.getswitchinterval())
        _usual.append((usual, turn_s))
        _look_after(max(usual, YOUNG) if usual else 0)  # nought: it never looks
        sys.setswitchinterval(min(turn_s, TURN_S))
    try:
        yield
    finally:
        with _guard:
            before = _usual.pop()
            if not _usual:
                _look_after(before[0])
                sys.setswitchinterval(before[1])


def _look_after(young: int) -> None:
    gc.set_threshold(young, *gc.get_threshold()[1:])
