"""Re-embedding runs while the old vectors answer; the index is swapped atomically, and a killed run resumes."""

import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import Settings

import memories.recall as recalling
from access.actor import READ
from access.errors import NotPermitted
from access.tokens import operator
from maintenance.embeddings.backfill import embed_owed, is_owed
from maintenance.embeddings.reembed import ReembedPlan, ReembedResult, lacking, plan_reembed, reembed
from memories.embedding import MODEL_ID, Encoder, get_encoder
from memories.embedding.manifest import MINILM
from memories.lifecycle.verbs import forget, purge
from memories.models import Memory, Piece
from memories.recall import RecallRequest, recall
from memories.search.base import search_index
from memories.store.pieces import (
    as_vector,
    available_encoder,
    embed_passages,
    indexed_model,
    passage_of,
    piece_rows,
)
from tests.memories.indexes import VECTORS

Remember = Callable[..., Memory]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]
SMALL = MODEL_ID.replace("/256/", "/64/")
LONG = " ".join(f"Step {n} of the release is written down here." for n in range(20))  # 200 tokens and more


@pytest.fixture(autouse=True)
def encoder() -> Encoder:
    return get_encoder(timeout_s=60)


@pytest.fixture
def small(settings: Settings) -> Callable[[], None]:
    """Set the window to 64 tokens, as somebody does in the settings."""

    def set_small() -> None:
        settings.LOCI = replace(settings.LOCI, embedding=replace(settings.LOCI.embedding, window_tokens=64))

    return set_small


def vec_pieces() -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT piece FROM {VECTORS}")
        return {piece for (piece,) in cursor.fetchall()}


def test_everything_gets_vectors_of_the_new_model_and_loses_the_old(
    remember: Remember, small: Callable[[], None]
) -> None:
    short, long = remember("The port is 8081"), remember(LONG)
    assert Piece.objects.filter(memory=long).count() == 1
    small()
    assert plan_reembed(operator()) == ReembedPlan(MODEL_ID, SMALL, memories=2, lacking=2)
    done = reembed(operator())
    pieces = Piece.objects.filter(memory=long).count()
    assert pieces >= 4  # 200 tokens in windows of 62
    assert done == ReembedResult(MODEL_ID, SMALL, 2, pieces + 1, switched=True, pieces_deleted=2)
    assert set(Piece.objects.values_list("model", flat=True)) == {SMALL}
    assert indexed_model() == SMALL
    assert search_index().find_errors() == []
    assert vec_pieces() == set(Piece.objects.values_list("key", flat=True))
    found = recall(operator(), RecallRequest("which port?", group="ledger"))
    assert (found.degraded, found.items[0].memory.id) == ("", short.id)
    assert reembed(operator()) == ReembedResult(SMALL, SMALL, 0, 0, switched=False, pieces_deleted=0)
    assert plan_reembed(operator()).is_done


def test_a_small_window_reads_less(encoder: Encoder) -> None:
    small = encoder.with_window(64)
    # Of a text that fits both windows the vectors are equal; of a longer one they are not.
    assert np.allclose(small.encode(["The port is 8081"]), encoder.encode(["The port is 8081"]), atol=1e-6)
    assert float(small.encode([LONG])[0] @ encoder.encode([LONG])[0]) < 0.999
    assert encoder.of_model(SMALL) is small
    assert (
        MINILM.window_of(SMALL),
        MINILM.window_of("other-model@1/64/mean/r1"),
        encoder.of_model(""),
    ) == (64, None, None)


def test_until_the_exchange_the_old_vectors_answer_and_what_is_stored_gets_both(
    remember: Remember, small: Callable[[], None]
) -> None:
    port = remember("The port is 8081")
    small()
    seen: list[str] = []

    def serve(step: str, done: int, total: int) -> None:
        if step in seen:
            return
        seen.append(step)
        if step == "embedding":
            assert indexed_model() == MODEL_ID
            assert available_encoder() is not None
            found = recall(operator(), RecallRequest("which port do we use?", group="ledger"))
            assert (found.degraded, found.items[0].memory.id) == ("", port.id)
            late = remember(f"Stored while {step}: the {step} server is called {step}-7")
            assert {piece.model for piece in late.pieces.all()} == {MODEL_ID}

    done = reembed(operator(), progress=serve)
    assert {"embedding", "indexing"} <= set(seen)
    assert done.memories == 2
    assert set(Piece.objects.values_list("memory__content", "model").distinct()) == {
        ("The port is 8081", SMALL),
        ("Stored while embedding: the embedding server is called embedding-7", SMALL),
    }
    assert search_index().find_errors() == []


