"""While many rows are made, Python looks for cycles less often, and afterwards as before."""

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from storage.bulk_threads import GC_THRESHOLD, SWITCH_INTERVAL_S, bulk_work


@pytest.fixture(autouse=True)
def _as_python_starts() -> Iterator[None]:
    thresholds, turn_s = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(700, 10, 10)
    sys.setswitchinterval(0.005)
    yield
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(turn_s)


def test_meanwhile_looks_are_rare() -> None:
    with bulk_work():
        assert gc.get_threshold() == (GC_THRESHOLD, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


def test_after_a_fault_they_are_as_before_too() -> None:
    with pytest.raises(ValueError, match="broken"), bulk_work():
        raise ValueError("broken")
    assert gc.get_threshold() == (700, 10, 10)


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
    assert gc.get_threshold() == (GC_THRESHOLD, 10, 10)
    may_end.set()
    thread.join()
    assert gc.get_threshold() == (700, 10, 10)


def test_what_is_rarer_already_stays() -> None:
    gc.set_threshold(50_000, 20, 20)
    with bulk_work():
        assert gc.get_threshold() == (50_000, 20, 20)
    gc.set_threshold(0)
    with bulk_work():
        assert gc.get_threshold()[0] == 0


def test_meanwhile_turns_are_short_and_afterwards_as_before() -> None:
    with bulk_work(), bulk_work():
        assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL_S)
    assert sys.getswitchinterval() == pytest.approx(0.005)
    sys.setswitchinterval(SWITCH_INTERVAL_S / 2)  # a server's may be shorter still
    with bulk_work():
        assert sys.getswitchinterval() == pytest.approx(
            SWITCH_INTERVAL_S / 2, rel=0.02
        )  # of whole microseconds
