"""HTTP connections that close themselves when a client stops sending in the middle of a request, or has sent many.

Uvicorn waits for ever: its own timeout covers only the pause between two requests. Headers must be complete after
SILENT_S, and a body may pause for as long; a slow upload that goes on is served.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from access.sign_in.client_address import PEER

SILENT_S: Final = 10.0
# On one connection; its client then opens another, which a web process that was started meanwhile may accept.
REQUESTS_KEPT: Final = 100
_TOO_SLOW: Final = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 26\r\n"
    b"connection: close\r\n\r\nThe request took too long."
)


class PatientProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with limits on the time that a request may take to arrive."""

    silent_s = SILENT_S

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self._is_in_headers = False
        self._requests = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        super().connection_made(transport)
        self._expect_more()

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived; a part of a body begins a new wait."""
        super().data_received(data)
        if self._is_in_body():
            self._expect_more()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        scope: dict[str, Any] = self.scope  # type: ignore[assignment]  # our key is unknown to ASGI
        scope[PEER] = self.client  # stays when a proxy's headers change "client"
        self._is_in_headers = True
        self._expect_more()

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._requests += 1
        if self._requests >= REQUESTS_KEPT and self.cycle is not None:
            self.cycle.keep_alive = False
        self._is_in_headers = False
        self._expect_more()

    def on_message_complete(self) -> None:
        """Expect nothing more: the server works now."""
        super().on_message_complete()
        self._expect_nothing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    def _is_in_body(self) -> bool:
        return not self._is_in_headers and self.cycle is not None and self.cycle.more_body

    def _expect_more(self) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(self.silent_s, self._close_silent)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_silent(self) -> None:
        if self.transport.is_closing():
            return
        if self._is_silence_ours():
            self._expect_more()
            return
        if self._is_in_headers or (self._is_in_body() and not self.cycle.response_started):
            self.transport.write(_TOO_SLOW)
        self.transport.close()

    def _is_silence_ours(self) -> bool:
        """Whether the client waits for the server: for space, for an answer, or to be asked for the body."""
        if self.flow.read_paused:
            return True
        if self.cycle is None or self.cycle.response_complete:
            return False
        return self._is_in_headers or self.cycle.waiting_for_100_continue
