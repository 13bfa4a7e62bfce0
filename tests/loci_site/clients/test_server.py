"""What a server refuses reaches the person with the server's own hint, and as what it is: wrong, forbidden or passing."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from access.errors import LociError, NotAuthenticated, NotPermitted, TooManyAttempts, Unavailable
from loci_site.clients.server import ask_server, revoke_at


class _Refusing(HTTPServer):
    error: LociError


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        error = self.server.error  # type: ignore[attr-defined]
        self.send_response(error.status)
        self.end_headers()
        self.wfile.write(json.dumps(error.as_dict()).encode())

    def log_message(self, *_: Any) -> None:
        """Nothing is logged."""


@pytest.fixture
def refusing() -> Iterator[_Refusing]:
    with _Refusing(("127.0.0.1", 0), _Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(
    ("error", "seen", "is_ended"),
    [
        (TooManyAttempts("Too many wrong tokens.", hint="Try again in 40 seconds."), Unavailable, False),
        (Unavailable("The database does not answer.", hint="Wait."), Unavailable, False),
        (NotAuthenticated("The token is suspended.", hint="Its page resumes it."), NotAuthenticated, True),
        (NotPermitted("The token works elsewhere.", hint="Pair this browser."), NotPermitted, False),
    ],
)
def test_a_refusal_keeps_its_kind_and_hint(
    refusing: _Refusing, error: LociError, seen: type[LociError], is_ended: bool
) -> None:
    refusing.error, url = error, f"http://127.0.0.1:{refusing.server_port}"
    with pytest.raises(LociError) as refused:
        ask_server(url, "loci_x", {})
    assert (type(refused.value), refused.value.hint) == (seen, error.hint)
    assert error.message in refused.value.message
    assert revoke_at(url, "loci_x") == is_ended
