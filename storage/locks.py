"""Locks of files among processes: the kernel releases them however a process ends."""

import fcntl
import time

POLL_S = 0.05


def take_lock(handle: int, *, is_shared: bool = False, wait_s: float = 0.0) -> bool:
    """Lock an open file; False if others hold it for longer than `wait_s`."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
        time.sleep(POLL_S)
