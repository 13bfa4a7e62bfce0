"""Kept connections spread over the web processes that share a socket.

Who takes a connection is decided by chance when it is made, and a client that keeps it stays with that process: all that came
before the second one had started, and those that happened to meet. With ten at 100,000 memories, seven of them on one process,
the slowest twentieth waited 11 times one client's median; in even parts 8 times. So a process with much to do ends some of its
connections, each with an answer that says so, and the client's next call makes a new one. Processes need not know of each other:
one that has twice as much to do ends eight times as many.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from random import random
from typing import Any, Final

ALL_END: Final = 16  # calls at once in a process at which each answer would end its connection
MOST_END: Final = 1 / 8  # of the answers
CLOSE: Final = (b"connection", b"close")
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class ConnectionBalancing:
    """An ASGI application that answers as another does and ends connections where many calls are answered at once."""

    def __init__(self, inner: Application, *, chance: Callable[[], float] = random) -> None:
        self._inner = inner
        self._chance = chance
        self._calls = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start" and self._chance() < share_of_ends(self._calls):
                # The client is told in the answer (RFC 9112, 9.6), so no call of it meets a connection that closes. Streams
                # say keep-alive: of two such headers many clients read the first.
                kept = [header for header in message["headers"] if header[0].lower() != CLOSE[0]]
                message = {**message, "headers": [*kept, CLOSE]}
            await send(message)

        self._calls += 1
        try:
            await self._inner(scope, receive, send_on)
        finally:
            self._calls -= 1


def share_of_ends(calls: int) -> float:
    """The share of answers that close their connection at this number of concurrent calls: 1/4096 for one, 3 % for five."""
    return min((calls / ALL_END) ** 3, MOST_END)
