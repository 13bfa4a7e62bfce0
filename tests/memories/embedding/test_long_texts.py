"""Long texts are embedded in a queue of their own, or later; a client that has gone ends the work."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from access.models import Group
from access.tokens import operator
from loci_site.server import db_threads
from loci_site.server.db_threads import in_db_thread, in_write_thread
from maintenance.embeddings.backfill import embed_owed
from memories.draft import Draft
from memories.embedding import Encoder
from memories.embedding.long_texts import (
    MAX_WINDOWS,
    SHORT_WINDOWS,
    TOO_LONG,
    LongText,
    LongTextQueue,
    VectorsNeeded,
    embed_long_text,
    known_vectors,
    restartable,
)
from memories.lifecycle.edit import EditDraft, edit
from memories.models import Memory, Piece
from memories.store import pieces, store
from memories.store.pieces import Passage, embed_passage
from tests.loci_site.api.conftest import Caller
from tests.model import encoder as loaded_encoder
from tests.people import alice, bob, garden, ledger, make_token

__all__ = ["alice", "bob", "garden", "ledger", "loaded_encoder"]
MARKS = "!?.,;:" * 2900  # 68 windows


class SlowEncoder:
    """An encoder that blocks until it is released; it counts the texts that it was asked to embed."""

    model_id = "slow"

    def __init__(self) -> None:
        self.may_go_on, self.begun = threading.Event(), threading.Event()
        self.ended: list[bool] = []

    def encode(self, texts: Sequence[str], *, patience_s: float | None = None) -> Any:
        return np.ones((len(texts), 384), dtype=np.float32)

    def encode_unless(self, texts: Sequence[str], is_gone: threading.Event) -> Any:
        self.begun.set()
        self.may_go_on.wait(20)
        self.ended.append(is_gone.is_set())
        return None if is_gone.is_set() else self.encode(texts)


def long_text(encoder: Any, windows: int = 20, name: str = "a") -> LongText:
    return LongText((name, "slow"), encoder, (), [f"{name} {n}" for n in range(windows)])


@pytest.fixture
def pools(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[LongTextQueue]:
    """Real threads and a queue for this test alone."""
    settings.LOCI_DB_THREADS = "pool"
    server = replace(settings.LOCI.server, db_threads=1)
    settings.LOCI = replace(settings.LOCI, server=server)
    monkeypatch.setattr(db_threads, "WRITE_THREADS", 1)
    queue = LongTextQueue(max_waiting=2)
    monkeypatch.setattr(db_threads, "LONG_TEXTS", queue)
    for pool in (db_threads.read_pool, db_threads.write_pool):
        pool.cache_clear()
    yield queue
    for pool in (db_threads.read_pool, db_threads.write_pool):
        pool().shutdown()
        pool.cache_clear()


@in_write_thread
def write(text: LongText) -> str:
    """A job as a store is: it needs vectors before it writes."""
    known = known_vectors(text.key)
    if known is None:
        return f"{len(embed_long_text(text).vectors)} in place"
    return "owed" if known.vectors is None else f"{len(known.vectors)} from the queue"


@in_db_thread
def read() -> str:
    return threading.current_thread().name


async def test_a_long_text_leaves_its_thread_to_others(pools: LongTextQueue) -> None:
    slow = SlowEncoder()
    waiting = asyncio.ensure_future(write(long_text(slow)))
    await asyncio.to_thread(slow.begun.wait, 20)
    # The only write thread and the only read thread are free.
    assert await write(long_text(slow, windows=SHORT_WINDOWS, name="short")) == f"{SHORT_WINDOWS} in place"
    assert (await read()).startswith("loci-db")
    assert not waiting.done()
    slow.may_go_on.set()
    assert await waiting == "20 from the queue"


async def test_reads_do_not_wait_for_writes(pools: LongTextQueue) -> None:
    held, reached = threading.Event(), threading.Event()

    @in_write_thread
    def hold() -> None:
        reached.set()
        held.wait(20)

    holding = asyncio.ensure_future(hold())
    await asyncio.to_thread(reached.wait, 20)
    assert (await asyncio.wait_for(read(), 10)).startswith("loci-db")
    held.set()
    await holding


async def test_what_finds_no_room_is_owed(pools: LongTextQueue) -> None:
    slow = SlowEncoder()
    first = [asyncio.ensure_future(write(long_text(slow, name=name))) for name in ("a", "b")]
    await asyncio.to_thread(slow.begun.wait, 20)
    while pools._waiting < 2:
        await asyncio.sleep(0.01)
    assert await write(long_text(slow, name="c")) == "owed"
    slow.may_go_on.set()
    assert await asyncio.gather(*first) == ["20 from the queue"] * 2
    assert await write(long_text(slow, name="d")) == "20 from the queue"


async def test_a_client_that_has_gone_ends_its_work_and_frees_its_place(pools: LongTextQueue) -> None:
    slow = SlowEncoder()
    one, two = (asyncio.ensure_future(write(long_text(slow, name=name))) for name in ("a", "b"))
    await asyncio.to_thread(slow.begun.wait, 20)
    one.cancel()
    two.cancel()
    await asyncio.wait([one, two])
    slow.may_go_on.set()
    while pools._waiting:
        await asyncio.sleep(0.01)
    assert slow.ended == [True]  # the second one was never begun


class GoneWhenAskedTwice(threading.Event):
    """A client that goes while the first batch is computed."""

    asked = 0

    def is_set(self) -> bool:
        self.asked += 1
        return self.asked == 2


@pytest.mark.model
def test_work_is_checked_between_batches(loaded_encoder: Encoder) -> None:
    texts = [f"{number} " + "word " * 200 for number in range(40)]
    gone = threading.Event()
    vectors = loaded_encoder.encode_unless(texts[:6], gone)
    assert vectors is not None
    assert np.allclose(vectors, loaded_encoder.encode(texts[:6]), atol=1e-5)
    soon = GoneWhenAskedTwice()
    assert loaded_encoder.encode_unless(texts, soon) is None
    assert soon.asked == 2


def test_only_a_server_is_asked_to_wait() -> None:
    slow = SlowEncoder()
    assert len(embed_long_text(long_text(slow)).vectors) == 20
    with restartable({}), pytest.raises(VectorsNeeded):
        embed_long_text(long_text(slow))
    with restartable({}):
        assert len(embed_long_text(long_text(slow, windows=SHORT_WINDOWS)).vectors) == SHORT_WINDOWS


@pytest.mark.model
def test_a_text_with_too_many_windows_is_stored_at_once_and_embedded_later(
    ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "MAX_WINDOWS", 8)  # 64 take seconds to embed
    stored = store(operator(), Draft(MARKS[:3000], group="ledger"))
    assert (stored.outcome, stored.is_embedding_owed, stored.why) == ("created", True, TOO_LONG)
    assert [piece.embedding for piece in Piece.objects.all()] == [None]
    assert embed_owed(operator()).memories == 1
    assert Piece.objects.filter(embedding=None).count() == 0
    assert Piece.objects.count() > 8


@pytest.mark.model
def test_the_limit_is_on_windows_not_on_characters(loaded_encoder: Encoder) -> None:
    words = "The harbour service listens on a port. " * 2000
    for text in (words[:40_000], "!" * 14_000, "!" * 30_000):
        windows = len(loaded_encoder.split(text))
        embedded = embed_passage(Passage(text), encoder=loaded_encoder) if windows > MAX_WINDOWS else None
        if embedded is not None:
            assert (embedded.is_owed, embedded.owed_because) == (True, TOO_LONG)
    assert len(loaded_encoder.split(words[:40_000])) < MAX_WINDOWS < len(loaded_encoder.split("!" * 30_000))


@pytest.mark.model
def test_rest_says_that_vectors_are_owed(bob: User, ledger: Group) -> None:
    caller = Caller(make_token(bob)[1])
    answer = caller.store(MARKS)
    assert answer["embedding_owed"]
    assert answer["why"] == TOO_LONG


@pytest.mark.model
def test_rest_stores_a_long_text_with_its_vectors(bob: User, ledger: Group) -> None:
    caller = Caller(make_token(bob)[1])
    answer = caller.store("The harbour service listens on a port, and nobody knows which. " * 200)
    assert not answer["embedding_owed"]
    assert Piece.objects.filter(embedding=None).count() == 0
    assert Piece.objects.count() > SHORT_WINDOWS
    assert Memory.objects.count() == 1


@pytest.mark.model
def test_an_edit_says_so_too(ledger: Group) -> None:
    stored = store(operator(), Draft("The port is 8081.", group="ledger"))
    assert stored.memory is not None
    assert edit(operator(), stored.memory.id, EditDraft(content=MARKS)).why == TOO_LONG
