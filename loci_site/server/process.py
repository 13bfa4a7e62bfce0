"""A process of the server: length of a thread's turn, frozen objects, priority, and its end with its parent or a thread."""

import ctypes
import gc
import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
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
    A process that left garbage alone while it was loading collects it from here on.
    """
    sys.setswitchinterval(TURN_S)
    gc.freeze()
    gc.enable()


def prefer_other_processes() -> None:
    """Lower this process's priority, and that of its session: Linux weighs sessions before the processes in them."""
    os.nice(_NICENESS)
    if sys.platform == "linux" and os.getsid(0) == os.getpid():
        with suppress(OSError):  # a kernel that does not group by session
            _AUTOGROUP.write_text(str(_NICENESS), encoding="ascii")


logger = logging.getLogger(__name__)

_PR_SET_PDEATHSIG = 1  # <sys/prctl.h>
CHECK_EVERY_S = 1.0
_GRACE_S = 15.0  # then the process and its children are killed


def end_with_parent(parent: int, *, grace_s: float = _GRACE_S) -> None:
    """End this process as soon as process `parent` is no longer its parent. Call it once, from the main thread.

    Linux sends the signal at once; elsewhere a thread checks every second. First a SIGTERM, after the grace a SIGKILL.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    threading.Thread(target=_watch_parent, args=(parent, grace_s), name="loci-lifeline", daemon=True).start()


def end_with_thread(thread: threading.Thread, *, is_ending: Callable[[], bool]) -> None:
    """Send this process a SIGTERM when the thread has ended; its supervisor then restarts it.

    `is_ending` returns True if this process is already shutting down.
    """

    def watch() -> None:
        thread.join()
        if not is_ending():
            logger.warning("The thread %s has ended, so this process ends too.", thread.name)
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="loci-thread", daemon=True).start()


def _watch_parent(parent: int, grace_s: float) -> None:
    """Wait until the parent is gone, then end this process: SIGTERM, after the grace SIGKILL, for its group too."""
    if sys.platform == "linux":
        with suppress(OSError):  # it is gone already, or the kernel has no such call
            parent_fd = os.pidfd_open(parent)
            if os.getppid() == parent:  # else the number is another process's by now
                select.select([parent_fd], [], [])
    while os.getppid() == parent:
        time.sleep(CHECK_EVERY_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace_s)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
