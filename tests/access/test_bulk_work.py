"""Bulk work changes how threads take turns and how often cycles are looked for, and sets both back."""

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from access.bulk_work import TURN_S, YOUNG, bulk_work


@pytest.fixture(autouse=True)
def _as_python_starts() -> Iterator[None]:
    turn_s, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(0.005)
    gc.set_threshold(700, 10, 10)
    yield
    sys.setswitchinterval(turn_s)
    gc.set_threshold(*thresholds)


def set_now() -> tuple[float, tuple[int, int, int]]:
    return round(sys.getswitchinterval(), 6), gc.get_threshold()


USUAL = (0.005, (700, 10, 10))
BULK = (TURN_S, (YOUNG, 10, 10))


def test_meanwhile_turns_are_short_and_looks_are_rare() -> None:
    with bulk_work():
        assert set_now() == BULK
    assert set_now() == USUAL


def test_a_fault_sets_them_back_too() -> None:
    with pytest.raises(ValueError, match="broken"), bulk_work():
        raise ValueError("broken")
    assert set_now() == USUAL


def test_the_last_of_overlapping_blocks_sets_them_back() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def other() -> None:
        with bulk_work():
            begun.set()
            may_end.wait(timeout=30)

    thread = threading.Thread(target=other)
    with bulk_work():
        thread.start()
        assert begun.wait(timeout=30)
    assert set_now() == BULK
    may_end.set()
    thread.join()
    assert set_now() == USUAL


def test_what_is_shorter_or_rarer_already_stays() -> None:
    sys.setswitchinterval(0.00025)
    gc.set_threshold(50_000, 20, 20)
    with bulk_work():
        assert set_now() == (0.00025, (50_000, 20, 20))
    gc.set_threshold(0)
    with bulk_work():
        assert gc.get_threshold()[0] == 0
