"""A process that ends with the one that started it, even where that one was killed and could not say so."""

import ctypes
import os
import signal
import sys
import threading
import time

PR_SET_PDEATHSIG = 1  # <sys/prctl.h>
LOOK_EVERY_S = 1.0
GRACE_S = 15.0  # then it is killed with all that it started


def end_with_parent(parent: int) -> None:
    """End this process when process `parent` is no longer its parent; call it once, from the main thread.

    Linux tells at once; elsewhere a thread looks every second. The end is a SIGTERM, after GRACE_S a SIGKILL.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    threading.Thread(target=_watch, args=(parent,), name="loci-lifeline", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
