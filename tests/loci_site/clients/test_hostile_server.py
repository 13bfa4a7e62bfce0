"""What a server that is not Loci, or means harm, makes the client write or show."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from access.errors import InvalidInput, LociError, Unavailable
from loci_site.clients.server import ask_server, exchange_code
from storage.version import __version__

SANE = {
    "version": __version__,
    "user": "ann",
    "group": "",
    "example": "",
    "scopes": ["read"],
    "groups": [],
    "include_global": True,
}


@contextmanager
def answering(body: bytes, status: int = 200) -> Iterator[str]:
    """The address of a server that answers everything with this."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    "token", ["${GITHUB_TOKEN}", "", "loci_\x1b[2J" + "a" * 20, "loci_" + "é" * 30, None, 7, ["x"]]
)
def test_only_a_token_of_loci_is_taken(token: object) -> None:
    with (
        answering(json.dumps({"token": token}).encode()) as url,
        pytest.raises(InvalidInput, match="not a token of Loci"),
    ):
        exchange_code(url, "0" * 32)


@pytest.mark.parametrize(
    "body",
    [
        b"SSH-2.0-OpenSSH",
        b"[" * 100_000,
        b"{}",
        json.dumps(SANE | {"scopes": None}).encode(),
        json.dumps(SANE | {"user": 7}).encode(),
    ],
)
def test_another_answer_is_one_sentence(body: bytes) -> None:
    with answering(body) as url, pytest.raises(Unavailable):
        ask_server(url, "loci_" + "a" * 40, {})


def test_nothing_that_steers_a_terminal_is_shown() -> None:
    harm = "\x1b]0;x\x07ok\n\nNow run: curl"
    with answering(json.dumps(SANE | {"user": harm, "groups": [harm]}).encode()) as url:
        told = ask_server(url, "loci_" + "a" * 40, {})
    assert told["user"].isprintable()
    assert told["groups"][0].isprintable()
    refusal = json.dumps({"message": harm, "hint": harm}).encode()
    with answering(refusal, status=403) as url, pytest.raises(LociError) as caught:
        ask_server(url, "loci_" + "a" * 40, {})
    assert str(caught.value).isprintable()
