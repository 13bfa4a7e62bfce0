"""The state of the indexes that a writer or an answer reads once, where its caller was cancelled meanwhile."""

import asyncio
import threading

import pytest
from asgiref.sync import sync_to_async

from memories.store import pieces
from memories.store.pieces import one_index_state


def test_a_cancelled_call_leaves_no_state_behind() -> None:
    inside, end, done = threading.Event(), threading.Event(), threading.Event()

    def answer() -> None:
        with one_index_state({"withdrawn": "of a moment ago"}):
            inside.set()
            end.wait(10)
        done.set()

    async def cancelled() -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        def cancel() -> None:
            inside.wait(10)
            loop.call_soon_threadsafe(task.cancel)
            threading.Timer(0.1, end.set).start()

        threading.Thread(target=cancel).start()
        with pytest.raises(asyncio.CancelledError):
            await sync_to_async(answer, thread_sensitive=False)()
        task.uncancel()
        was_held.append(pieces._held_values())
        await asyncio.to_thread(done.wait, 10)
        was_held.append(pieces._held_values())

    was_held = list[object]()
    asyncio.run(cancelled())
    assert was_held == [{"withdrawn": "of a moment ago"}, None]  # the first is what asgiref brought along
