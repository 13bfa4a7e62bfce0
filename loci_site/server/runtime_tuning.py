"""Interpreter settings of a server: length of a thread's turn, frozen objects, priority."""

import gc
import os
import sys
from contextlib import suppress
from pathlib import Path

# A thread gives the interpreter up for each statement and waits a turn of every busy thread to get it back. With
# Python's turns of 5 ms a store of 50 statements alongside eight busy threads took a second, part of it inside the write
# lock; with short ones a week of the simulated year went from 69 s to 6. Shorter ones still cost more turns: at 0.5 ms a
# tenth fewer questions are answered by eight threads.
TURN_S = 0.001
_NICENESS = 10  # answers come first: a job gets a tenth of a core that a web process wants
_AUTOGROUP = Path("/proc/self/autogroup")


def take_short_turns() -> None:
    """Shorten the turns of this process's threads; for processes in which many threads query the database.

    Objects alive now are frozen: with a server's million, a full garbage collection stopped every thread for 120 ms.
    """
    sys.setswitchinterval(TURN_S)
    gc.freeze()


def prefer_other_processes() -> None:
    """Lower this process's priority, and that of its session: Linux weighs sessions before the processes in them."""
    os.nice(_NICENESS)
    if sys.platform == "linux" and os.getsid(0) == os.getpid():
        with suppress(OSError):  # a kernel that does not group by session
            _AUTOGROUP.write_text(str(_NICENESS), encoding="ascii")
