"""Many at once: the next batches are embedded in threads while one is written."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.actor import Actor
from access.audit.verify import is_log_whole
from access.models import AuditEntry, Group
from memories.draft import Draft
from memories.embedding import Encoder
from memories.models import Memory, Piece
from memories.queries.snapshot import RELATED_ROWS, snapshot
from memories.store import bulk as batch
from memories.store.bulk import store_many
from tests.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor(alice: User) -> Actor:
    return replace(person(alice), default_group="ledger")


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "BATCH_DRAFTS", 3)


def facts(count: int) -> list[Draft]:
    """Facts of a file, numbered from 0."""
    return [Draft(f"Fact {n}.", scope="group", source="wiki", source_ref=f"f{n}") for n in range(count)]


def test_the_next_batch_is_embedded_while_one_is_written(
    actor: Actor, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, second, waited = batch.embed_or_owe, threading.Event(), list[bool]()

    def embed(passages: Any, encoder: Any) -> Any:
        if any(passage.content == "Fact 3." for passage in passages):
            second.set()
        return real(passages, encoder=encoder)

    monkeypatch.setattr(batch, "embed_or_owe", embed)
    store_many(actor, facts(6), on_progress=lambda _: waited.append(second.wait(timeout=30)))
    assert waited == [True, True]
    assert Memory.objects.count() == 6


def test_where_embedding_fails_the_batches_before_are_stored(
    actor: Actor, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = batch.embed_or_owe

    def embed(passages: Any, encoder: Any) -> Any:
        if any(passage.content == "Fact 4." for passage in passages):
            raise MemoryError("too large")
        return real(passages, encoder=encoder)

    monkeypatch.setattr(batch, "embed_or_owe", embed)
    with pytest.raises(MemoryError, match="too large"):
        store_many(actor, facts(9))
    assert list(Memory.objects.order_by("key").values_list("content", flat=True)) == [
        "Fact 0.",
        "Fact 1.",
        "Fact 2.",
    ]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("loci-import")]


def test_the_log_of_a_batch_has_each_memory_as_it_is(actor: Actor, ledger: Group) -> None:
    store_many(actor, facts(7))
    stored = AuditEntry.objects.filter(operation="store").order_by("seq")
    assert [entry.payload_row.payload["after"] for entry in stored] == [
        snapshot(memory) for memory in Memory.objects.select_related(*RELATED_ROWS).order_by("key")
    ]
    assert is_log_whole()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("loci-import")]


def test_an_error_before_writing_ends_the_import(
    actor: Actor, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = list[int]()

    def skip_known(_groups: Any, known: list[Any]) -> None:
        looked_up.append(known[0].index)
        if len(looked_up) == 3:
            raise ValueError("broken")

    monkeypatch.setattr(batch, "skip_unchanged", skip_known)
    with pytest.raises(ValueError, match="broken"):
        store_many(actor, facts(30))
    assert looked_up == [0, 3, 6]


class Counting:
    """The real encoder, which counts the texts that it makes vectors of."""

    def __init__(self, own: Encoder) -> None:
        self._own, self.texts = own, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def encode(self, texts: Sequence[str], *, patience_s: float | None = None) -> Any:
        self.texts += len(texts)
        return self._own.encode(texts, patience_s=patience_s)


@pytest.mark.model
def test_texts_of_several_pieces_are_embedded_only_where_they_are_written(
    actor: Actor, ledger: Group, encoder: Encoder
) -> None:
    drafts = [
        replace(fact, content=f"{fact.content} " + "A lighthouse stands here. " * 100) for fact in facts(3)
    ]
    counting = Counting(encoder)

    def store(who: Actor) -> batch.BatchResult:
        counting.texts = 0
        return store_many(who, drafts, encoder=counting)  # type: ignore[arg-type]

    stranger = replace(actor, all_groups=False, roles={})
    assert (len(store(stranger).refused), counting.texts) == (3, 0)
    assert store(actor).created == 3
    assert counting.texts == Piece.objects.count() > 3
    assert (store(actor).unchanged, counting.texts) == (3, 0)
