"""The installed model, and folders to install into."""

import shutil
from pathlib import Path

import pytest

from memories.embedding import Encoder, ModelUnavailable, get_encoder, install
from memories.embedding.install.graph import build_graph
from memories.embedding.loader import ModelFolder
from memories.embedding.manifest import MINILM, TOKENIZER_FILE, WEIGHTS_FILE
from memories.embedding.model import OnnxSession, TextTokenizer
from tests.settings import MODELS


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """The encoder of this test process, as every part of Loci gets it."""
    return get_encoder(timeout_s=60)


@pytest.fixture(scope="session")
def installed() -> ModelFolder:
    """The model that all tests share; nobody writes to it."""
    folder = ModelFolder(MODELS / MINILM.name)
    if folder.stamp() is None:
        raise ModelUnavailable(f"{folder.path} holds no model")
    return folder


@pytest.fixture(scope="session")
def tokenizer(installed: ModelFolder) -> TextTokenizer:
    return TextTokenizer(installed.tokenizer)


@pytest.fixture(scope="session")
def fp32_graph(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "model.onnx"
    build_graph(weights / WEIGHTS_FILE, path, model=MINILM, precision="fp32")
    return path


@pytest.fixture(scope="session")
def fp32_encoder(weights: Path, fp32_graph: Path) -> Encoder:
    return Encoder(TextTokenizer(weights / TOKENIZER_FILE), OnnxSession(fp32_graph))


@pytest.fixture
def target(tmp_path: Path) -> ModelFolder:
    """A place to install into that does not exist yet."""
    return ModelFolder(tmp_path / "models" / MINILM.name)


@pytest.fixture
def ready(weights: Path, installed: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the published files; their graph is not built again, but copied from the model of all tests."""
    folder = tmp_path / "ready"
    folder.mkdir()
    for name in (WEIGHTS_FILE, TOKENIZER_FILE):
        shutil.copyfile(weights / name, folder / name)
    monkeypatch.setattr(
        install, "build_graph", lambda _, target, **options: shutil.copyfile(installed.graph, target)
    )
    return folder
