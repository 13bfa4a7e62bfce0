"""The index is as wide as its model's vectors, whatever the model; a switch to another width changes no answer meanwhile."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from access.tokens import operator
from maintenance.embeddings.reembed import reembed
from memories.draft import Draft
from memories.embedding import MODEL_ID, configured_model_id, get_encoder, loader
from memories.embedding.install import calibration
from memories.embedding.loader import ModelFolder, choose_model, hint_of, model_folder
from memories.models import Memory, Piece
from memories.recall import RecallRequest, recall
from memories.search.base import search_index
from memories.search.schema import index_width
from memories.store import store
from memories.store.bulk import store_many
from memories.store.pieces import available_encoder, indexed_model
from sources.artifacts.evidence import EVIDENCE, recall_kinds
from sources.artifacts.ingest import ingest_content
from sources.artifacts.vectors import embed_chunks
from sources.models import Chunk, ChunkState
from storage.compiled_queries import fetch
from tests.memories.embedding.small_model import install_small, publish
from tests.settings import IS_POSTGRES

Remember = Callable[..., Memory]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A folder as sentence-transformers publishes one."""
    return publish(tmp_path / "published")


def use(folder: ModelFolder) -> int:
    """Use a model for an empty store, as the command does; its width."""
    choose_model(folder)
    reembed(operator())
    return get_encoder(timeout_s=60).model.width


def first(query: str) -> Memory:
    found = recall(operator(), RecallRequest(query, group="ledger", mode="vector"))
    assert found.degraded == ""
    return found.items[0].memory


def widths() -> set[int]:
    return {len(bytes(blob)) // 4 for blob in Piece.objects.values_list("embedding", flat=True)}


@pytest.mark.parametrize("width", [256, 384, 512, 768])
def test_an_empty_store_takes_vectors_of_any_width(remember: Remember, home: Path, width: int) -> None:
    assert use(install_small(home, width)) == width
    port = remember("the port is 8081")
    remember("maria wants the report")

    assert (index_width(connection), widths()) == (width, {width})
    assert indexed_model() == configured_model_id() == f"small-{width}@1/64/mean/r1"
    for _ in range(5):  # later ones search the vectors in memory, where there are such
        assert first("the port is 8081").id == port.id
    assert search_index().find_errors() == []
    search_index().rebuild()
    assert search_index().find_errors() == []


@pytest.mark.parametrize("count", [1, 3])
def test_the_first_texts_of_a_store_may_have_another_width(ledger: object, home: Path, count: int) -> None:
    choose_model(install_small(home, 512))
    get_encoder(timeout_s=60)
    drafts = [Draft(f"The berth {number} is free.", group="ledger") for number in range(count)]
    if count == 1:
        store(operator(), drafts[0])
    else:
        assert store_many(operator(), drafts).created == count
    assert widths() == {512}
    assert index_width(connection) == 512
    assert search_index().find_errors() == []


@pytest.mark.parametrize("width", [256, 768])
def test_a_switch_to_another_width_and_back(remember: Remember, home: Path, width: int) -> None:
    port, _ = remember("the port is 8081"), remember("maria wants the report")
    for _ in range(5):
        assert first("the port is 8081").id == port.id
    small, seen = install_small(home, width), []

    def loaded() -> list[str]:
        return sorted(name for place, name in loader._loaders if place == str(home))

    def serve(step: str, done: int, total: int) -> None:
        if step == "embedding" and not seen:
            seen.append(available_encoder(timeout_s=60).model_id)
            assert loaded() == ["all-MiniLM-L6-v2", small.path.name]
            assert first("the port is 8081").id == port.id
            remember("stored meanwhile")

    choose_model(small)
    assert reembed(operator(), progress=serve).switched
    assert (seen, index_width(connection), widths()) == ([MODEL_ID], width, {width})
    assert search_index().find_errors() == []
    for text in ("the port is 8081", "stored meanwhile"):
        assert first(text).content == text
    assert loaded() == [small.path.name]

    choose_model(model_folder(home, "all-MiniLM-L6-v2"))
    assert reembed(operator()).switched
    assert (index_width(connection), widths(), indexed_model()) == (384, {384}, MODEL_ID)
    assert first("the port is 8081").id == port.id
    assert search_index().find_errors() == []


def test_vectors_of_files_follow_the_switch(ledger: object, home: Path) -> None:
    runbook = "# Runbook\n\nThe payments queue is drained by the heron worker.\n"
    ingest_content(operator(), [("runbook.md", runbook.encode())], group="ledger", source="team")
    assert embed_chunks() + chunk_vectors() >= 1
    question = RecallRequest(
        "the payments queue is drained by the heron worker", group="ledger", mode="vector"
    )

    choose_model(install_small(home, 768))
    reembed(operator())
    Chunk.objects.update(state=ChunkState.LIVE)  # fires the triggers on vectors of the old model
    assert chunk_vectors() == 0
    assert embed_chunks() == Chunk.objects.count()
    assert chunk_vectors() == Chunk.objects.count()
    [evidence] = [found.evidence for found in [recall_kinds(operator(), question, [EVIDENCE])]]
    assert evidence is not None
    assert evidence.items


def chunk_vectors() -> int:
    [(count,)] = fetch(f"SELECT COUNT(*) FROM {'chunk_near' if IS_POSTGRES else 'chunk_vec'}", [])
    return int(count)


def test_the_command_adds_lists_and_uses_a_model(
    remember: Remember, home: Path, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = remember("the port is 8081")

    def run(*words: str) -> str:
        out = StringIO()
        call_command("model", *words, stdout=out)
        return out.getvalue()

    with pytest.raises(
        CommandError, match=r"published is not installed at .* Run `loci model add published`"
    ):
        run("use", "published")
    with pytest.raises(CommandError, match="published does not tell a question's answer from other texts"):
        run("add", str(published))  # its weights are random
    monkeypatch.setattr(calibration, "measure_distance", lambda _: calibration.Distance(0.5, 0.0, 0.1))
    assert run("add", str(published)).startswith("published@")
    assert "* installed: all-MiniLM-L6-v2@1110a243/256/mean/r1" in run("list")
    assert "The index was switched from all-MiniLM-L6-v2@1110a243/256/mean/r1." in run("use", "published")
    listed = run("list")
    assert "* installed: published@" in listed
    assert hint_of(model_folder(home, "published")) == f"Run `loci model add {published}`."
    assert "  loci model add mpnet\n" in listed
    assert "is valid: hashes match" in run("verify")
    assert first("the port is 8081").id == port.id
    assert "The index was switched from published@" in run("use", "minilm")
    assert indexed_model() == MODEL_ID
