"""Loads the model once per process, in the background; callers wait briefly or get the reason for a failure."""

import ctypes
import gc
import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final, Literal

import numpy as np
from django.conf import settings

from memories.embedding.encoder import Encoder
from memories.embedding.manifest import BUILT_IN, MINILM, MODEL_ID, TOKENIZER_FILE, WINDOW, Model, name_of
from memories.embedding.model import (
    ModelLoading,
    ModelUnavailable,
    OnnxSession,
    TextTokenizer,
    Vectors,
    VectorSession,
)
from storage.whole_file import replace_whole

GRAPH_FILE: Final = "model.onnx"
MANIFEST_FILE: Final = "model.json"
CENTRE_FILE: Final = "centre.npy"
ENDPOINT: Final = "endpoint"  # in the place of a precision, of a model that runs elsewhere
REFERENCE_FILE: Final = "reference.npy"  # of a model that Loci does not ship the vectors of


@dataclass(frozen=True)
class ModelManifest:
    """Contents of model.json: how the files were built, their hashes and sizes, and the model, which MiniLM's leaves out."""

    model_id: str
    precision: str
    source: str
    built_at: str
    loci_version: str
    weights_sha256: str
    sha256: dict[str, str]
    size_bytes: dict[str, int]
    model: Model = MINILM


@dataclass(frozen=True)
class ModelFolder:
    """Paths of one installed model. It counts as installed once its manifest exists, which is written last."""

    path: Path

    @property
    def graph(self) -> Path:
        return self.path / GRAPH_FILE

    @property
    def tokenizer(self) -> Path:
        return self.path / TOKENIZER_FILE

    @property
    def manifest(self) -> Path:
        return self.path / MANIFEST_FILE

    def stamp(self) -> tuple[int, int] | None:
        """A value that changes with every installation (one `stat`); None if no model is installed."""
        try:
            state = self.manifest.stat()
        except OSError:
            return None
        return state.st_mtime_ns, state.st_ino

    def read_manifest(self) -> ModelManifest:
        """The manifest.

        Raises:
            ValueError: model.json is not a manifest.
            OSError: model.json cannot be read.
        """
        try:
            values = json.loads(self.manifest.read_text(encoding="utf-8"))
            model = Model.of_json(values["model"]) if "model" in values else MINILM
            return ModelManifest(**values | {"model": model})
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.manifest} is not a valid manifest: {error}") from error

    def write_manifest(self, manifest: ModelManifest) -> None:
        """Write model.json."""
        values = asdict(manifest)
        if manifest.model == MINILM:
            del values["model"]
        text = json.dumps(values, indent=2) + "\n"
        self.manifest.write_text(text, encoding="utf-8")

    def reference(self, manifest: ModelManifest) -> "Reference":
        """What the model's vectors are compared with."""
        shipped, own = read_reference(), self.path / REFERENCE_FILE
        return replace(shipped, vectors=np.load(own)) if REFERENCE_FILE in manifest.sha256 else shipped

    def size_bytes(self) -> int:
        """Total size of the installed files, 0 if there are none."""
        return sum(file.stat().st_size for file in self.path.glob("*") if file.is_file())

    def wrong_sizes(self, manifest: ModelManifest) -> list[str]:
        """Names of missing or truncated files (by size, which costs nothing)."""
        needed = [TOKENIZER_FILE] if manifest.model.url else [GRAPH_FILE, TOKENIZER_FILE]
        return [
            name
            for name in sorted({*needed, *manifest.size_bytes})
            if not (file := self.path / name).is_file()
            or file.stat().st_size != manifest.size_bytes.get(name)
        ]

    def wrong_hashes(self, manifest: ModelManifest) -> list[str]:
        """Names of files that differ from what was installed."""
        missing = self.wrong_sizes(manifest)
        present = [name for name in sorted(manifest.sha256) if name not in missing]
        return missing + [name for name in present if sha256_of(self.path / name) != manifest.sha256[name]]


_CHOICE: Final = "in-use"  # the file next to the models' folders that names one of them


def model_folder(home: Path, name: str = "") -> ModelFolder:
    """A model's folder under Loci's home folder; without a name, that of the chosen one."""
    return ModelFolder(home / "models" / (name or _chosen_name(home)))


def _chosen_name(home: Path) -> str:
    try:
        # Each recall asks; with a Path it takes twice as long.
        with open(f"{home}/models/{_CHOICE}", encoding="utf-8") as file:  # noqa: PTH123
            return file.read().strip()
    except OSError:
        return MINILM.name


