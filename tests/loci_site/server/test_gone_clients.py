"""A client that hangs up ends its work, over REST and over MCP: a long text is not stored, a question's statement ends."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from pytest_django import Settings

from access.models import Group
from loci_site import asgi
from loci_site.server import db_threads
from memories import recall as recalling
from memories.embedding import Encoder
from memories.embedding.long_texts import LongTextQueue
from memories.models import Memory
from tests.model import encoder
from tests.people import alice, bob, ledger, make_token

__all__ = ["alice", "bob", "encoder", "ledger"]
pytestmark = [pytest.mark.model, pytest.mark.django_db(transaction=True)]
LONG = "The harbour service listens on a port, and nobody knows which. " * 300
WAIT_S = 20
# Counts for longer than any test waits, on both databases.
SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT COUNT(*) FROM n"


@pytest.fixture
def begun(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Real threads; set as soon as a long text is being embedded, which then waits until nobody wants it."""
    settings.LOCI_DB_THREADS = "pool"
    begun = threading.Event()

    def wait_until_gone(self: Encoder, texts: Sequence[str], is_gone: threading.Event) -> Any:
        begun.set()
        assert is_gone.wait(WAIT_S)

    monkeypatch.setattr(Encoder, "encode_unless", wait_until_gone)
    monkeypatch.setattr(db_threads, "LONG_TEXTS", LongTextQueue())
    yield begun
    end_threads()


@pytest.fixture
def slow(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Real threads, and a recall whose statement does not end by itself: two events, when it has begun and when it has ended."""
    settings.LOCI_DB_THREADS = "pool"
    begun, ended = threading.Event(), threading.Event()

    def rank_for_ever(*args: Any, **kwargs: Any) -> Any:
        begun.set()
        try:
            with connection.cursor() as cursor:
                cursor.execute(SLOW)
                raise AssertionError(f"It has counted to {cursor.fetchone()}.")
        finally:
            ended.set()

    monkeypatch.setattr(recalling, "find_ranking", rank_for_ever)
    yield begun, ended
    end_threads()


def end_threads() -> None:
    """End the threads of this test, with their connections."""
    for pool in (db_threads.read_pool, db_threads.write_pool):
        pool().shutdown()
        pool.cache_clear()


def rest_question(secret: str) -> tuple[str, bytes, dict[str, str]]:
    body = json.dumps({"query": "which port?", "group": "ledger"}).encode()
    return "/api/recall", body, {"authorization": f"Bearer {secret}"}


def mcp_question(secret: str) -> tuple[str, bytes, dict[str, str]]:
    return call_tool(secret, "recall_memory", {"query": "which port?", "group": "ledger"})


def rest_request(secret: str) -> tuple[str, bytes, dict[str, str]]:
    body = json.dumps({"content": LONG, "group": "ledger", "scope": "group"}).encode()
    return "/api/memories", body, {"authorization": f"Bearer {secret}"}


def mcp_request(secret: str) -> tuple[str, bytes, dict[str, str]]:
    return call_tool(secret, "store_memory", {"content": LONG, "group": "ledger", "scope": "group"})


def call_tool(secret: str, name: str, arguments: dict[str, str]) -> tuple[str, bytes, dict[str, str]]:
    params = {"name": name, "arguments": arguments}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    accept = "application/json, text/event-stream"
    return "/mcp", body, {"authorization": f"Bearer {secret}", "accept": accept}


@pytest.mark.parametrize("request_of", [rest_request, mcp_request])
def test_the_work_ends_with_the_client(
    begun: threading.Event, bob: User, ledger: Group, request_of: Any, encoder: Encoder
) -> None:
    hang_up(*request_of(make_token(bob)[1]), begun)
    while db_threads.LONG_TEXTS._waiting:
        time.sleep(0.01)
    assert not Memory.objects.exists()


@pytest.mark.parametrize("request_of", [rest_question, mcp_question])
def test_the_statement_of_a_question_ends_with_the_client(
    slow: tuple[threading.Event, threading.Event], bob: User, ledger: Group, request_of: Any, encoder: Encoder
) -> None:
    begun, ended = slow
    hang_up(*request_of(make_token(bob)[1]), begun)
    assert ended.wait(WAIT_S)  # about a tenth of a second on an idle machine


def hang_up(path: str, body: bytes, headers: dict[str, str], begun: threading.Event) -> None:
    """Send a request, and disconnect as soon as it is being worked on."""
    headers |= {
        "host": "localhost",
        "content-type": "application/json",
        "content-length": str(len(body)),
    }
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }

    async def send_and_leave() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        inbox.put_nowait({"type": "http.request", "body": body, "more_body": False})

        async def send(message: Any) -> None:
            pass

        answering = asyncio.ensure_future(asgi.route(scope, inbox.get, send))
        assert await asyncio.to_thread(begun.wait, WAIT_S)
        inbox.put_nowait({"type": "http.disconnect"})
        await asyncio.wait_for(answering, WAIT_S)

    asyncio.run(send_and_leave())
