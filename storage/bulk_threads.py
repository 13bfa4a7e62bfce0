"""How the interpreter works while many rows are made at once, what is made ahead of them, and who works when."""

import gc
import sys
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, TypeVar

# New objects between two looks for cycles, of which a batch has none: with Python's 700, the looks take a twentieth.
YOUNG: Final = 10_000
TURN_S: Final = 0.0002  # of a thread, while others wait for the interpreter; as Python has it, a batch waits 5 ms at a time
_guard = threading.Lock()
_here = threading.local()
T = TypeVar("T")
_usual: list[tuple[int, float]] = []  # as it was before the first of the blocks that run now


@contextmanager
def bulk_work() -> Iterator[None]:
    """Look for cycles less often meanwhile, and let threads take shorter turns.

    Blocks may overlap in several threads; what is rarer or shorter already stays.
    """
    with _guard:
        usual, turn_s = _usual[0] if _usual else (gc.get_threshold()[0], sys.getswitchinterval())
        _usual.append((usual, turn_s))
        _look_after(max(usual, YOUNG) if usual else 0)  # nought: it never looks
        sys.setswitchinterval(min(turn_s, TURN_S))
    try:
        yield
    finally:
        with _guard:
            before = _usual.pop()
            if not _usual:
                _look_after(before[0])
                sys.setswitchinterval(before[1])


class WriterTurns:
    """Lets helping threads work while the one that writes waits for the database, and rest while it works itself.

    Only one thread works in Python at a time. A thread that writes and gives the interpreter up for a short query waits
    for a whole turn of a thread that helps, with the write lock; helpers that keep to the long statements cost nothing.
    Of two that help, each waits for the other as well, and the one that writes for both: so what it will ask for next goes
    first, and alone.
    """

    def __init__(self) -> None:
        self._guard, self._pressing = threading.Lock(), 0
        self._is_given, self._is_free = threading.Event(), threading.Event()
        self.wait = self._is_free.wait  # in a helper, before each bit of work
        self.give()

    def give(self) -> None:
        """Let the helpers work."""
        with self._guard:
            self._is_given.set()
            if not self._pressing:
                self._is_free.set()

    def take(self) -> None:
        """Let the helpers rest."""
        with self._guard:
            self._is_given.clear()
            self._is_free.clear()

    @contextmanager
    def pressing(self) -> Iterator[None]:
        """Work in a helper, while the others rest, on what the thread that writes waits for next."""
        with self._guard:
            self._pressing += 1
            self._is_free.clear()
        try:
            self._is_given.wait()
            yield
        finally:
            with self._guard:
                self._pressing -= 1
                if not self._pressing and self._is_given.is_set():
                    self._is_free.set()

    @contextmanager
    def given_at_end(self) -> Iterator[None]:
        """Let the helpers end, however the block ends: whoever waits for them would wait for ever."""
        try:
            yield
        finally:
            self.give()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Let this thread's long statements be the helpers' turn; afterwards nobody waits for one any more."""
        before = _of_thread()
        _here.turns = self
        try:
            yield
        finally:
            _here.turns = before
            self.give()

    def result(self, coming: "Future[T]") -> T:
        """Give what a helper makes, and the turn while it is waited for."""
        if not coming.done():
            self.give()
        done = coming.result()
        self.take()
        return done


@contextmanager
def long_statement() -> Iterator[None]:
    """Give the turn to those who help this thread, where there are any, for the time of the block; a fault leaves it to them."""
    turns = _of_thread()
    if turns is None:
        yield
        return
    turns.give()
    yield
    turns.take()


def _of_thread() -> WriterTurns | None:
    turns: WriterTurns | None = getattr(_here, "turns", None)
    return turns


def made_ahead(
    items: Iterator[T], *, name: str, turns: WriterTurns | None = None
) -> Generator[T, None, None]:
    """Give what an iterator does, none of it None, in order; while one is worked on, a thread makes the next."""
    turns = turns or WriterTurns()
    with ThreadPoolExecutor(1, thread_name_prefix=name) as thread, turns.given_at_end():
        coming = thread.submit(next, items, None)
        while (item := turns.result(coming)) is not None:
            coming = thread.submit(next, items, None)
            yield item


def _look_after(young: int) -> None:
    gc.set_threshold(young, *gc.get_threshold()[1:])
