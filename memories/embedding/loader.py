"""Loads the model once per process, in the background; callers wait briefly or get the reason for a failure."""

import ctypes
import logging
import os
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from django.conf import settings

from .encoder import Encoder
from .errors import ModelUnavailable
from .folder import ModelFolder, ModelManifest, model_folder
from .model_id import MODEL_ID, model_id_of
from .self_test import MIN_FIRST_COSINE, lowest_cosine
from .session import OnnxSession
from .tokenizer import TextTokenizer

WAIT_S = 3.0  # how long a recall waits while the model loads


def call_c_library(function: str, *arguments: int) -> None:
    """Call a C library function with integer arguments, if it exists."""
    with suppress(
        OSError, AttributeError, TypeError
    ):  # other C libraries lack the function; Windows has no handle None
        getattr(ctypes.CDLL(None), function)(*arguments)


logger = logging.getLogger(__name__)

INSTALL_HINT: Final = "Run `loci model install`."

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


class ModelLoader:
    """The encoder of one model folder: absent, loading, loaded, or failed until the folder changes."""

    def __init__(self, folder: ModelFolder, *, threads: int) -> None:
        self.folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._encoder: Encoder | None = None
        self._failure = ""
        # The manifest's stamp at the last attempt: a different one means a new installation.
        self._tried_stamp: tuple[int, int] | None = None

    def get(self, *, timeout_s: float) -> Encoder:
        """The encoder; starts loading and waits up to `timeout_s`."""
        if self._encoder is not None:
            return self._encoder
        if not self.start():
            raise ModelUnavailable(
                f"No embedding model is installed at {self.folder.path}.", hint=INSTALL_HINT
            )
        self._done.wait(timeout_s)
        if self._encoder is not None:
            return self._encoder
        if self._done.is_set():
            raise ModelUnavailable(
                f"The embedding model at {self.folder.path} failed to load: {self._failure}",
                hint="Run `loci model install --force`.",
            )
        raise ModelUnavailable(
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
            if stamp != self._tried_stamp and not self._is_loading():
                self._tried_stamp = stamp
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
            return replace(on_disk, state="failed", detail=self._failure)
        return on_disk

    def _is_loading(self) -> bool:
        return self._tried_stamp is not None and not self._done.is_set()

    def _load(self) -> None:
        try:
            self._encoder = load_encoder(self.folder, threads=self._threads)
        # onnxruntime and tokenizers raise their own types; the thread must not die silently.
        except Exception as error:
            self._failure = str(error)
            logger.warning("The embedding model at %s failed to load: %s", self.folder.path, error)
        finally:
            self._done.set()


def folder_status(folder: ModelFolder) -> ModelStatus:
    """State of a folder: absent, installed, or failed if files are missing or truncated."""
    status = ModelStatus("absent", MODEL_ID, folder.path, "", folder.size_bytes(), INSTALL_HINT)
    if folder.stamp() is None:
        return status
    try:
        manifest = read_usable_manifest(folder)
    except (OSError, ValueError) as error:
        return replace(status, state="failed", detail=str(error))
    return replace(status, state="installed", precision=manifest.precision, detail=f"from {manifest.source}")


def load_encoder(folder: ModelFolder, *, threads: int = 0, query_cache: int = 4096) -> Encoder:
    """Load the model of a folder now and verify it with one reference sentence.

    Raises:
        ValueError: truncated files, another model, or other vectors.
        OSError: a file cannot be read.
    """
    read_usable_manifest(folder)
    tokenizer = TextTokenizer(folder.tokenizer)
    for exact_sums in (False, True):  # without VNNI, an x86 processor's fast sums of bytes may overflow
        session = OnnxSession(folder.graph, exact_sums=exact_sums)
        encoder = Encoder(tokenizer, session, threads=threads, query_cache=query_cache)
        # Also warms up the session: the first run allocates memory.
        if (cosine := lowest_cosine(encoder, sentences=1)) >= MIN_FIRST_COSINE:
            # Reading the weights frees tens of MB, which the C library would keep.
            call_c_library("malloc_trim", 0)
            return encoder
    raise ValueError(f"The model's vectors differ from the reference: cosine {cosine:.6f}.")


def read_usable_manifest(folder: ModelFolder) -> ModelManifest:
    """The manifest of a complete model of this version.

    Raises:
        ValueError: another model, or missing or truncated files.
        OSError: the manifest cannot be read.
    """
    manifest = folder.read_manifest()
    if manifest.model_id != MODEL_ID:
        raise ValueError(f"The model is {manifest.model_id}; this version of Loci needs {MODEL_ID}.")
    if wrong := folder.wrong_sizes(manifest):
        raise ValueError(f"Missing or truncated: {', '.join(wrong)}.")
    return manifest


_loaders: dict[Path, ModelLoader] = {}

if hasattr(os, "register_at_fork"):
    # A fork copies neither the loading thread nor the workers: the child loads its own.
    os.register_at_fork(after_in_child=_loaders.clear)


def current_loader() -> ModelLoader:
    """The process's loader of the model under the home folder."""
    folder = model_folder(settings.LOCI.home)
    options = settings.LOCI.embedding
    # Two threads may each create one; `setdefault` keeps a single one, and nothing is loaded before `start`.
    return _loaders.get(folder.path) or _loaders.setdefault(
        folder.path, ModelLoader(folder, threads=options.threads)
    )


def get_encoder(*, timeout_s: float | None = None) -> Encoder:
    """This process's encoder, loaded on first use.

    Waits up to `timeout_s` (None: WAIT_S) for a model that is loading. Finds a model that another
    process has installed meanwhile.

    Raises:
        ModelUnavailable: not installed, failed to load, or still loading; the hint names the command to run.
    """
    wait_s = WAIT_S if timeout_s is None else timeout_s
    return current_loader().get(timeout_s=wait_s).with_window(settings.LOCI.embedding.window_tokens)


def configured_model_id() -> str:
    """Model id of vectors computed with the current settings; loads nothing."""
    return model_id_of(settings.LOCI.embedding.window_tokens)


def warm_up() -> None:
    """Start loading in a background thread and return at once; never raises."""
    try:
        current_loader().start()
    except Exception as error:  # a server also starts without its model
        logger.warning("The embedding model cannot be loaded: %s", error)


def model_status() -> ModelStatus:
    """State of the model in this process, without loading it."""
    return current_loader().status()
