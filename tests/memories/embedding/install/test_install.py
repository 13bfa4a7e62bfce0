"""Only the model itself is ever installed, whole or not at all."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest

from memories.embedding import ModelInstallFailed, ModelUnavailable, install
from memories.embedding.install import install_model, verify_model
from memories.embedding.install.graph import Precision, build_graph
from memories.embedding.install.sources import FolderSource
from memories.embedding.loader import ModelFolder, load_encoder
from memories.embedding.manifest import Model

pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]  # the first run may have to fetch the weights


@pytest.fixture
def sound(installed: ModelFolder, target: ModelFolder) -> ModelFolder:
    """An installed model: a copy of the one that all tests share, since each installation tries the model."""
    shutil.copytree(installed.path, target.path)
    return target


def left(target: ModelFolder) -> list[str]:
    """Names beside and in the target folder, without the lock, which is not part of a model."""
    root = target.path.parent
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.name != ".install.lock")


def test_the_published_files_become_a_sound_model(weights: Path, target: ModelFolder) -> None:
    report = install_model(target, [FolderSource(weights)], precision="8-bit")

    assert left(target) == [
        "all-MiniLM-L6-v2",
        "all-MiniLM-L6-v2/model.json",
        "all-MiniLM-L6-v2/model.onnx",
        "all-MiniLM-L6-v2/tokenizer.json",
    ]
    assert not report.was_installed
    assert (report.precision, report.source) == ("8-bit", str(weights))
    assert verify_model(target).lowest_cosine > 0.994
    manifest = json.loads(target.manifest.read_text())
    assert manifest["weights_sha256"].startswith("53aa5117")
    assert manifest["sha256"]["tokenizer.json"].startswith("be50c362")


def test_full_precision_is_built_where_it_is_asked_for(weights: Path, target: ModelFolder) -> None:
    install_model(target, [FolderSource(weights)], precision="fp32")

    assert target.graph.stat().st_size > 89e6
    verified = verify_model(target)
    assert verified.precision == "fp32"
    assert verified.lowest_cosine > 0.999999


def test_a_sound_model_stays(sound: ModelFolder, tmp_path: Path) -> None:
    before = sound.stamp()

    report = install_model(sound, [FolderSource(tmp_path / "nowhere")], precision="8-bit")

    assert report.was_installed
    assert sound.stamp() == before


def test_a_damaged_model_is_replaced(ready: Path, sound: ModelFolder) -> None:
    with sound.graph.open("r+b") as file:
        file.seek(1_000_000)
        file.write(bytes(100))

    report = install_model(sound, [FolderSource(ready)], precision="8-bit")

    assert not report.was_installed
    assert verify_model(sound).lowest_cosine > 0.994


def test_weights_with_another_hash_are_refused_and_nothing_is_left(ready: Path, target: ModelFolder) -> None:
    (ready / "model.safetensors").write_bytes(b"other weights")

    with pytest.raises(ModelInstallFailed, match=r"model\.safetensors is not the published file"):
        install_model(target, [FolderSource(ready)], precision="8-bit")

    assert left(target) == []


def test_a_failed_installation_leaves_the_old_model(sound: ModelFolder, tmp_path: Path) -> None:
    with pytest.raises(ModelInstallFailed):
        install_model(sound, [FolderSource(tmp_path / "nowhere")], precision="8-bit", force=True)

    assert verify_model(sound).lowest_cosine > 0.994


def test_what_a_killed_installation_left_is_cleared(ready: Path, target: ModelFolder) -> None:
    scratch = target.path.parent / ".install-abc"
    scratch.mkdir(parents=True)
    (scratch / "model.safetensors").write_bytes(b"half")

    install_model(target, [FolderSource(ready)], precision="8-bit")

    assert not scratch.exists()


def test_two_installations_at_once_leave_one_sound_model(ready: Path, target: ModelFolder) -> None:
    def install(number: int) -> bool:
        return install_model(target, [FolderSource(ready)], precision="8-bit").was_installed

    with ThreadPoolExecutor(3) as pool:
        found = sorted(pool.map(install, range(3)))

    assert found == [False, True, True]
    assert verify_model(target).lowest_cosine > 0.994


def test_the_next_source_is_asked_where_one_fails(ready: Path, target: ModelFolder, tmp_path: Path) -> None:
    report = install_model(
        target, [FolderSource(tmp_path / "nowhere"), FolderSource(ready)], precision="8-bit"
    )

    assert report.source == str(ready)


def test_every_source_s_reason_is_told_with_the_way_out(target: ModelFolder, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"

    with pytest.raises(ModelInstallFailed) as caught:
        install_model(target, [FolderSource(one), FolderSource(two)], precision="8-bit")

    assert f"{one}: tokenizer.json does not exist. {two}: tokenizer.json does not exist." in str(caught.value)
    assert "loci model install --from DIR" in caught.value.hint


def test_a_graph_with_other_vectors_is_refused(
    ready: Path, target: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build_other_graph(weights: Path, target: Path, *, model: Model, precision: Precision) -> None:
        build_graph(weights, target, model=model, precision=precision)
        model = onnx.load(str(target))
        [words] = [entry for entry in model.graph.initializer if entry.name == "words"]
        table = onnx.numpy_helper.to_array(words)
        words.CopyFrom(onnx.numpy_helper.from_array(np.roll(table, 1, axis=0), "words"))
        target.write_bytes(model.SerializeToString())

    monkeypatch.setattr(install, "build_graph", build_other_graph)

    with pytest.raises(ModelInstallFailed, match="differ from the reference: cosine"):
        install_model(target, [FolderSource(ready)], precision="8-bit")

    assert left(target) == []


def test_a_graph_cut_off_is_refused(
    ready: Path, installed: ModelFolder, target: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = installed.graph.read_bytes()[:20_000_000]
    monkeypatch.setattr(install, "build_graph", lambda _, target, **options: target.write_bytes(half))

    with pytest.raises(ModelInstallFailed, match=r"model\.onnx is rejected"):
        install_model(target, [FolderSource(ready)], precision="8-bit")

    assert left(target) == []


@pytest.fixture
def changed(sound: ModelFolder) -> ModelFolder:
    """An installed model whose tokenizer was edited afterwards."""
    text = sound.tokenizer.read_text(encoding="utf-8")
    sound.tokenizer.write_text(text.replace("harbour", "harbxur"), encoding="utf-8")
    return sound


def test_verify_finds_a_changed_file(changed: ModelFolder) -> None:
    with pytest.raises(ModelUnavailable, match=r"changed since the installation: tokenizer\.json"):
        verify_model(changed)


def test_verify_of_nothing_says_what_to_run(target: ModelFolder) -> None:
    with pytest.raises(
        ModelUnavailable, match=r"No embedding model is installed at .* Run `loci model install`"
    ):
        verify_model(target)


def test_a_model_of_another_recipe_is_not_loaded(sound: ModelFolder) -> None:
    manifest = json.loads(sound.manifest.read_text())
    sound.manifest.write_text(json.dumps(manifest | {"model_id": "other@1/512/cls/r1"}))

    with pytest.raises(ValueError, match=r"The model is other@1/512/cls/r1"):
        load_encoder(sound)
