"""One encoder per process, loaded in the background; a caller who asks too early or in vain gets the reason."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from django.test import override_settings

from memories.embedding import ModelUnavailable, get_encoder, loader, model_status, warm_up
from memories.embedding.loader import ModelFolder, lowest_cosine, model_folder, read_reference
from memories.embedding.model import OnnxSession, Vectors
from tests.settings import REPOSITORY

InstallInto = Callable[[Path], ModelFolder]


@pytest.fixture
def install(installed: ModelFolder) -> InstallInto:
    """Put the shared model under another home, as another process would."""

    def into(home: Path) -> ModelFolder:
        folder = model_folder(home)
        shutil.copytree(installed.path, folder.path)
        return folder

    return into


@pytest.fixture(autouse=True)
def other_home(tmp_path: Path) -> Iterator[None]:
    """A home of the test's own, without a model."""
    with override_settings(LOCI=replace(settings.LOCI, home=tmp_path)):
        yield


def test_an_absent_model_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        get_encoder()

    assert caught.value.code == "model_unavailable"
    assert caught.value.status == 503
    assert str(caught.value) == (
        f"No embedding model is installed at {tmp_path}/models/all-MiniLM-L6-v2. Run `loci model install`."
    )


def test_warming_up_without_a_model_is_no_error() -> None:
    warm_up()

    assert model_status().state == "absent"
    assert model_status().detail == "Run `loci model install`."


@pytest.mark.model
def test_a_model_installed_meanwhile_is_found(tmp_path: Path, install: InstallInto) -> None:
    with pytest.raises(ModelUnavailable):
        get_encoder()

    install(tmp_path)

    assert model_status().state == "installed"
    assert get_encoder(timeout_s=60).encode(["harbour"]).shape == (1, 384)
    assert model_status().state == "ready"


@pytest.mark.model
def test_a_process_loads_once_for_all_threads(tmp_path: Path, install: InstallInto) -> None:
    install(tmp_path)
    found = []

    threads = [threading.Thread(target=lambda: found.append(get_encoder(timeout_s=60))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 8
    assert len(set(map(id, found))) == 1


@pytest.mark.model
def test_who_asks_while_it_loads_is_told_so(
    tmp_path: Path, install: InstallInto, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path)
    may_load = threading.Event()
    load = loader.load_encoder

    def load_when_allowed(*args: object, **options: object) -> object:
        may_load.wait(60)
        return load(*args, **options)

    monkeypatch.setattr(loader, "load_encoder", load_when_allowed)
    warm_up()

    with pytest.raises(ModelUnavailable, match=r"still loading after 0\.01 s"):
        get_encoder(timeout_s=0.01)
    assert model_status().state == "loading"
    may_load.set()
    assert get_encoder(timeout_s=60).max_tokens == 256


@pytest.mark.model
def test_a_model_that_cannot_be_loaded_says_why_until_it_is_replaced(
    tmp_path: Path, install: InstallInto
) -> None:
    folder = install(tmp_path)
    sound = folder.graph.read_bytes()
    folder.graph.write_bytes(bytes(len(sound)))

    for _ in range(2):
        with pytest.raises(ModelUnavailable, match=r"failed to load: .*") as caught:
            get_encoder(timeout_s=60)
    assert caught.value.hint == "Run `loci model install --force`."
    assert model_status().state == "failed"

    folder.graph.write_bytes(sound)
    text = folder.manifest.read_text()
    folder.manifest.unlink()
    folder.manifest.write_text(text)
    assert get_encoder(timeout_s=60).max_tokens == 256


@pytest.mark.model
def test_a_graph_cut_off_is_seen_without_loading_it(tmp_path: Path, install: InstallInto) -> None:
    folder = install(tmp_path)
    os.truncate(folder.graph, 1000)

    assert model_status().state == "failed"
    assert model_status().detail == "Missing or truncated: model.onnx. Run `loci model install --force`."


@pytest.mark.model
def test_the_status_tells_path_precision_and_size(tmp_path: Path, install: InstallInto) -> None:
    folder = install(tmp_path)

    status = model_status()

    assert (status.path, status.precision) == (folder.path, "8-bit")
    assert status.model_id == "all-MiniLM-L6-v2@1110a243/256/mean/r1"
    assert 35e6 < status.size_bytes < 36e6


def test_a_manifest_that_is_not_ours_is_told(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    folder.path.mkdir(parents=True)
    folder.manifest.write_text(json.dumps({"name": "other"}))

    assert model_status().state == "failed"
    assert "model.json is not a valid manifest" in model_status().detail


def test_importing_the_package_loads_no_compiled_model_library() -> None:
    code = "import sys, memories.embedding; print([n for n in ('onnxruntime', 'tokenizers', 'onnx') if n in sys.modules])"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )

    assert done.stdout.strip() == "[]"


def run_python(code: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh process, whose user's home is `home` too."""
    places = {name: str(home) for name in ("HOME", "XDG_CACHE_HOME", "LOCI_HOME")}
    # A CI machine's own variables would silence the library's reports, and hide that Loci forgot to.
    environment = {
        name: value for name, value in os.environ.items() if name not in {"CI", "ORT_DISABLE_TELEMETRY"}
    }
    return subprocess.run(
        [sys.executable, "-c", f"import django; django.setup()\n{code}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env=environment | places | {"DJANGO_SETTINGS_MODULE": "loci_site.settings"},
    )


@pytest.fixture
def linked_home(tmp_path: Path, installed: ModelFolder) -> Path:
    """A home with the shared model for a process of its own."""
    place = model_folder(tmp_path).path
    place.parent.mkdir()
    place.symlink_to(installed.path)
    return tmp_path


@pytest.mark.model
def test_the_model_s_library_reports_nothing_about_its_use(linked_home: Path) -> None:
    done = run_python("from memories.embedding import get_encoder; get_encoder(timeout_s=60)", linked_home)

    assert (done.returncode, done.stderr) == (0, "")
    # Its reports wait in a database in the user's cache, beside an id of the device.
    assert [path.name for path in linked_home.rglob("*") if "onnxruntime" in str(path)] == []
    assert not (linked_home / "Microsoft").exists()


@pytest.mark.model
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_loads_its_own(linked_home: Path) -> None:
    texts = ["harbour", "ledger " * 200] * 8  # several batches, so that the workers take part

    done = run_python(
        f"""
import os, sys, warnings
from memories.embedding import get_encoder
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads
texts = {texts!r}
parent = get_encoder(timeout_s=60).encode(texts)
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert (get_encoder(timeout_s=60).encode(texts) == parent).all()
""",
        linked_home,
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.model
def test_where_quick_sums_go_wrong_exact_ones_are_taken(
    installed: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[bool] = []

    class Overflowing(OnnxSession):
        """Gives other vectors unless the sums are exact, as a processor does whose sums overflow."""

        def __init__(self, path: Path, *, exact_sums: bool = False) -> None:
            super().__init__(path, exact_sums=exact_sums)
            tried.append(exact_sums)

        def run(self, rows: Sequence[Sequence[int]], patience_s: float | None = None) -> Vectors:
            right = super().run(rows)
            if tried[-1]:
                return right
            wrong = right + 0.003 * np.roll(right, 1, axis=1) * np.sqrt(right.shape[1])
            return np.asarray(wrong / np.linalg.norm(wrong, axis=1, keepdims=True), dtype=np.float32)

    monkeypatch.setattr(loader, "OnnxSession", Overflowing)
    encoder = loader.load_encoder(installed)
    assert tried == [False, True]
    assert lowest_cosine(encoder, read_reference(), sentences=1) > 0.9993