def choose_model(folder: ModelFolder) -> None:
    """Compute vectors with this model from now on, in each process of the home folder that it is in."""
    with replace_whole(folder.path.with_name(_CHOICE), mode=0o644) as file:
        file.write(f"{folder.path.name}\n".encode())


def sha256_of(path: Path) -> str:
    """SHA-256 of the file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# Weights in half precision stay above 0.999999. Our 8-bit graph reaches 0.9994 for the first sentence and 0.9945 for the
# shortest text ("ok"); a graph with one scale for all tokens only 0.992 and 0.967.
MIN_COSINE: Final = 0.99
_MIN_FIRST_COSINE: Final = 0.9993  # an 8-bit graph with exact sums reaches 0.99941 on every processor

_SENTENCES: Final = Path(__file__).with_name("reference.json")
_VECTORS: Final = Path(__file__).with_name("reference.npy")


@dataclass(frozen=True)
class Reference:
    """Sentences and their vectors, float32[n, width]."""

    sentences: tuple[str, ...]
    vectors: Vectors


@cache
def read_reference() -> Reference:
    """The reference shipped with Loci, of MiniLM; other models have theirs in their folder."""
    return Reference(tuple(json.loads(_SENTENCES.read_text(encoding="utf-8"))), np.load(_VECTORS))


def lowest_cosine(encoder: Encoder, reference: Reference, *, sentences: int | None = None) -> float:
    """Lowest cosine to the reference among the first `sentences` (None: all); 1 is equal."""
    vectors = encoder.encode(reference.sentences[:sentences])
    cosines = np.sum(vectors * reference.vectors[: len(vectors)], axis=1)
    # NaN is not below any limit, so it counts as the worst.
    return float(np.nan_to_num(cosines, nan=-1.0).min())


WAIT_S = 3.0  # how long a recall waits while the model loads
_RETRY_S = 30.0  # after which an endpoint that failed is tried again


logger = logging.getLogger(__name__)

_INSTALL_HINT: Final = "Run `loci model install`."


def hint_of(folder: ModelFolder, *, again: bool = False) -> str:
    """The command that installs a folder's model; `again`: in the place of a damaged one."""
    name = folder.path.name
    if name == MINILM.name:
        return "Run `loci model install --force`." if again else _INSTALL_HINT
    if "+" in name:
        return f"Run `loci model calibrate {name.partition('+')[0]}`, then `loci model use` with the name that it prints."
    source = next((short for short, model in BUILT_IN.items() if model.name == name), "")
    with suppress(OSError, ValueError):
        manifest = folder.read_manifest()
        if (model := manifest.model).url:
            url = model.url.removesuffix("/embeddings")
            return (
                f"Run `loci model add {url} --as {name} --model {model.repository}` with its former options."
            )
        source = source or manifest.source
    return f"Run `loci model add {source or name}`."


State = Literal["absent", "loading", "ready", "failed", "installed"]


@dataclass(frozen=True)
class ModelStatus:
    """State of the model in this process; `installed` means installed but not loaded yet."""

    state: State
    model_id: str
    path: Path
    precision: str
    size_bytes: int
    detail: str


