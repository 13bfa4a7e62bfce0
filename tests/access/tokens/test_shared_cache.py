"""Rates of writes are shared through Redis, which may be lost at any moment."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from access.limits.throttle import now_us
from access.models import PersonWrites
from storage.shared_cache import connected_cache
from tests.people import make_token
from tests.redis_broker import RedisBroker

pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")


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


def post(client: Client, secret: str, number: int) -> int:
    body = {"content": f"Port of service {number}.", "group": "ledger"}
    headers = {"authorization": f"Bearer {secret}"}
    return client.post("/api/memories", body, content_type="application/json", headers=headers).status_code


@pytest.mark.django_db(transaction=True)
def test_writes_are_counted_in_redis_and_in_the_row_while_it_is_away(
    with_redis: RedisBroker, alice: User, ledger: object, client: Client
) -> None:
    settings.LOCI = replace(settings.LOCI, access=replace(settings.LOCI.access, chars_per_day=1_000))
    _, secret = make_token(alice)
    assert [post(client, secret, n) for n in range(3)] == [201, 201, 429]
    assert not PersonWrites.objects.exists()  # nobody waits for the person's row
    [name, *_] = with_redis._client.keys()
    assert name.startswith(b"loci:")
    assert alice.username.encode() not in name
    assert 0 < with_redis._client.ttl(name) <= 2 * 86_400
    with_redis.kill()
    connected_cache.cache_clear()
    # What Redis had counted is forgiven; the row goes on from there.
    assert [post(client, secret, n) for n in range(3, 6)] == [201, 201, 429]
    assert PersonWrites.objects.get().chars_at > now_us()
