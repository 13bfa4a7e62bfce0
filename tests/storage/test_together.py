"""What waits is done in groups, and what comes alone at once."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from storage.together import Together


class Held:
    """Work that begins when it is let go, and notes its groups; a negative number fails."""

    def __init__(self, at_most: int = 16) -> None:
        self.groups: list[list[int]] = []
        self.go = threading.Event()
        self.together = Together(self.work, at_most=at_most)

    def work(self, numbers: list[int]) -> list[int]:
        self.groups.append(numbers)
        assert self.go.wait(30)
        if min(numbers) < 0:
            raise ValueError("one is negative")
        return [number * 2 for number in numbers]

    def ask(self, pool: ThreadPoolExecutor, numbers: list[int]) -> "list[Future[int]]":
        """Ask for each number in a thread: the first is under way before the second comes, and so on."""
        asked = []
        for count, number in enumerate(numbers):
            asked.append(pool.submit(self.together, number))
            until(lambda count=count: len(self.together._waiting) == count and bool(self.groups))
        return asked


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_one_alone_is_done_at_once() -> None:
    held = Held()
    held.go.set()
    assert [held.together(number) for number in range(3)] == [0, 2, 4]
    assert held.groups == [[0], [1], [2]]


def test_what_came_meanwhile_is_done_together_in_order_and_each_gets_its_own() -> None:
    held = Held()
    with ThreadPoolExecutor(9) as pool:
        asked = held.ask(pool, [*range(9)])
        held.go.set()
        assert [future.result(30) for future in asked] == [number * 2 for number in range(9)]
    assert held.groups == [[0], [*range(1, 9)]]


def test_a_group_has_a_limit() -> None:
    held = Held(at_most=3)
    with ThreadPoolExecutor(6) as pool:
        asked = held.ask(pool, [*range(6)])
        held.go.set()
        assert [future.result(30) for future in asked] == [0, 2, 4, 6, 8, 10]
    assert held.groups == [[0], [1, 2, 3], [4, 5]]


def test_a_failure_reaches_each_of_its_group_and_no_other() -> None:
    held = Held()
    with ThreadPoolExecutor(4) as pool:
        asked = held.ask(pool, [1, 2, -3, 4])
        held.go.set()
        assert asked[0].result(30) == 2
        for future in asked[1:]:
            with pytest.raises(ValueError, match="negative"):
                future.result(30)
    assert held.together(5) == 10