def test_a_recall_during_which_the_index_is_exchanged_asks_again(
    remember: Remember, small: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = remember("The port is 8081")
    small()
    real, asked_with = recalling.find_ranking, list[str]()

    def overtaken(*args: object, **more: object) -> object:
        asked_with.append(indexed_model())
        answer = real(*args, **more)
        if len(asked_with) == 1:
            reembed(operator())
        return answer

    monkeypatch.setattr(recalling, "find_ranking", overtaken)
    found = recall(operator(), RecallRequest("which port?", group="ledger"))
    assert asked_with == [MODEL_ID, SMALL]
    assert (found.degraded, found.items[0].memory.id) == ("", port.id)


def test_what_changes_right_after_the_index_was_made_is_in_it(
    remember: Remember, small: Callable[[], None]
) -> None:
    hidden, gone, kept = remember("The port is 8081"), remember("The owner is Dana"), remember("Cats purr")
    small()
    done: list[str] = []

    def change(step: str, _done: int, _total: int) -> None:
        if step == "indexing" and not done:
            done.append(step)
            forget(operator(), hidden.id)
            purge(operator(), gone.id)

    reembed(operator(), progress=change)
    assert done
    assert search_index().find_errors() == []
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT p.memory_id, v.standing FROM {VECTORS} v JOIN memories_piece p ON p.key = v.piece"
        )
        assert dict(cursor.fetchall()) == {hidden.key: 0, kept.key: 2}


@pytest.mark.parametrize("step", ["embedding", "indexing", "deleting old vectors"])
def test_a_killed_run_goes_on_where_it_was(remember: Remember, small: Callable[[], None], step: str) -> None:
    memories = [remember(f"Service {name} is written in {name}script") for name in ("Ada", "Bob", "Cyd")]
    small()

    def kill(now: str, _done: int, _total: int) -> None:
        if now == step:
            raise SystemExit(9)

    with pytest.raises(SystemExit):
        reembed(operator(), progress=kill)
    made = set(Piece.objects.filter(model=SMALL).values_list("key", flat=True))
    assert len(made) == 3
    # Whatever the moment, the index holds one model whole.
    assert search_index().find_errors() == []
    assert len(vec_pieces()) == 3
    assert (
        recall(operator(), RecallRequest("what is Ada written in?", group="ledger")).items[0].memory.id
        == memories[0].id
    )
    done = reembed(operator())
    assert done.memories == 0
    assert set(Piece.objects.values_list("key", flat=True)) == made == vec_pieces()


def test_triggers_keep_the_exchanged_index_true(remember: Remember, small: Callable[[], None]) -> None:
    first = remember("The port is 8081")
    small()
    reembed(operator())
    assert search_index().missing_objects() == []
    later = remember("The queue is called ledger-events")
    assert {piece.model for piece in later.pieces.all()} == {SMALL}
    purge(operator(), first.id)
    assert search_index().find_errors() == []
    assert vec_pieces() == set(later.pieces.values_list("key", flat=True))
    search_index().rebuild()
    assert search_index().find_errors() == []


def test_vectors_made_for_the_old_index_just_before_the_exchange_are_made_anew(
    remember: Remember, small: Callable[[], None], encoder: Encoder
) -> None:
    remember("The port is 8081")
    small()
    reembed(operator())
    # Another process had embedded for the old index, and writes only now.
    late = remember("The owner is Dana")
    late.pieces.all().delete()
    old = embed_passages([passage_of(late)], encoder=encoder)[0]
    Piece.objects.bulk_create(piece_rows(late, old))
    assert late.pieces.get().key not in vec_pieces()
    assert is_owed()
    assert embed_owed(operator()).memories == 1
    assert not is_owed()
    (made,) = late.pieces.filter(model=SMALL)
    assert made.key in vec_pieces()
    [anew] = encoder.with_window(64).encode(["The owner is Dana"])
    assert float(as_vector(made.embedding) @ anew) > 0.999


def test_during_a_reembed_the_worker_leaves_its_work_to_it(
    remember: Remember, small: Callable[[], None]
) -> None:
    remember("The port is 8081")
    small()
    assert lacking(SMALL).count() == 1
    assert not is_owed()


def test_only_an_admin_of_everything_may() -> None:
    for act in (plan_reembed, reembed):
        with pytest.raises(NotPermitted):
            act(replace(operator(), scopes=frozenset({READ})))


def test_the_command_says_what_it_would_do_and_did(remember: Remember, small: Callable[[], None]) -> None:
    remember("The port is 8081")
    call_command("model", "reembed", "--dry-run", stdout=(out := StringIO()))
    assert out.getvalue() == f"Nothing to do: the index holds {MODEL_ID} vectors of all 1 memories.\n"
    small()
    call_command("model", "reembed", "--json", stdout=(out := StringIO()))
    assert json.loads(out.getvalue()) == {
        "before": MODEL_ID,
        "model": SMALL,
        "memories": 1,
        "pieces": 1,
        "switched": True,
        "pieces_deleted": 1,
    }
