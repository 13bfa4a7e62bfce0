"""Connections end where a process has much to do, and hardly ever where it has not."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from loci_site.server.connection_balancing import (
    CLOSE,
    ConnectionBalancing,
    Message,
    Receive,
    Send,
    share_of_ends,
)


@pytest.mark.parametrize(
    ("calls", "share"),
    [(1, 1 / 4096), (2, 1 / 512), (5, 125 / 4096), (7, 343 / 4096), (8, 1 / 8), (100, 1 / 8)],
)
def test_the_share_of_ends_grows_with_the_cube_of_the_calls_up_to_an_eighth(calls: int, share: float) -> None:
    assert share_of_ends(calls) == pytest.approx(share)


class Answering:
    """An application whose answers wait until they may go; what a path says is its answer or its fault."""

    def __init__(self) -> None:
        self.may_go = asyncio.Event()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        await self.may_go.wait()
        if scope["path"] == "/fault":
            raise RuntimeError("fault")
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


async def _ask(application: ConnectionBalancing, path: str = "/") -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await application({"type": "http", "path": path}, _nothing, send)
    return sent


async def test_an_answer_ends_its_connection_by_the_calls_that_are_answered_at_that_moment() -> None:
    inner = Answering()
    application = ConnectionBalancing(
        inner, chance=lambda: 2.5**3 / 16**3
    )  # between the shares of two and of three calls
    waiting = [asyncio.ensure_future(_ask(application)) for _ in range(4)]
    await asyncio.sleep(0)
    inner.may_go.set()
    answers: list[Any] = await asyncio.gather(*waiting)
    # Four are answered at the first answer, and one at the last.
    assert [CLOSE in start["headers"] for start, _ in answers] == [True, True, False, False]
    for start, body in answers:
        assert start["status"] == 200
        assert (b"content-length", b"2") in start["headers"]
        assert body == {"type": "http.response.body", "body": b"ok"}


async def test_the_end_takes_the_place_of_what_a_stream_says_of_its_connection() -> None:
    async def streaming(scope: Message, receive: Receive, send: Send) -> None:
        kept = [(b"Connection", b"keep-alive"), (b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": kept})

    [ended] = await _ask(ConnectionBalancing(streaming, chance=lambda: 0.0))
    assert ended["headers"] == [(b"content-type", b"text/event-stream"), CLOSE]
    [kept] = await _ask(ConnectionBalancing(streaming, chance=lambda: 1.0))
    assert kept["headers"] == [(b"Connection", b"keep-alive"), (b"content-type", b"text/event-stream")]


async def test_a_call_that_failed_is_not_counted_any_more() -> None:
    inner = Answering()
    inner.may_go.set()
    shares: Iterator[float] = iter([1.5**3 / 16**3])
    application = ConnectionBalancing(inner, chance=lambda: next(shares))
    for _ in range(3):
        with pytest.raises(RuntimeError):
            await _ask(application, "/fault")
    start, _ = await _ask(application)
    assert CLOSE not in start["headers"]
