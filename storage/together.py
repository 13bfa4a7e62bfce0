"""Calls that wait for one another are done together, in groups."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Together(Generic[T, R]):
    """A call does its own item and all that wait, at most `at_most`; what comes meanwhile waits and is the next group.

    So a call that comes alone is done at once. `work` takes the items in the order of their calls and returns a result for
    each; what it raises, each call of the group raises. Safe to share between threads.
    """

    def __init__(self, work: Callable[[list[T]], Sequence[R]], *, at_most: int) -> None:
        self._work, self._at_most = work, at_most
        self._waiting = deque[tuple[T, Future[R]]]()
        self._is_busy, self._changed = False, threading.Condition()

    def __call__(self, item: T) -> R:
        """The result of the item; the thread of one of the calls does the whole group."""
        own: Future[R] = Future()
        with self._changed:
            self._waiting.append((item, own))
        while True:
            with self._changed:
                self._changed.wait_for(lambda: own.done() or not self._is_busy)
                if own.done():
                    return own.result()
                self._is_busy = True
                group = [self._waiting.popleft() for _ in range(min(self._at_most, len(self._waiting)))]
            self._do(group)

    def _do(self, group: Sequence[tuple[T, "Future[R]"]]) -> None:
        try:
            for (_, future), result in zip(group, self._work([item for item, _ in group]), strict=True):
                future.set_result(result)
        except BaseException as error:
            for _, future in group:
                if not future.done():
                    future.set_exception(error)
        finally:
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()
