"""Loads the model once per process, in the background; whoever needs it waits a little or is told why not."""

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


def call_c_library(function: str, *arguments: int) -> None:
    """Call a function that takes whole numbers, where there is one of that name."""
    with suppress(OSError, AttributeError, TypeError):  # another library; Windows takes no None
        getattr(ctypes.CDLL(None), function)(*arguments)


logger = logging.getLogger(__name__)

INSTALL_HINT: Final = "Run `manage.py model install`."

State = Literal["absent", "loading", "ready", "failed", "installed"]


@dataclass(frozen=True)
class ModelStatus:
    """How the model stands in this process; `installed` means there, but not loaded by this process yet."""

    state: State
    model_id: str
    path: Path
    precision: str
    size_bytes: int
    detail: str


class ModelLoader:
    """The encoder of one model folder: nothing, loading, loaded, or failed until the folder changes."""

    def __init__(self, folder: ModelFolder, *, threads: int, query_cache: int) -> None:
        self.folder = folder
        self._threads = threads
        self._query_cache = query_cache
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._encoder: Encoder | None = None
        self._failure = ""
        # The manifest's stamp at the last attempt: another one means that a model was installed since.
        self._tried: tuple[int, int] | None = None

    def get(self, *, timeout_s: float) -> Encoder:
        """Give the encoder; starts loading and waits up to `timeout_s`."""
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
                hint="Run `manage.py model install --force`.",
            )
        raise ModelUnavailable(
            f"The embedding model is still loading after {timeout_s:g} s.",
            hint="Try again in a moment; `manage.py model status` says whether it is installed.",
        )

    def start(self) -> bool:
        """Start loading unless it was tried already; False where no model is installed."""
        with self._lock:
            stamp = self.folder.stamp()
            if self._encoder is not None:
                return True
            if stamp is None and not self._is_loading():
                self._tried = None
                return False
            if stamp != self._tried and not self._is_loading():
                self._tried = stamp
                self._done.clear()
                # No daemon: a command that ends meanwhile has to wait. Python stops a daemon thread inside
                # onnxruntime's C++, which aborts the process ("terminate called without an active exception").
                threading.Thread(target=self._load, name="loci-model-load").start()
            return True

    def status(self) -> ModelStatus:
        """Say how the model stands, without loading it."""
        on_disk = folder_status(self.folder)
        if self._encoder is not None:
            return replace(on_disk, state="ready", detail="")
        if self._is_loading():
            return replace(on_disk, state="loading")
        if on_disk.state == "installed" and self._failure and self.folder.stamp() == self._tried:
            return replace(on_disk, state="failed", detail=self._failure)
        return on_disk

    def _is_loading(self) -> bool:
        return self._tried is not None and not self._done.is_set()

    def _load(self) -> None:
        try:
            self._encoder = load_encoder(self.folder, threads=self._threads, query_cache=self._query_cache)
        except (
            Exception
        ) as error:  # onnxruntime and tokenizers raise their own types; the thread must not die unheard
            self._failure = str(error)
            logger.warning("The embedding model at %s failed to load: %s", self.folder.path, error)
        finally:
            self._done.set()


def folder_status(folder: ModelFolder) -> ModelStatus:
    """Say what lies in a folder: absent, installed, or failed where files are missing or cut off."""
    status = ModelStatus("absent", MODEL_ID, folder.path, "", folder.size_bytes(), INSTALL_HINT)
    if folder.stamp() is None:
        return status
    try:
        manifest = _usable_manifest(folder)
    except (OSError, ValueError) as error:
        return replace(status, state="failed", detail=str(error))
    return replace(status, state="installed", precision=manifest.precision, detail=f"from {manifest.source}")


def load_encoder(folder: ModelFolder, *, threads: int = 0, query_cache: int = 4096) -> Encoder:
    """Load the model of a folder now, and check on one sentence that it is the model it says it is.

    Raises:
        ValueError: files are cut off, of another model, or give other vectors.
        OSError: a file cannot be read.
    """
    _usable_manifest(folder)
    tokenizer = TextTokenizer(folder.tokenizer)
    for exact_sums in (False, True):  # without VNNI, an x86 processor's quick sums of bytes may overflow
        session = OnnxSession(folder.graph, exact_sums=exact_sums)
        encoder = Encoder(tokenizer, session, threads=threads, query_cache=query_cache)
        # Also warms the session up: the first run allocates.
        if (cosine := lowest_cosine(encoder, sentences=1)) >= MIN_FIRST_COSINE:
            # Reading the weights has taken and left tens of MB, which the library would keep for later.
            call_c_library("malloc_trim", 0)
            return encoder
    raise ValueError(f"Its vectors are not the model's: cosine {cosine:.6f} to the reference.")


def _usable_manifest(folder: ModelFolder) -> ModelManifest:
    manifest = folder.read_manifest()
    if manifest.model_id != MODEL_ID:
        raise ValueError(f"It holds {manifest.model_id}, and this version of Loci needs {MODEL_ID}.")
    if wrong := folder.wrong_sizes(manifest):
        raise ValueError(f"Missing or cut off: {', '.join(wrong)}.")
    return manifest


_loaders: dict[Path, ModelLoader] = {}

if hasattr(os, "register_at_fork"):
    # A fork copies neither the loading thread nor the workers: the child loads its own.
    os.register_at_fork(after_in_child=_loaders.clear)


def current_loader() -> ModelLoader:
    """Give the loader of the model under the home folder; one per process."""
    folder = model_folder(settings.LOCI.home)
    options = settings.LOCI.embedding
    # Two threads may both make one, and `setdefault` keeps a single one; nothing is loaded before `start`.
    return _loaders.get(folder.path) or _loaders.setdefault(
        folder.path, ModelLoader(folder, threads=options.threads, query_cache=options.query_cache)
    )


def get_encoder(*, timeout_s: float | None = None) -> Encoder:
    """Give this process's encoder, loading it where it is not loaded yet.

    Waits up to `timeout_s` (None: the setting `embedding.wait_s`) for a model that is loading. A model that
    was installed meanwhile by another process is found.

    Raises:
        ModelUnavailable: not installed, failed to load, or still loading; it says what to run.
    """
    wait_s = settings.LOCI.embedding.wait_s if timeout_s is None else timeout_s
    return current_loader().get(timeout_s=wait_s).with_window(settings.LOCI.embedding.window_tokens)


def configured_model_id() -> str:
    """Give the id that vectors made with the settings of now bear; loads nothing."""
    return model_id_of(settings.LOCI.embedding.window_tokens)


def warm_up() -> None:
    """Start loading in a background thread and return at once; never raises."""
    try:
        current_loader().start()
    except Exception as error:  # a server starts without its model, too
        logger.warning("The embedding model cannot be loaded: %s", error)


def model_status() -> ModelStatus:
    """Say how the model stands in this process, without loading it."""
    return current_loader().status()
