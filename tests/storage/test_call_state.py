"""What a block holds for its call ends with the block, also where the caller was cancelled meanwhile."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import pytest
from asgiref.sync import sync_to_async

from access import audit
from access.tokens import operator
from loci_site.server.write_once import WrittenAnswer, write_once
from memories.embedding import long_texts
from memories.embedding.long_texts import restartable, run_apart
from memories.store import pieces
from memories.store.pieces import one_index_state
from storage.call_state import CallState, HeldValue

Call = Callable[[Callable[[], None]], object]


def read_state(wait: Callable[[], None]) -> None:
    """A call that reads the state of the indexes once, as a recall does."""
    with one_index_state({"withdrawn": "of a moment ago"}):
        wait()


def write_rows(wait: Callable[[], None]) -> None:
    """A write over REST or MCP, which appends a row to the log."""

    def job() -> WrittenAnswer:
        audit.current_work().rows.append(audit._WrittenRow(7, "store"))
        wait()
        return WrittenAnswer(200, {})

    write_once(operator(), None, job)


@pytest.mark.parametrize(
    ("call", "state"),
    [
        (read_state, pieces._HELD_STATE),
        (write_rows, audit._WORK),
        (run_apart, long_texts._HANDOVER),  # a write with a key
    ],
    ids=["index state", "rows of the log", "vectors of long texts"],
)
def test_a_cancelled_call_leaves_nothing_behind(call: Call, state: CallState[object]) -> None:
    while_running, afterwards = asyncio.run(cancelled(call, state, nullcontext()))
    assert while_running is not None  # asgiref brought it along
    assert afterwards is None


def test_the_block_around_a_cancelled_call_still_holds() -> None:
    _, afterwards = asyncio.run(cancelled(run_apart, long_texts._HANDOVER, restartable({})))
    assert afterwards == long_texts.Handover({})
    assert long_texts._HANDOVER.get() is None


def test_blocks_that_are_over_are_not_kept() -> None:
    state = CallState[int]("test")
    with state.holding(1):
        live = state._held.get()
        for number in range(2, 5):
            state._held.set(HeldValue(None, state._held.get()))  # as asgiref copies it from a cancelled call
            with state.holding(number):
                assert state.get() == number
                assert state._held.get() == HeldValue(number, live)
            assert state.get() == 1


async def cancelled(
    call: Call, state: CallState[object], around: AbstractContextManager[object]
) -> tuple[object, object]:
    """Cancel a call that waits in its thread: what its caller sees while the thread goes on, and when it is done."""
    inside, end, done = threading.Event(), threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        end.wait(10)

    def run() -> None:
        call(wait)
        done.set()

    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None

    def cancel(task: asyncio.Task[object]) -> None:
        inside.wait(10)
        loop.call_soon_threadsafe(task.cancel)

    threading.Thread(target=partial(cancel, task)).start()
    with around:
        with pytest.raises(asyncio.CancelledError):
            await sync_to_async(run, thread_sensitive=False)()
        task.uncancel()
        while_running = state.get()
        end.set()
        await asyncio.to_thread(done.wait, 10)
        return while_running, state.get()