class _ModelLoader:
    """The encoder of one model folder: absent, loading, loaded, or failed until the folder changes.

    An endpoint that fails is tried again in the background; until it answers, callers get the reason at once.
    """

    def __init__(self, folder: ModelFolder, *, threads: int) -> None:
        self.folder, self.name = folder, folder.path.name
        self._threads = threads
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._encoder: Encoder | None = None
        self._failure: Exception | None = None
        self._failed_at = 0.0
        # The manifest's stamp at the last attempt: a different one means a new installation.
        self._tried_stamp: tuple[int, int] | None = None

    def get(self, *, timeout_s: float) -> Encoder:
        """The encoder; starts loading and waits up to `timeout_s`."""
        if self._encoder is not None:
            return self._encoder
        if not self.start():
            raise ModelUnavailable(
                f"No embedding model is installed at {self.folder.path}.", hint=hint_of(self.folder)
            )
        if self._failure is None:
            self._done.wait(timeout_s)
        if self._encoder is not None:
            return self._encoder
        if isinstance(failure := self._failure, ModelUnavailable):
            raise ModelUnavailable(failure.message, hint=failure.hint)
        if failure is not None:
            raise ModelUnavailable(
                f"The embedding model at {self.folder.path} failed to load: {failure}",
                hint=hint_of(self.folder, again=True),
            )
        raise ModelLoading(
            f"The embedding model is still loading after {timeout_s:g} s.",
            hint="Try again in a moment; `loci model status` shows its state.",
        )

    def start(self) -> bool:
        """Start loading, unless already tried; False if no model is installed."""
        with self._lock:
            stamp = self.folder.stamp()
            if self._encoder is not None:
                return True
            if stamp is None and not self._is_loading():
                self._tried_stamp = None
                return False
            is_new = stamp != self._tried_stamp
            if (is_new or self._may_retry()) and not self._is_loading():
                self._tried_stamp = stamp
                if is_new:
                    self._failure = None
                self._done.clear()
                # Not a daemon: a command that ends meanwhile has to wait. Python stops a daemon thread inside
                # onnxruntime's C++, which aborts the process ("terminate called without an active exception").
                threading.Thread(target=self._load, name="loci-model-load").start()
            return True

    def status(self) -> ModelStatus:
        """State of the model, without loading it."""
        on_disk = folder_status(self.folder)
        if self._encoder is not None:
            return replace(on_disk, state="ready", detail="")
        if self._is_loading():
            return replace(on_disk, state="loading")
        if on_disk.state == "installed" and self._failure and self.folder.stamp() == self._tried_stamp:
            return replace(on_disk, state="failed", detail=_with_hint(self._failure, self.folder))
        return on_disk

    def _is_loading(self) -> bool:
        return self._tried_stamp is not None and not self._done.is_set()

    def _may_retry(self) -> bool:
        is_passing = isinstance(self._failure, ModelUnavailable)
        return is_passing and time.monotonic() >= self._failed_at + _RETRY_S

    def _load(self) -> None:
        try:
            self._encoder = load_encoder(self.folder, threads=self._threads, on_failure=self._fail)
            self._failure = None
        # onnxruntime and tokenizers raise their own types; the thread must not die silently.
        except Exception as error:
            self._fail(error)
        finally:
            self._done.set()

    def _fail(self, error: Exception) -> None:
        if str(error) != str(self._failure):
            logger.warning("The embedding model at %s fails: %s", self.folder.path, error)
        self._encoder, self._failure, self._failed_at = None, error, time.monotonic()


def _with_hint(error: Exception, folder: ModelFolder) -> str:
    return str(error) if isinstance(error, ModelUnavailable) else f"{error} {hint_of(folder, again=True)}"


def folder_status(folder: ModelFolder) -> ModelStatus:
    """State of a folder: absent, installed, or failed if files are missing or truncated."""
    name = folder.path.name
    model_id = MODEL_ID if name == MINILM.name else name
    status = ModelStatus("absent", model_id, folder.path, "", folder.size_bytes(), hint_of(folder))
    if folder.stamp() is None:
        return status
    try:
        manifest = _read_usable_manifest(folder)
    except (OSError, ValueError) as error:
        return replace(status, state="failed", detail=_with_hint(error, folder))
    status = replace(status, model_id=manifest.model_id, precision=manifest.precision)
    return replace(status, state="installed", detail=f"from {manifest.source}")


_OnFailure = Callable[[Exception], object]


def open_model(
    folder: ModelFolder,
    model: Model,
    *,
    exact_sums: bool = False,
    on_failure: _OnFailure = lambda error: None,
) -> tuple[TextTokenizer, VectorSession]:
    """The tokenizer of a folder, and the session of its graph or its endpoint, which tells of its first failure."""
    if not model.url:
        return TextTokenizer(folder.tokenizer), OnnxSession(folder.graph, exact_sums=exact_sums)
    # Only such a model needs a client of HTTP.
    from memories.embedding.endpoint import EndpointSession, LettersTokenizer  # noqa: PLC0415

    return LettersTokenizer(folder.tokenizer), EndpointSession(model, on_failure)


def load_encoder(
    folder: ModelFolder,
    *,
    threads: int = 0,
    query_cache: int = 4096,
    on_failure: _OnFailure = lambda error: None,
) -> Encoder:
    """Load the model of a folder now and verify it with one reference sentence.

    Raises:
        ValueError: truncated files, another model, or other vectors.
        OSError: a file cannot be read.
        ModelUnavailable: its endpoint does not answer.
    """
    manifest = _read_usable_manifest(folder)
    reference = folder.reference(manifest)
    centre = np.load(folder.path / CENTRE_FILE) if manifest.model.centre else None
    for exact_sums in (False, True):  # without VNNI, an x86 processor's fast sums of bytes may overflow
        tokenizer, session = open_model(folder, manifest.model, exact_sums=exact_sums, on_failure=on_failure)
        encoder = Encoder(
            tokenizer, session, model=manifest.model, centre=centre, threads=threads, query_cache=query_cache
        )
        # Also warms up the session: the first run allocates memory.
        if (cosine := lowest_cosine(encoder, reference, sentences=1)) >= _MIN_FIRST_COSINE:
            _return_freed_memory()  # reading the weights frees tens of MB
            return encoder
    raise ValueError(f"The model's vectors differ from the reference: cosine {cosine:.6f}.")


