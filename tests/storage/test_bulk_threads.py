"""While many rows are made, Python looks for cycles less often, and afterwards as before."""

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from storage.bulk_threads import TURN_S, YOUNG, WriterTurns, bulk_work, long_statement, made_ahead


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
        assert gc.get_threshold() == (YOUNG, 10, 10)
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
    assert gc.get_threshold() == (YOUNG, 10, 10)
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


def test_the_next_is_made_while_one_is_worked_on() -> None:
    begun = [threading.Event() for _ in range(3)]

    def items() -> Iterator[int]:
        for number, event in enumerate(begun):
            event.set()
            yield number

    given = []
    for number in made_ahead(items(), name="test"):
        assert number == 2 or begun[number + 1].wait(10)
        given.append(number)
    assert given == [0, 1, 2]


def test_a_fault_comes_where_the_item_would() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ZeroDivisionError

    made = made_ahead(items(), name="test")
    assert next(made) == 1
    with pytest.raises(ZeroDivisionError):
        next(made)


def test_meanwhile_turns_are_short_and_afterwards_as_before() -> None:
    with bulk_work(), bulk_work():
        assert sys.getswitchinterval() == pytest.approx(TURN_S)
    assert sys.getswitchinterval() == pytest.approx(0.005)
    sys.setswitchinterval(TURN_S / 2)  # a server's may be shorter still
    with bulk_work():
        assert sys.getswitchinterval() == pytest.approx(TURN_S / 2, rel=0.02)  # of whole microseconds


def may_work(turns: WriterTurns) -> bool:
    """Say whether a helper would work now."""
    return bool(turns.wait(timeout=0))


def test_a_helper_works_in_long_statements_alone() -> None:
    turns = WriterTurns()
    assert may_work(turns)  # before anything is written
    with turns.writing():
        turns.take()
        assert not may_work(turns)
        with long_statement():
            assert may_work(turns)
        assert not may_work(turns)
    assert may_work(turns)


def test_after_a_fault_nobody_waits_for_a_turn() -> None:
    turns = WriterTurns()
    turns.take()
    with pytest.raises(ValueError, match="broken"), turns.writing():
        raise ValueError("broken")
    assert may_work(turns)
    with long_statement():  # of a thread that nobody helps
        pass
    assert may_work(turns)


def test_two_that_write_have_helpers_of_their_own() -> None:
    mine, other = WriterTurns(), WriterTurns()
    other.take()
    with mine.writing():
        mine.take()
        with long_statement():
            assert may_work(mine)
            assert not may_work(other)


def test_whoever_waits_for_a_helper_lets_it_work() -> None:
    turns = WriterTurns()
    turns.take()

    def numbers() -> Iterator[int]:
        for number in (1, 2):
            assert turns.wait(timeout=30)
            yield number

    assert [*made_ahead(numbers(), name="counting", turns=turns)] == [1, 2]


def test_what_is_waited_for_next_goes_before_the_other_helpers() -> None:
    turns = WriterTurns()
    with turns.pressing():
        assert not may_work(turns)
        turns.take()
        turns.give()
        assert not may_work(turns)  # two press here
        with turns.pressing():
            pass
        assert not may_work(turns)
    assert may_work(turns)


def test_what_presses_rests_too_while_the_one_that_writes_works() -> None:
    turns, done = WriterTurns(), threading.Event()

    def press() -> None:
        with turns.pressing():
            done.set()

    turns.take()
    helper = threading.Thread(target=press)
    helper.start()
    assert not done.wait(0.05)
    turns.give()
    assert done.wait(10)
    helper.join()
    assert may_work(turns)


def test_a_fault_in_what_presses_lets_the_others_work() -> None:
    turns = WriterTurns()
    with pytest.raises(ValueError, match="broken"), turns.pressing():
        raise ValueError("broken")
    assert may_work(turns)
