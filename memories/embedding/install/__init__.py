"""Puts the model into its folder: fetch, check, build the graph, compare with the reference, then swap in."""

import contextlib
import importlib.metadata
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ..errors import ModelInstallFailed, ModelUnavailable
from ..folder import (
    GRAPH_FILE,
    INSTALLED_FILES,
    MANIFEST_FILE,
    ModelFolder,
    ModelManifest,
    sha256_of,
)
from ..loader import INSTALL_HINT, load_encoder
from ..model_id import MODEL_ID, TOKENIZER_FILE, WEIGHTS_FILE, WEIGHTS_SHA256
from ..self_test import MIN_COSINE, lowest_cosine
from .download import Progress
from .graph import Precision, build_graph
from .sources import ModelSource, SourceFailed

try:
    import fcntl
except ImportError:  # Windows: two installations at once are the user's to avoid
    fcntl = None  # type: ignore[assignment]

# The precision of a graph that the user brought along.
AS_FOUND: Final = "as found"
PARTIAL_FOLDER: Final = ".download"
SCRATCH_PREFIX: Final = ".install-"
FAILED_HINT: Final = (
    "Fetch model.safetensors and tokenizer.json of sentence-transformers/all-MiniLM-L6-v2 on a machine with a "
    "way out, then run `manage.py model install --from DIR`. Until then recall works by keywords alone."
)


@dataclass(frozen=True)
class InstallReport:
    """What stands after an installation; `was_installed` means that nothing had to be done."""

    path: Path
    model_id: str
    source: str
    precision: str
    size_bytes: int
    seconds: float
    was_installed: bool


@dataclass(frozen=True)
class VerifyReport:
    """What was checked of an installed model; `lowest_cosine` is to the reference vectors."""

    path: Path
    model_id: str
    source: str
    precision: str
    size_bytes: int
    lowest_cosine: float


def install_model(
    folder: ModelFolder,
    sources: Sequence[ModelSource],
    *,
    precision: Precision,
    force: bool = False,
    progress: Progress = lambda there, total: None,
) -> InstallReport:
    """Install the model from the first source that has it.

    1. Under a lock, so that two installations do not meet; a sound model of this precision stays (unless `force`).
    2. Fetch both files into a folder beside the target and check their SHA-256.
    3. Build the ONNX graph; load it and compare its vectors with the reference.
    4. Move the files in, the manifest last: what is half done never counts as installed.

    Raises:
        ModelInstallFailed: no source had it; the message names each one's reason.
    """
    began = time.monotonic()
    root = folder.path.parent
    root.mkdir(parents=True, exist_ok=True)
    with locked_folder(root):
        for left_behind in root.glob(f"{SCRATCH_PREFIX}*"):  # by an installation that was killed
            shutil.rmtree(left_behind)
        if not force and (manifest := _sound_manifest(folder, precision)):
            return _install_report(folder, manifest, began, was_installed=True)
        with tempfile.TemporaryDirectory(prefix=SCRATCH_PREFIX, dir=root) as scratch:
            work = ModelFolder(Path(scratch))
            manifest = _prepare(work, sources, precision, progress)
            _swap_in(work, folder)
        shutil.rmtree(root / PARTIAL_FOLDER, ignore_errors=True)
        return _install_report(folder, manifest, began, was_installed=False)


def verify_model(folder: ModelFolder) -> VerifyReport:
    """Recompute the hashes of an installed model and compare its vectors with the reference.

    Raises:
        ModelUnavailable: absent, changed, or giving other vectors; it says which.
    """
    if folder.stamp() is None:
        raise ModelUnavailable(f"No embedding model is installed at {folder.path}.", hint=INSTALL_HINT)
    try:
        manifest = folder.read_manifest()
        if wrong := folder.wrong_hashes(manifest):
            raise ValueError(f"changed since it was installed: {', '.join(wrong)}.")
        cosine = _checked_cosine(folder)
    except Exception as error:  # onnxruntime and tokenizers raise their own types
        raise ModelUnavailable(
            f"The embedding model at {folder.path} is not sound: {error}",
            hint="Run `manage.py model install --force`.",
        ) from error
    size = folder.size_bytes()
    return VerifyReport(folder.path, MODEL_ID, manifest.source, manifest.precision, size, cosine)