def _return_freed_memory() -> None:
    """Return what is free to the system; the C library would keep it."""
    with suppress(OSError, AttributeError):  # other C libraries lack the function
        ctypes.CDLL(None).malloc_trim(0)


def _read_usable_manifest(folder: ModelFolder) -> ModelManifest:
    """The manifest of a complete model of this version.

    Raises:
        ValueError: another model, or missing or truncated files.
        OSError: the manifest cannot be read.
    """
    manifest = folder.read_manifest()
    if manifest.model_id != (needed := manifest.model.id_of(WINDOW)):
        raise ValueError(f"The model is {manifest.model_id}; this version of Loci needs {needed}.")
    if wrong := folder.wrong_sizes(manifest):
        raise ValueError(f"Missing or truncated: {', '.join(wrong)}.")
    return manifest


_loaders: dict[tuple[str, str], _ModelLoader] = {}  # by home folder and name

# A fork copies neither the loading thread nor the workers: the child loads its own.
os.register_at_fork(after_in_child=_loaders.clear)


def _loader_of(name: str = "") -> _ModelLoader:
    """The process's loader of a model under the home folder; without a name, of the chosen one."""
    home = settings.LOCI.home
    key = (str(home), name or _chosen_name(home))
    # Two threads may each create one; `setdefault` keeps a single one, and nothing is loaded before `start`.
    return _loaders.get(key) or _loaders.setdefault(
        key, _ModelLoader(model_folder(home, key[1]), threads=settings.LOCI.embedding.threads)
    )


def get_encoder(model_id: str = "", *, timeout_s: float | None = None) -> Encoder:
    """This process's encoder, loaded on first use: of the model with this id if it is installed, else of the chosen one.

    Waits up to `timeout_s` (None: WAIT_S) for a model that is loading. Finds a model that another
    process has installed meanwhile. While the index's model is the chosen one, no other stays in memory.

    Raises:
        ModelUnavailable: not installed, failed to load, or still loading; the hint names the command to run.
    """
    wait_s = WAIT_S if timeout_s is None else timeout_s
    loader, name = _loader_of(), name_of(model_id)
    if name and name != loader.name:
        other = _loader_of(name)
        loader = other if other.folder.stamp() is not None else loader
    elif name and len(_loaders) > 1:
        for key in [*_loaders]:
            if key[0] == str(settings.LOCI.home) and key[1] != name:
                _loaders.pop(key, None)
    return loader.get(timeout_s=wait_s).with_window(settings.LOCI.embedding.window_tokens)


def configured_model() -> Model | None:
    """The chosen model; None if it is not installed. Loads nothing."""
    folder = _loader_of().folder
    if folder.path.name == MINILM.name:
        return MINILM
    try:
        return folder.read_manifest().model
    except (OSError, ValueError):
        return None


def configured_model_id() -> str:
    """Model id of vectors computed with the chosen model and the current settings; empty if it is not installed."""
    model = configured_model()
    return model.id_of(settings.LOCI.embedding.window_tokens) if model else ""


def warm_up() -> None:
    """Start loading in a background thread and return at once; never raises."""
    try:
        _loader_of().start()
    except Exception as error:  # a server also starts without its model
        logger.warning("The embedding model cannot be loaded: %s", error)


def unload() -> None:
    """Let go of the model, for a process that seldom embeds; whoever still uses it keeps it."""
    if _loaders:
        _loaders.clear()
        gc.collect()  # the encoder refers to itself
        _return_freed_memory()


def model_status() -> ModelStatus:
    """State of the chosen model in this process, without loading it."""
    return _loader_of().status()


def installed_models(home: Path) -> list[ModelStatus]:
    """The models under the home folder, by name."""
    return [
        folder_status(ModelFolder(file.parent))
        for file in sorted((home / "models").glob(f"*/{MANIFEST_FILE}"))
    ]
