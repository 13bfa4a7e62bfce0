"""A calibration with the store's own texts makes a model of its own; what is in use answers as before."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from access.tokens import operator
from maintenance.embeddings.reembed import reembed
from memories.draft import Draft
from memories.embedding import configured_model_id, get_encoder
from memories.embedding.install import calibration
from memories.embedding.install.calibration import mean_cosine
from memories.embedding.loader import ModelFolder, choose_model, load_encoder, model_folder, sha256_of
from memories.lifecycle.verbs import forget
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.store.bulk import store_many
from memories.store.pieces import indexed_model
from tests.memories.embedding.small_model import install_small

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]
TEXTS = [f"berth {number} has {number * 37 % 101} boats" for number in range(200)]


def run(*words: str) -> str:
    out = StringIO()
    call_command("model", *words, stdout=out)
    return out.getvalue()


def run_json(*words: str) -> dict[str, Any]:
    answer = json.loads(run(*words, "--json"))
    assert isinstance(answer, dict)
    return answer


@pytest.fixture
def small(ledger: object, home: Path) -> ModelFolder:
    """A model of random weights, in use by a store with just enough texts."""
    folder = install_small(home, 64)
    choose_model(folder)
    reembed(operator())
    assert store_many(operator(), [Draft(text, group="ledger") for text in TEXTS]).created == len(TEXTS)
    return folder


@pytest.fixture
def is_able(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random weights pass for a model that tells answers from other texts."""
    monkeypatch.setattr(calibration, "measure_distance", lambda _: calibration.Distance(0.4, 0.1, 0.05))


def files(folder: Path) -> dict[str, str]:
    return {file.name: sha256_of(file) for file in folder.iterdir()}


def test_the_store_s_texts_make_a_model_next_to_the_one_in_use(
    small: ModelFolder, home: Path, is_able: None
) -> None:
    before, indexed = files(small.path), indexed_model()

    said = run_json("calibrate", "--force")

    name = said["name"]
    assert (said["made_from"], said["texts"], said["dry_run"]) == ("small-64", len(TEXTS), False)
    assert files(small.path) == before
    assert (configured_model_id(), indexed_model()) == (indexed, indexed)
    made = load_encoder(model_folder(home, name))
    assert (made.model.name, made.model_id) == (name, said["model_id"])
    assert name.startswith("small-64+")
    assert np.abs(made.encode(TEXTS).mean(axis=0)).max() < 0.1
    assert said["after"] == pytest.approx(0, abs=0.02)
    assert said["before"] > 0.1
    assert (said["factor"], said["summand"]) == (made.model.question_scale, made.model.question_shift)

    assert f"The index was switched from {indexed}." in run("use", name)
    assert "is valid: hashes match" in run("verify")
    assert (indexed_model(), get_encoder(timeout_s=60).model_id) == (said["model_id"], said["model_id"])
    [first, *_] = recall(operator(), RecallRequest(TEXTS[7], group="ledger", mode="vector")).items
    assert first.memory.content == TEXTS[7]
    assert f"The index was switched from {said['model_id']}." in run("use", "small-64")


def test_it_can_be_repeated_and_a_rehearsal_makes_nothing(
    small: ModelFolder, home: Path, is_able: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = sorted(path.name for path in (home / "models").iterdir())
    rehearsed = run_json("calibrate", "small-64", "--force", "--dry-run")
    assert sorted(path.name for path in (home / "models").iterdir()) == there

    first = run_json("calibrate", "small-64", "--force")
    assert first == {**rehearsed, "dry_run": False}
    # The scale of the first calibration stays, whatever the questions that come with Loci say of the new centre.
    monkeypatch.setattr(calibration, "measure_distance", lambda _: calibration.Distance(0.9, 0.1, 0.05))
    again = run_json("calibrate", first["name"])
    assert again == {**first, "made_from": first["name"], "before": first["after"]}
    assert f"must be made: `loci model use {first['name']}`" in run("calibrate", first["name"])


@pytest.mark.parametrize("words", [(), ("minilm",), ("small-64",)])
def test_a_model_with_minilm_s_scale_is_left_alone(small: ModelFolder, words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match=r"has MiniLM's scale as it is, .* nothing was changed"):
        run("calibrate", *words)


def test_too_few_live_texts_are_refused(small: ModelFolder, is_able: None) -> None:
    forget(operator(), Memory.objects.all()[0].id, reason="one less")
    with pytest.raises(CommandError, match="needs 200 different texts of live memories; this store has 199"):
        run("calibrate", "--force")


def test_a_model_that_cannot_tell_answers_apart_is_refused(small: ModelFolder, home: Path) -> None:
    with pytest.raises(CommandError, match="does not tell a question's answer from other texts"):
        run("calibrate", "--force")
    assert not [*(home / "models").glob("small-64+*")]


def test_a_model_that_is_not_there(home: Path) -> None:
    with pytest.raises(CommandError, match="nowhere is not installed at"):
        run("calibrate", "nowhere")


def test_the_mean_cosine_leaves_out_that_of_a_vector_with_itself() -> None:
    vectors = np.array([[1, 0], [0, 1], [-1, 0]], dtype=np.float32)
    assert mean_cosine(vectors) == pytest.approx(-1 / 3, abs=0.001)
