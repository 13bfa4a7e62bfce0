"""How many questions are worked on at once: as many as there are cores, in the order in which they came.

More at once would only take turns at Python's interpreter, and each turn costs: eight threads answered 51 questions a
second, and 78 since two are worked on at a time (two cores, 100,000 memories; docs/speed.md).
"""

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def available_cores() -> int:
    """Give the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Cores:
    """Places for work that keeps a core busy. Safe to share between threads; a place goes to who waits longest."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.begin_anew()

    def begin_anew(self) -> None:
        """Nobody is at work: in a fork, which copies no threads."""
        self._guard = threading.Lock()
        self._free = self._count
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Stand around the work; waits until there is a place."""
        self._take()
        try:
            yield
        finally:
            self._give()

    def has_spare(self) -> bool:
        """Say whether another core is likely to be idle, so that a part of the work can go there."""
        return self._free * 2 >= self._count

    def _take(self) -> None:
        with self._guard:
            if self._free:
                self._free -= 1
                return
            turn = threading.Event()
            self._waiting.append(turn)
        try:
            turn.wait()
        except BaseException:  # Ctrl-C: the place may be this one's already
            with self._guard, suppress(ValueError):
                self._waiting.remove(turn)
            if turn.is_set():
                self._give()
            raise

    def _give(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1


CORES = Cores(available_cores())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CORES.begin_anew)
