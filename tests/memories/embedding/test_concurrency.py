"""No more are at work than there are places, and who waits longest comes first."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from memories.embedding.concurrency import CoreSlots

LIMIT_S = 10


def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_never_more_than_there_are_places() -> None:
    cores, at_work, most, guard = CoreSlots(2), 0, 0, threading.Lock()

    def work(_: int) -> None:
        nonlocal at_work, most
        with cores.taken():
            with guard:
                at_work += 1
                most = max(most, at_work)
            time.sleep(0.002)
            with guard:
                at_work -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40)))
    assert most == 2
    assert cores.has_spare()


def test_who_waits_longest_comes_first() -> None:
    cores, came = CoreSlots(1), list[int]()

    def work(number: int) -> None:
        with cores.taken():
            came.append(number)

    with ThreadPoolExecutor(5) as pool, cores.taken():
        for number in range(5):
            pool.submit(work, number)
            until(lambda number=number: len(cores._waiting) == number + 1)  # type: ignore[misc]
    assert came == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("count", "spare"), [(1, [True, False]), (2, [True, True, False]), (4, [True, True, True, False, False])]
)
def test_a_core_is_spare_while_at_least_half_of_them_are(count: int, spare: list[bool]) -> None:
    cores, told = CoreSlots(count), list[bool]()
    for _ in range(count):
        told.append(cores.has_spare())
        cores._take()
    assert [*told, cores.has_spare()] == spare


def test_a_place_comes_back_after_a_fault() -> None:
    cores = CoreSlots(1)
    with pytest.raises(ZeroDivisionError), cores.taken():
        raise ZeroDivisionError
    with cores.taken():
        assert not cores.has_spare()


@pytest.mark.parametrize("is_granted", [False, True])
def test_who_stops_waiting_leaves_the_place_to_others(*, is_granted: bool) -> None:
    cores = CoreSlots(1)

    class Stopped(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if is_granted:  # the place came in the very moment
                cores._give()
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "Event", Stopped)
        cores._take()
        with pytest.raises(KeyboardInterrupt):
            cores._take()
    if not is_granted:
        cores._give()
    assert not cores._waiting
    assert cores.has_spare()
