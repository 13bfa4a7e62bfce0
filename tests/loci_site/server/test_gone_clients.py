"""A client that hangs up while its long text is embedded ends that work, over REST and over MCP; nothing is stored."""

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from access.models import Group
from loci_site import asgi
from loci_site.server import db_threads
from memories.embedding import Encoder
from memories.embedding.long_texts import LongTextQueue
from memories.models import Memory
from tests.model import encoder
from tests.people import alice, bob, ledger, make_token

__all__ = ["alice", "bob", "encoder", "ledger"]
pytestmark = [pytest.mark.model, pytest.mark.django_db(transaction=True)]
LONG = "The harbour service listens on a port, and nobody knows which. " * 300
WAIT_S = 20


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
    for pool in (db_threads.thread_pool, db_threads.write_pool):
        pool().shutdown()
        pool.cache_clear()


def rest_request(secret: str) -> tuple[str, bytes, dict[str, str]]:
    body = json.dumps({"content": LONG, "group": "ledger", "scope": "group"}).encode()
    return "/api/memories", body, {"authorization": f"Bearer {secret}"}


def mcp_request(secret: str) -> tuple[str, bytes, dict[str, str]]:
    arguments = {"content": LONG, "group": "ledger", "scope": "group"}
    params = {"name": "store_memory", "arguments": arguments}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    accept = "application/json, text/event-stream"
    return "/mcp", body, {"authorization": f"Bearer {secret}", "accept": accept}


@pytest.mark.parametrize("request_of", [rest_request, mcp_request])
def test_the_work_ends_with_the_client(
    begun: threading.Event, bob: User, ledger: Group, request_of: Any, encoder: Encoder
) -> None:
    path, body, headers = request_of(make_token(bob)[1])
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

    async def hang_up() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        inbox.put_nowait({"type": "http.request", "body": body, "more_body": False})

        async def send(message: Any) -> None:
            pass

        answering = asyncio.ensure_future(asgi.route(scope, inbox.get, send))
        assert await asyncio.to_thread(begun.wait, WAIT_S)
        inbox.put_nowait({"type": "http.disconnect"})
        await asyncio.wait_for(answering, WAIT_S)
        while db_threads.LONG_TEXTS._waiting:
            await asyncio.sleep(0.01)

    asyncio.run(hang_up())
    assert not Memory.objects.exists()
