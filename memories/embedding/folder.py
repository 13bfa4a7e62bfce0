"""Folder of an installed model: graph, tokenizer and a manifest of their origin."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from .model_id import NAME, TOKENIZER_FILE

GRAPH_FILE: Final = "model.onnx"
MANIFEST_FILE: Final = "model.json"
INSTALLED_FILES: Final = (GRAPH_FILE, TOKENIZER_FILE)


@dataclass(frozen=True)
class ModelManifest:
    """Contents of model.json: how the files were built, their hashes and sizes."""

    model_id: str
    precision: str
    source: str
    built_at: str
    loci_version: str
    weights_sha256: str
    sha256: dict[str, str]
    size_bytes: dict[str, int]


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
            return ModelManifest(**json.loads(self.manifest.read_text(encoding="utf-8")))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.manifest} is not a valid manifest: {error}") from error

    def write_manifest(self, manifest: ModelManifest) -> None:
        """Write model.json."""
        text = json.dumps(asdict(manifest), indent=2) + "\n"
        self.manifest.write_text(text, encoding="utf-8")

    def size_bytes(self) -> int:
        """Total size of the installed files, 0 if there are none."""
        files = (self.path / name for name in (*INSTALLED_FILES, MANIFEST_FILE))
        return sum(file.stat().st_size for file in files if file.is_file())

    def wrong_sizes(self, manifest: ModelManifest) -> list[str]:
        """Names of missing or truncated files (by size, which costs nothing)."""
        return [
            name
            for name in sorted({*INSTALLED_FILES, *manifest.size_bytes})
            if not (file := self.path / name).is_file()
            or file.stat().st_size != manifest.size_bytes.get(name)
        ]

    def wrong_hashes(self, manifest: ModelManifest) -> list[str]:
        """Names of files that differ from what was installed."""
        missing = self.wrong_sizes(manifest)
        present = [name for name in sorted(manifest.sha256) if name not in missing]
        return missing + [name for name in present if sha256_of(self.path / name) != manifest.sha256[name]]


def model_folder(home: Path) -> ModelFolder:
    """The model's folder under Loci's home folder."""
    return ModelFolder(home / "models" / NAME)


def sha256_of(path: Path) -> str:
    """SHA-256 of the file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
