"""Vectors that were owed are made once a model is there, once, by whoever is first."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest

from access.actor import READ, Actor
from access.errors import NotPermitted
from access.tokens import operator
from maintenance.embeddings import backfill
from maintenance.embeddings.backfill import BackfillResult, embed_owed, is_owed
from memories.embedding import MODEL_ID, Encoder, ModelUnavailable, get_encoder
from memories.embedding.concurrency import ENDING
from memories.embedding.model import Vectors
from memories.models import Memory, Piece
from memories.recall import RecallRequest, recall
from memories.search.base import search_index
from memories.store.pieces import Passage
from storage.machine import available_cores

NoModel = Callable[[], AbstractContextManager[None]]
Remember = Callable[..., Memory]

pytestmark = pytest.mark.django_db
LONG = " ".join(f"Step {n} of the release is written down here." for n in range(60))  # 600 tokens and more


@pytest.fixture
def encoder() -> Encoder:
    return get_encoder(timeout_s=60)


@pytest.mark.model
def test_a_text_stored_without_a_model_is_found_by_meaning_afterwards(
    remember: Remember, no_model: NoModel, encoder: Encoder
) -> None:
    with no_model():
        memory = remember("We settled on PostgreSQL 16 for the books")
    assert [(piece.tokens, piece.embedding, piece.model) for piece in memory.pieces.all()] == [(0, None, "")]
    assert is_owed()
    assert embed_owed(operator()) == BackfillResult(memories=1, pieces=1, skipped=0, still_owed=0)
    (piece,) = memory.pieces.all()
    assert piece.model == MODEL_ID
    assert piece.tokens > 0
    assert len(piece.embedding) == 384 * 4
    assert search_index().find_errors() == []
    found = recall(operator(), RecallRequest("which database do we use?", group="ledger"))
    assert [item.memory.id for item in found.items] == [memory.id]


@pytest.mark.model
def test_a_long_text_gets_all_its_pieces(remember: Remember, no_model: NoModel, encoder: Encoder) -> None:
    with no_model():
        memory = remember(LONG)
    result = embed_owed(operator())
    pieces = list(memory.pieces.order_by("ordinal"))
    assert result.memories == 1
    assert result.pieces == len(pieces) > 1
    assert (pieces[0].start, pieces[-1].end) == (0, len(LONG))


@pytest.mark.model
def test_a_second_call_has_nothing_to_do(remember: Remember, no_model: NoModel, encoder: Encoder) -> None:
    with no_model():
        remember("The port is 8081")
    embed_owed(operator())
    before = list(Piece.objects.values_list("key", flat=True))
    assert embed_owed(operator()) == BackfillResult(memories=0, pieces=0, skipped=0, still_owed=0)
    assert list(Piece.objects.values_list("key", flat=True)) == before


@pytest.mark.model
def test_no_more_than_the_limit_is_done_at_once(
    remember: Remember, no_model: NoModel, encoder: Encoder
) -> None:
    with no_model():
        for port in range(8081, 8084):
            remember(f"Service {port} listens on port {port}")
    assert embed_owed(operator(), limit=2) == BackfillResult(memories=2, pieces=2, skipped=0, still_owed=1)
    assert embed_owed(operator(), limit=2) == BackfillResult(memories=1, pieces=1, skipped=0, still_owed=0)


@pytest.mark.model
def test_a_text_that_no_encoder_reads_keeps_no_other_waiting(
    remember: Remember, no_model: NoModel, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with no_model():
        poison, others = remember("Poison."), [remember("The port is 8081"), remember("Tea is at four")]
    embed = backfill.embed_passages

    def failing(passages: list[Passage], **kwargs: Any) -> object:
        if any("Poison" in passage.content for passage in passages):
            raise ValueError("unreadable")
        return embed(passages, **kwargs)

    monkeypatch.setattr(backfill, "embed_passages", failing)
    assert embed_owed(operator()) == BackfillResult(memories=2, pieces=2, skipped=1, still_owed=1)
    assert [row.pieces.get().model for row in others] == [MODEL_ID] * 2
    assert poison.pieces.get().embedding is None
    assert embed_owed(operator()).still_owed == 1
    with no_model():
        remember("Poison, again.")
    with pytest.raises(ValueError, match="unreadable"):  # it reads nothing: that is no single text's fault
        embed_owed(operator())


@pytest.mark.model
def test_who_comes_second_writes_nothing(
    remember: Remember, no_model: NoModel, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker fills the same vector, and somebody purges a memory, while this one embeds."""
    with no_model():
        shared, gone = remember("The port is 8081"), remember("The queue is called ledger-events")
    embed = backfill.embed_passages

    def overtaken(*args: object, **kwargs: object) -> object:
        monkeypatch.setattr(backfill, "embed_passages", embed)
        done = embed(*args, **kwargs)
        gone.delete()
        embed_owed(operator())
        return done

    monkeypatch.setattr(backfill, "embed_passages", overtaken)
    assert embed_owed(operator()) == BackfillResult(memories=0, pieces=0, skipped=2, still_owed=0)
    assert shared.pieces.count() == 1
    assert search_index().find_errors() == []


@pytest.mark.model
def test_long_texts_come_last_and_none_is_begun_after_its_time(
    remember: Remember, no_model: NoModel, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        backfill, "LONG_CHARS", 2_000
    )  # a text of 20,000 takes a core for a quarter of a minute
    with no_model():
        long_one = remember("!?.,;:" * 400)
        short = remember("The port is 8081")
    embedded: list[list[str]] = []
    embed = backfill.embed_passages

    def watched(passages: list[Passage], **options: Encoder) -> object:
        embedded.append([passage.content for passage in passages])
        return embed(passages, **options)

    monkeypatch.setattr(backfill, "embed_passages", watched)
    assert embed_owed(operator(), seconds=0).still_owed == 2
    assert embed_owed(operator()).still_owed == 0
    assert embedded == [[short.content], [long_one.content]]


@pytest.mark.model
def test_a_process_that_is_to_end_stops_within_a_text(
    remember: Remember, no_model: NoModel, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with no_model():
        memory = remember("".join(f"{number}!?.,;:" for number in range(500)))  # no two windows are alike
    runs: list[int] = []
    run = encoder._session.run

    def ended(rows: list[list[int]], patience_s: float | None) -> Vectors:
        runs.append(len(rows))
        ENDING.set()
        return run(rows)

    monkeypatch.setattr(encoder._session, "run", ended)
    try:
        assert embed_owed(operator()).still_owed == 1
    finally:
        ENDING.clear()
    assert 1 <= len(runs) <= available_cores()
    assert [piece.embedding for piece in memory.pieces.all()] == [None]
    monkeypatch.undo()
    assert embed_owed(operator()).still_owed == 0


def test_without_a_model_nothing_is_changed(remember: Remember, no_model: NoModel) -> None:
    with no_model():
        memory = remember("The port is 8081")
        with pytest.raises(ModelUnavailable):
            embed_owed(operator())
    assert memory.pieces.filter(embedding=None).count() == 1


def test_only_who_may_write_everywhere_can_do_it() -> None:
    reader = replace(operator(), scopes=frozenset({READ}))
    member = Actor(name="bob", via="rest", scopes=frozenset({"write"}))
    for actor in (reader, member):
        with pytest.raises(NotPermitted):
            embed_owed(actor)
