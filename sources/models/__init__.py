"""Tables of this package: files uploaded in the browser, files read as evidence and their chunks."""

from sources.models.artifact import (
    SHA_DIGITS,
    Artifact,
    ArtifactState,
    Chunk,
    ChunkProof,
    ChunkState,
    FileKind,
)
from sources.models.upload import Upload, UploadState

__all__ = [
    "SHA_DIGITS",
    "Artifact",
    "ArtifactState",
    "Chunk",
    "ChunkProof",
    "ChunkState",
    "FileKind",
    "Upload",
    "UploadState",
]
