"""Processes that end with the one that started them, or with one that they started, even where that one was killed."""

import ctypes
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol

logger = logging.getLogger(__name__)

PR_SET_PDEATHSIG = 1  # <sys/prctl.h>
LOOK_EVERY_S = 1.0
GRACE_S = 15.0  # then it is killed with all that it started


class ChildProcess(Protocol):
    """A process below this one, as multiprocessing has it."""

    name: str

    def is_alive(self) -> bool:
        """Say whether it runs."""


def end_with_parent(parent: int) -> None:
    """End this process when process `parent` is no longer its parent; call it once, from the main thread.

    Linux tells at once; elsewhere a thread looks every second. The end is a SIGTERM, after GRACE_S a SIGKILL.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    threading.Thread(target=_watch, args=(parent,), name="loci-lifeline", daemon=True).start()


def end_with_child(child: ChildProcess, *, is_ending: Callable[[], bool]) -> None:
    """Ask this process to end, by SIGTERM, when the child has; whoever looks after it then starts both anew.

    `is_ending` says that this process is about to end anyway, and takes the child with it.
    """
    threading.Thread(target=_watch_child, args=(child, is_ending), name="loci-child", daemon=True).start()


def _watch_child(child: ChildProcess, is_ending: Callable[[], bool]) -> None:
    while child.is_alive():
        time.sleep(LOOK_EVERY_S)
    if not is_ending():
        logger.warning("The process %s below this one has ended, so this one ends too.", child.name)
        os.kill(os.getpid(), signal.SIGTERM)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
