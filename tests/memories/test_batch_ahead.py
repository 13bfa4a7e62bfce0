"""Many at once: the next batches are embedded in threads while one is written."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.actor import Actor
from access.models import Group
from memories import batch
from memories.batch import store_many
from memories.draft import Draft
from memories.models import Memory
from tests.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor(alice: User) -> Actor:
    return replace(person(alice), default_group="ledger")


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "BATCH_DRAFTS", 3)


def facts(count: int) -> list[Draft]:
    """Give facts that a file brings, numbered from 0."""
    return [Draft(f"Fact {n}.", scope="group", source="wiki", source_ref=f"f{n}") for n in range(count)]


def test_the_next_batch_is_embedded_while_one_is_written(
    actor: Actor, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, second, waited = batch.embed_passages, threading.Event(), list[bool]()

    def embed(passages: Any, encoder: Any) -> Any:
        if any(passage.content == "Fact 3." for passage in passages):
            second.set()
        return real(passages, encoder=encoder)

    monkeypatch.setattr(batch, "embed_passages", embed)
    store_many(actor, facts(6), on_progress=lambda _: waited.append(second.wait(timeout=30)))
    assert waited == [True, True]
    assert Memory.objects.count() == 6


def test_where_embedding_fails_the_batches_before_are_stored(
    actor: Actor, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = batch.embed_passages

    def embed(passages: Any, encoder: Any) -> Any:
        if any(passage.content == "Fact 4." for passage in passages):
            raise MemoryError("too large")
        return real(passages, encoder=encoder)

    monkeypatch.setattr(batch, "embed_passages", embed)
    with pytest.raises(MemoryError, match="too large"):
        store_many(actor, facts(9))
    assert list(Memory.objects.order_by("key").values_list("content", flat=True)) == [
        "Fact 0.",
        "Fact 1.",
        "Fact 2.",
    ]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("loci-import")]
