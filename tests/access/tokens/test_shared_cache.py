"""Redis beside Loci: vectors of questions and rates of writes are shared, hold no text, and may be lost at any moment."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from access.limits.throttle import writes_left
from access.models import PersonWrites
from bench.proof.celery.brokers import RedisBroker
from memories.embedding.query_cache import shared
from storage.shared_cache import SharedCache, connected_cache
from tests.people import make_token

pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
TEXT = "which port has the ledger?"


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisBroker]:
    """A Redis server of this module's own."""
    broker = RedisBroker(tmp_path_factory.mktemp("redis"))
    yield broker
    broker.close()


@pytest.fixture
def with_redis(redis: RedisBroker, settings: Any) -> Iterator[RedisBroker]:
    """Loci with that Redis, empty and running."""
    if redis._process.poll() is not None:
        redis.start()
    redis._client.flushall()
    settings.LOCI = replace(settings.LOCI, redis_url=redis.redis_url)
    connected_cache.cache_clear()
    yield redis
    connected_cache.cache_clear()


class Encoder:
    """Counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, text: str) -> Any:
        """A vector of unit length."""
        self.asked.append(text)
        vector = np.zeros(384, dtype=np.float32)
        vector[len(text)] = 1.0
        return vector


def test_a_question_is_embedded_once_for_all_processes(with_redis: RedisBroker) -> None:
    one, other = Encoder(), Encoder()
    first = shared(one.encode, "model-1")(TEXT)
    assert np.array_equal(shared(other.encode, "model-1")(TEXT), first)
    assert (one.asked, other.asked) == ([TEXT], [])
    shared(other.encode, "model-2")(TEXT)  # another model's vector is another one
    assert other.asked == [TEXT]


def test_redis_holds_no_text_and_nothing_for_ever(with_redis: RedisBroker) -> None:
    shared(Encoder().encode, "model-1")(TEXT)
    [name] = with_redis._client.keys()
    assert name.startswith(b"loci:query:")
    assert b"ledger" not in name + with_redis._client.get(name)
    assert 0 < with_redis._client.ttl(name) <= 24 * 3600
    secret = SharedCache(with_redis.redis_url, secret="of another store")
    assert secret.get("query", f"model-1\0{TEXT}") is None


def test_what_is_no_vector_is_computed_anew(with_redis: RedisBroker) -> None:
    shared(Encoder().encode, "model-1")(TEXT)
    [name] = with_redis._client.keys()
    for nonsense in (b"short", b"\0" * 1536):
        with_redis._client.set(name, nonsense)
        again = Encoder()
        shared(again.encode, "model-1")(TEXT)
        assert again.asked == [TEXT]


def test_a_lost_redis_is_noticed_once_and_not_waited_for(
    with_redis: RedisBroker, caplog: pytest.LogCaptureFixture
) -> None:
    encoder = Encoder()
    ask = shared(encoder.encode, "model-1")
    with_redis.kill()
    ask(TEXT)
    ask(TEXT)
    assert encoder.asked == [TEXT, TEXT]
    assert len([r for r in caplog.records if "going on without it" in r.message]) == 1


def post(client: Client, secret: str, number: int) -> int:
    body = {"content": f"Port of service {number}.", "group": "ledger"}
    headers = {"authorization": f"Bearer {secret}"}
    return client.post("/api/memories", body, content_type="application/json", headers=headers).status_code


@pytest.mark.django_db(transaction=True)
def test_writes_are_counted_in_redis_and_in_the_row_while_it_is_away(
    with_redis: RedisBroker, alice: User, ledger: object, client: Client
) -> None:
    settings.LOCI = replace(
        settings.LOCI, access=replace(settings.LOCI.access, writes_per_minute=1, write_burst=2)
    )
    _, secret = make_token(alice)
    assert [post(client, secret, n) for n in range(3)] == [201, 201, 429]
    assert not PersonWrites.objects.exists()  # nobody waits for the person's row
    with_redis.kill()
    connected_cache.cache_clear()
    # What Redis had counted is forgiven; the row goes on from there.
    assert [post(client, secret, n) for n in range(3, 6)] == [201, 201, 429]
    assert writes_left(PersonWrites.objects.get()) < 1
