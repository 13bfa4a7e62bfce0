"""Interpreter settings for blocks that create many objects at once."""

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# New objects between two looks for cycles, of which a batch has none: with Python's 700, the looks take a twentieth.
GC_THRESHOLD: Final = 10_000
SWITCH_INTERVAL_S: Final = 0.0002  # of a thread, while others wait for the interpreter; as Python has it, a batch waits 5 ms at a time
_lock = threading.Lock()
_defaults: list[tuple[int, float]] = []  # as it was before the first of the blocks that run now


@contextmanager
def bulk_work() -> Iterator[None]:
    """Look for cycles less often meanwhile, and let threads take shorter turns.

    Blocks may overlap in several threads; what is rarer or shorter already stays.
    """
    with _lock:
        usual, turn_s = _defaults[0] if _defaults else (gc.get_threshold()[0], sys.getswitchinterval())
        _defaults.append((usual, turn_s))
        _look_after(max(usual, GC_THRESHOLD) if usual else 0)  # nought: it never looks
        sys.setswitchinterval(min(turn_s, SWITCH_INTERVAL_S))
    try:
        yield
    finally:
        with _lock:
            before = _defaults.pop()
            if not _defaults:
                _look_after(before[0])
                sys.setswitchinterval(before[1])


def _look_after(young: int) -> None:
    gc.set_threshold(young, *gc.get_threshold()[1:])
