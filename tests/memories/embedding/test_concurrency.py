"""No more threads are at work than there are slots."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from memories.embedding import concurrency
from memories.embedding.concurrency import CoreSlots


def test_never_more_threads_than_slots() -> None:
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


@pytest.mark.parametrize(
    ("count", "spare"), [(1, [True, False]), (2, [True, True, False]), (4, [True, True, True, False, False])]
)
def test_a_core_is_spare_while_at_least_half_of_them_are(count: int, spare: list[bool]) -> None:
    cores, found = CoreSlots(count), list[bool]()
    with ExitStack() as stack:
        for _ in range(count):
            found.append(cores.has_spare())
            stack.enter_context(cores.taken())
        assert [*found, cores.has_spare()] == spare


def test_a_slot_is_free_again_after_an_error() -> None:
    cores = CoreSlots(1)
    with pytest.raises(ZeroDivisionError), cores.taken():
        raise ZeroDivisionError
    assert cores.has_spare()
    with cores.taken():
        assert not cores.has_spare()


def test_a_thread_that_stops_waiting_leaves_the_slot_to_others() -> None:
    cores = CoreSlots(1)

    class Stopped(threading.Condition):
        def wait(self, timeout: float | None = None) -> bool:
            raise KeyboardInterrupt

    with cores.taken():
        waiting, cores._freed = cores._freed, Stopped()
        with pytest.raises(KeyboardInterrupt), cores.taken():
            pass
        cores._freed = waiting
    assert cores.has_spare()


def test_a_fork_begins_with_all_slots_free() -> None:
    cores = CoreSlots(1)
    with cores.taken():
        cores.reset()
        assert cores.has_spare()


def test_who_waits_until_all_slots_are_free_does_so_no_longer_than_it_said() -> None:
    slots = CoreSlots(2)
    slots.wait_until_free(60)  # at once
    held, freed = threading.Event(), list[str]()

    def hold() -> None:
        with slots.taken():
            held.set()
            time.sleep(0.2)
            freed.append("freed")

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    slots.wait_until_free(0.01)
    assert freed == []
    slots.wait_until_free(60)
    assert freed == ["freed"]
    thread.join()


def test_the_worker_leaves_a_core_to_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "_spared", 0)
    cores = concurrency.available_cores()
    assert concurrency.cores_to_embed() == cores
    concurrency.spare_a_core()
    assert concurrency.cores_to_embed() == max(1, cores - 1)