def _sound_manifest(folder: ModelFolder, precision: Precision) -> ModelManifest | None:
    if folder.stamp() is None:
        return None
    try:
        manifest = folder.read_manifest()
        if manifest.model_id != MODEL_ID or folder.wrong_hashes(manifest):
            return None
    except (OSError, ValueError):
        return None
    return manifest if manifest.precision in {precision, AS_FOUND} else None


def _prepare(
    work: ModelFolder, sources: Sequence[ModelSource], precision: Precision, progress: Progress
) -> ModelManifest:
    """Fill `work` from the first source whose files pass every check."""
    reasons = []
    for source in sources:
        try:
            source.fetch(work.path, progress)
            return _build(work, source.label, precision)
        except SourceFailed as error:
            reasons.append(f"{source.label}: {str(error).rstrip('.')}.")
            for left in work.path.iterdir():
                left.unlink()
    raise ModelInstallFailed(f"The embedding model was not installed. {' '.join(reasons)}", hint=FAILED_HINT)


def _build(work: ModelFolder, source: str, precision: Precision) -> ModelManifest:
    """Build the graph unless the source brought one, then check what the whole gives."""
    weights = work.path / WEIGHTS_FILE
    built = weights.is_file()
    if built:
        build_graph(weights, work.graph, precision=precision)
        weights.unlink()
    manifest = ModelManifest(
        model_id=MODEL_ID,
        precision=precision if built else AS_FOUND,
        source=source,
        built_at=datetime.now(UTC).isoformat(timespec="seconds"),
        loci_version=_loci_version(),
        weights_sha256=WEIGHTS_SHA256 if built else "",
        sha256={name: sha256_of(work.path / name) for name in INSTALLED_FILES},
        size_bytes={name: (work.path / name).stat().st_size for name in INSTALLED_FILES},
    )
    work.write_manifest(manifest)
    try:
        _checked_cosine(work)
    except Exception as error:  # a graph from elsewhere may fail in any way onnxruntime knows
        raise SourceFailed(f"{GRAPH_FILE} is refused: {error}") from error
    return manifest


def _checked_cosine(folder: ModelFolder) -> float:
    cosine = lowest_cosine(load_encoder(folder))
    if cosine < MIN_COSINE:
        raise ValueError(
            f"its vectors differ from the reference (cosine {cosine:.6f}, at least {MIN_COSINE})."
        )
    return cosine


def _swap_in(work: ModelFolder, folder: ModelFolder) -> None:
    folder.path.mkdir(exist_ok=True)
    # Without its manifest the old model no longer counts; from here to the last move there is none.
    folder.manifest.unlink(missing_ok=True)
    names = (GRAPH_FILE, TOKENIZER_FILE, MANIFEST_FILE)
    for left in folder.path.glob("*.onnx"):  # of an older version, which had a graph for questions
        if left.name not in names:
            left.unlink()
    for name in names:
        (work.path / name).replace(folder.path / name)


def _install_report(
    folder: ModelFolder, manifest: ModelManifest, began: float, *, was_installed: bool
) -> InstallReport:
    return InstallReport(
        path=folder.path,
        model_id=manifest.model_id,
        source=manifest.source,
        precision=manifest.precision,
        size_bytes=folder.size_bytes(),
        seconds=round(time.monotonic() - began, 3),
        was_installed=was_installed,
    )


def _loci_version() -> str:
    try:
        return importlib.metadata.version("loci-memory")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout
        return "checkout"


@contextlib.contextmanager
def locked_folder(root: Path) -> Iterator[None]:
    """Hold `root` for this process: wait until no other one installs there."""
    handle = os.open(root / ".install.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
