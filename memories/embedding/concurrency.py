"""How many questions a process works on at once: as many as there are cores.

More at once would only take turns at Python's interpreter, and each turn costs: eight threads answered 51 questions a
second, and 78 since two are worked on at a time (two cores, 100,000 memories; docs/dev/speed.md).
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from access.limits.deadline import TICK_S, check_time
from access.limits.turns import IN_HAND, Turns
from storage.machine import available_cores

# A thread of this niceness gets an eighth of the time of one that answers.
BACKGROUND_NICE, MAX_NICE = 9, 19
_spared = 0
# Set when this process is to end: a text that would take many seconds is then embedded no further.
ENDING = threading.Event()


def cores_to_embed() -> int:
    """The number of cores that this process may embed on."""
    return max(1, available_cores() - _spared)


def spare_a_core() -> None:
    """Leave a core to other processes from now on, if there are two: what waits for a core that embeds waits for long."""
    global _spared
    _spared = 1


def yield_to_answers() -> None:
    """Lower this thread's priority below that of answers, where threads have their own (Linux)."""
    if sys.platform == "linux":
        with suppress(OSError):
            now = os.getpriority(os.PRIO_PROCESS, 0)
            os.setpriority(os.PRIO_PROCESS, 0, min(now + BACKGROUND_NICE, MAX_NICE))


class CoreSlots:
    """Slots for work that keeps a core busy. Safe to share between threads."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.reset()

    def reset(self) -> None:
        """Free all slots: a fork copies no threads."""
        self._turns, self._freed = Turns[object](self._count), threading.Condition()

    @contextmanager
    def taken(self, person: str = "") -> Iterator[None]:
        """Hold a slot during the block; waits for the person's turn.

        Raises:
            OutOfTime: it did not come in time.
        """
        with self._freed:
            self._wait_for_turn(person)
        try:
            with IN_HAND.working(person):
                yield
        finally:
            with self._freed:
                self._turns.done(person)
                self._freed.notify_all()

    def _wait_for_turn(self, person: str) -> None:
        ticket = object()
        self._turns.add(person, ticket)
        try:
            while not self._turns.take_if(person, ticket):
                self._freed.wait(TICK_S)
                check_time()
        except BaseException:
            self._turns.drop(person, ticket)
            raise
        self._freed.notify_all()  # the next one may begin too

    def wait_until_free(self, at_most_s: float) -> None:
        """Wait until no slot is held, but no longer than this."""
        with self._freed:
            self._freed.wait_for(lambda: self._turns.free == self._count, at_most_s)

    def has_spare(self) -> bool:
        """Whether another core is probably idle and can take a part of the work."""
        return self._turns.free * 2 >= self._count


CORES = CoreSlots(available_cores())
os.register_at_fork(after_in_child=CORES.reset)
