"""Requests that stop in the middle are closed; slow ones that go on are answered."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection
from typing import Any

import pytest
from uvicorn import Config, Server

from loci_site.server import web
from loci_site.server.slow_requests import REQUESTS_KEPT, SILENT_S, PatientProtocol

SILENT = 0.4
HEAD = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 6\r\n"


class Impatient(PatientProtocol):
    """The same with a wait that a test can afford."""

    silent_s = SILENT


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        if not message["more_body"]:
            break
    length = str(len(body)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def port() -> Iterator[int]:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    server = Server(Config(echo, http=Impatient, ws="none", lifespan="off", log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield sock.getsockname()[1]
    server.should_exit = True
    thread.join()


def answered(connection: socket.socket) -> bytes:
    """Everything until the server closes."""
    connection.settimeout(20)
    parts = []
    while part := connection.recv(4096):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\nhost: local", HEAD + b"\r\n123"])
def test_a_request_that_stops_in_its_headers_or_body_is_closed(port: int, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(sent)
        assert answered(connection).startswith(b"HTTP/1.1 408 ")


def test_a_connection_closes_after_many_requests_and_says_so(port: int) -> None:
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        said = []
        for _ in range(REQUESTS_KEPT):
            connection.request("POST", "/", b"whole")
            answer = connection.getresponse()
            assert answer.read() == b"whole"
            said.append(answer.will_close)
        assert said == [False] * (REQUESTS_KEPT - 1) + [True]


def test_headers_that_trickle_are_closed_all_the_same(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        began = time.monotonic()
        connection.settimeout(SILENT / 4)
        answer = b""
        while not answer and time.monotonic() < began + 20:
            connection.sendall(b"a: b\r\n")
            with suppress(TimeoutError):
                answer = connection.recv(4096)
        assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_connection_without_a_request_is_closed_without_an_answer(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        assert answered(connection) == b""


def test_a_slow_body_that_goes_on_is_answered_and_so_is_the_next_request(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(HEAD + b"\r\n")
        for digit in b"123456":
            time.sleep(SILENT * 0.6)
            connection.sendall(bytes([digit]))
        connection.settimeout(20)
        assert connection.recv(4096).endswith(b"123456")
        time.sleep(SILENT * 2)  # a kept connection may rest longer
        connection.sendall(HEAD + b"\r\nabcdef")
        assert connection.recv(4096).endswith(b"abcdef")


def test_the_server_uses_it() -> None:
    assert SILENT_S == 10
    assert web.server_config().http is PatientProtocol
