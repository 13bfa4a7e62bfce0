"""The server's start and end: nothing that was counted is lost by a graceful stop."""

import asyncio
import gc
import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db.backends.signals import connection_created
from django.utils import timezone

from loci_site import asgi
from loci_site.server.db_threads import FairPool
from loci_site.server.health import WATCH
from loci_site.server.process import TURN_S
from memories.models import RecallLog
from memories.recall_log import COUNTER, PendingRecall


@pytest.fixture
def counted() -> Iterator[None]:
    """One recall waits to be written; the interpreter's turns are as before afterwards."""
    turn_s = sys.getswitchinterval()
    COUNTER.add(
        PendingRecall(
            at=timezone.now(),
            group_key=None,
            actor="alice",
            via="rest",
            mode="keyword",
            query="which port?",
            hits=(),
            duration_ms=1.0,
            abstained=True,
            degraded=False,
        )
    )
    yield
    for thread in threading.enumerate():
        if thread.name == "loci-vectors":  # it reads the database, which ends with the test
            thread.join()
    connection_created.disconnect(WATCH.watch)
    sys.setswitchinterval(turn_s)
    gc.unfreeze()


@pytest.mark.django_db(transaction=True)
async def test_threads_take_short_turns_and_what_recalls_have_counted_is_written_at_the_end(
    counted: None,
) -> None:
    inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    sent: list[str] = []

    async def send(message: Any) -> None:
        sent.append(message["type"])

    for event in ("lifespan.startup", "lifespan.shutdown"):
        inbox.put_nowait({"type": event})
    await asgi.application({"type": "lifespan"}, inbox.get, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert sys.getswitchinterval() == pytest.approx(TURN_S)
    assert [log.query async for log in RecallLog.objects.all()] == ["which port?"]


@pytest.mark.django_db(transaction=True)
async def test_what_is_there_after_the_start_is_not_looked_through_for_cycles(counted: None) -> None:
    asgi.start()
    kept = gc.get_freeze_count()
    assert kept > 10_000  # Django alone


async def test_a_person_with_a_full_queue_is_told_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FairPool, "is_full", lambda self, person: person == "address:10.0.0.1")
    sent = list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": [(b"authorization", b"Bearer loci_x")], "client": ("10.0.0.1", 1)}
    await asgi.route(scope, asyncio.Queue[Any]().get, send)
    assert sent[0]["status"] == 429
    assert (b"retry-after", b"1") in sent[0]["headers"]
    assert json.loads(sent[1]["body"])["code"] == "too_many_reads"
