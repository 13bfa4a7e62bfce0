"""Interpreter settings of a server: length of a thread's turn, garbage collection, malloc arenas, priority."""

import gc
import os
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from memories.embedding.loader import call_c_library

# A thread gives the interpreter up for each statement and waits a turn of every busy thread to get it back. With
# Python's turns of 5 ms a store of 50 statements beside eight busy threads took a second, part of it inside the write
# lock; with short ones a week of the simulated year went from 69 s to 6. Shorter ones still cost more turns: at 0.5 ms a
# tenth fewer questions are answered by eight threads.
TURN_S = 0.001
# Python looks through all objects now and then for cycles that nothing refers to: with a server's million this stops
# every thread for 120 ms, and one answer in fifty was late. What is there after the start stays, and is left out.
YOUNG: Final = (
    10_000  # new objects between two looks at the young ones; Python's 700 come twice in each recall
)
MIDDLE: Final = 20  # looks at the young ones for one at the middle-aged, and of those for one at all
SETTLING: Final = 5  # the first so many looks at all find modules and templates that were loaded meanwhile
M_ARENA_MAX: Final = -8  # malloc.h
ARENAS: Final = 2
NICENESS = 10  # answers come first: a job gets a tenth of a core that a web process wants
AUTOGROUP = Path("/proc/self/autogroup")
_looks = count(1)


def take_short_turns() -> None:
    """Shorten the turns of this process's threads; for processes in which many threads query the database."""
    sys.setswitchinterval(TURN_S)
    call_c_library("mallopt", M_ARENA_MAX, ARENAS)  # each keeps what its threads have freed
    gc.set_threshold(YOUNG, MIDDLE, MIDDLE)
    gc.freeze()
    if _settle not in gc.callbacks:
        gc.callbacks.append(_settle)


def prefer_other_processes() -> None:
    """Lower this process's priority, and that of its session: Linux weighs sessions before the processes in them."""
    os.nice(NICENESS)
    if sys.platform == "linux" and os.getsid(0) == os.getpid():
        with suppress(OSError):  # a kernel that does not group by session
            AUTOGROUP.write_text(str(NICENESS), encoding="ascii")


def _settle(phase: str, info: dict[str, int]) -> None:
    """Freeze what the first full collections kept; only the first few, so that nothing is kept for ever."""
    if phase == "stop" and info["generation"] == 2:
        gc.freeze()
        if next(_looks) >= SETTLING:
            gc.callbacks.remove(_settle)
