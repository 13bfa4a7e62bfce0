"""How the interpreter works while many rows are made at once and other threads of the process ask the database."""

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# A thread gives the interpreter up for each statement; to get it back from a busy one it waits for the end of a turn,
# and a batch of an import has some twenty statements in 50 ms. Python's own turns take 5 ms.
TURN_S: Final = 0.0005
# New objects between two looks for cycles, of which a batch has none: with Python's 700, the looks take a twentieth.
YOUNG: Final = 10_000
_guard = threading.Lock()
_usual: list[tuple[float, int]] = []  # as they were before the first of the blocks that run now


@contextmanager
def bulk_work() -> Iterator[None]:
    """Let the threads of this process take short turns meanwhile, and look for cycles less often.

    Blocks may overlap in several threads. What is set to less already stays.
    """
    with _guard:
        turn_s, young = _usual[0] if _usual else (sys.getswitchinterval(), gc.get_threshold()[0])
        _usual.append((turn_s, young))
        _set(min(turn_s, TURN_S), max(young, YOUNG) if young else 0)  # nought: it looks for none
    try:
        yield
    finally:
        with _guard:
            before = _usual.pop()
            if not _usual:
                _set(*before)


def _set(turn_s: float, young: int) -> None:
    sys.setswitchinterval(turn_s + 1e-7)  # it cuts to whole microseconds
    gc.set_threshold(young, *gc.get_threshold()[1:])
