"""How long an answer may take; it ends early when its caller has gone.

Code asks between steps and inside loops, and a watch interrupts the statement that the database is working on. Writes
have none: what is begun is finished.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any, Final

from django.db import OperationalError, connection, connections

from access.errors import OutOfTime
from storage.call_state import CallState

ANSWER_S: Final = 10.0  # the slowest honest answer of a loaded machine took three
TICK_S, IDLE_TICKS = 0.1, 100


class Deadline:
    """The end of an answer (time.monotonic()), or of the one that it is a part of."""

    def __init__(self, at: float = inf, outer: "Deadline | None" = None) -> None:
        self._at, self._outer = at, outer
        self._is_abandoned = False

    def abandon(self) -> None:
        """End it now: the caller has gone."""
        self._is_abandoned = True

    @property
    def is_over(self) -> bool:
        """True if no client waits for the answer."""
        is_over = self._is_abandoned or time.monotonic() >= self._at
        return is_over or (self._outer is not None and self._outer.is_over)


CURRENT: Final = CallState[Deadline]("deadline")
GIVE_WAY: Final = CallState[Callable[[], None]]("give way")  # what check_time() does before


def check_time() -> None:
    """Raise OutOfTime if the answer under way has no time left; before, let those go first who have asked less."""
    if (give_way := GIVE_WAY.get()) is not None:
        give_way()
    deadline = CURRENT.get()
    if deadline is not None and deadline.is_over:
        raise OutOfTime(ANSWER_S)


@contextmanager
def answering(seconds: float = ANSWER_S) -> Iterator[None]:
    """Bound what the block may take. Inside a transaction no statement is interrupted, which might undo it.

    Raises:
        OutOfTime: the time is over, or that of the block around it, or the caller has gone.
    """
    deadline = Deadline(time.monotonic() + seconds, CURRENT.get())
    database: Any = connections["default"]
    try:
        with CURRENT.holding(deadline):
            if connection.in_atomic_block:
                yield
            else:
                with _INTERRUPTER.interrupting(deadline, database):
                    yield
    except OperationalError:
        if deadline.is_over:
            raise OutOfTime(ANSWER_S) from None
        raise


class Interrupter:
    """A thread that interrupts the statements of answers whose time is over; it runs only while there are answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = dict[Deadline, Any]()
        self._thread: threading.Thread | None = None

    @contextmanager
    def interrupting(self, deadline: Deadline, database: Any) -> Iterator[None]:
        """Interrupt the block when its time is over. Nothing of this connection is interrupted after it."""
        with self._lock:
            self._held[deadline] = database
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="loci-deadlines", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                del self._held[deadline]

    def _run(self) -> None:
        idle = 0
        while True:
            time.sleep(TICK_S)
            with self._lock:
                for deadline, database in self._held.items():
                    if deadline.is_over:
                        database.interrupt()
                idle = 0 if self._held else idle + 1
                if idle > IDLE_TICKS:
                    self._thread = None
                    return


_INTERRUPTER: Final = Interrupter()
