"""A process ends with its parent, even if that one was killed, or with a thread of its own."""

import ctypes
import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

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
