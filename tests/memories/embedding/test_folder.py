"""A model counts as installed by its manifest, and every changed byte of it can be found."""

from pathlib import Path

import pytest

from memories.embedding.loader import ModelFolder, ModelManifest, model_folder, sha256_of

# SHA-256 of the three bytes "abc", the standard's own example (FIPS 180-4).
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture
def folder(tmp_path: Path) -> ModelFolder:
    """Two small files and their manifest."""
    folder = ModelFolder(tmp_path)
    for file in (folder.graph, folder.tokenizer):
        file.write_bytes(b"abc")
    folder.write_manifest(manifest())
    return folder


def manifest() -> ModelManifest:
    return ModelManifest(
        model_id="model",
        precision="fp32",
        source="here",
        built_at="2026-01-01T00:00:00+00:00",
        loci_version="1",
        weights_sha256="",
        sha256={"model.onnx": ABC, "tokenizer.json": ABC},
        size_bytes={"model.onnx": 3, "tokenizer.json": 3},
    )


def test_the_model_s_place_under_the_home_folder() -> None:
    assert model_folder(Path("/home")).path == Path("/home/models/all-MiniLM-L6-v2")


def test_a_hash_is_the_standard_s(folder: ModelFolder) -> None:
    assert sha256_of(folder.graph) == ABC


def test_the_manifest_comes_back(folder: ModelFolder) -> None:
    assert folder.read_manifest() == manifest()


def test_sound_files_have_no_faults(folder: ModelFolder) -> None:
    assert folder.wrong_sizes(manifest()) == []
    assert folder.wrong_hashes(manifest()) == []


def test_a_file_cut_off_is_named(folder: ModelFolder) -> None:
    folder.graph.write_bytes(b"ab")

    assert folder.wrong_sizes(manifest()) == ["model.onnx"]
    assert folder.wrong_hashes(manifest()) == ["model.onnx"]


def test_a_missing_file_is_named(folder: ModelFolder) -> None:
    folder.tokenizer.unlink()

    assert folder.wrong_sizes(manifest()) == ["tokenizer.json"]


def test_a_changed_file_of_equal_size_is_named_by_its_hash(folder: ModelFolder) -> None:
    folder.graph.write_bytes(b"abd")

    assert folder.wrong_sizes(manifest()) == []
    assert folder.wrong_hashes(manifest()) == ["model.onnx"]


def test_the_stamp_changes_with_every_installation(folder: ModelFolder, tmp_path: Path) -> None:
    before = folder.stamp()
    other = ModelFolder(tmp_path / "other")
    other.path.mkdir()
    other.write_manifest(manifest())
    other.manifest.replace(folder.manifest)

    assert before is not None
    assert folder.stamp() != before


def test_without_a_manifest_there_is_no_model(folder: ModelFolder) -> None:
    folder.manifest.unlink()

    assert folder.stamp() is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model_id": "model"}', "\x00"])
def test_a_manifest_that_is_not_ours_is_refused(folder: ModelFolder, text: str) -> None:
    folder.manifest.write_text(text)

    with pytest.raises(ValueError, match=r"model\.json is not a valid manifest"):
        folder.read_manifest()


def test_the_size_is_that_of_all_files(folder: ModelFolder) -> None:
    assert folder.size_bytes() == 6 + len(folder.manifest.read_bytes())
    assert ModelFolder(folder.path / "nowhere").size_bytes() == 0
