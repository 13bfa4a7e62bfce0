"""Tables of the sources: uploaded files, watched folders, files as evidence, captured conversations."""

from sources.models.artifact import (
    SHA_DIGITS,
    Artifact,
    ArtifactState,
    Chunk,
    ChunkProof,
    ChunkState,
    FileKind,
)
from sources.models.capture import CapturedTurn, Inbox
from sources.models.upload import Upload, UploadState
from sources.models.watched import WAS_WRITTEN, WatchedFile, WatchedFolder, WatchedSection, WatchState

__all__ = [
    "SHA_DIGITS",
    "WAS_WRITTEN",
    "Artifact",
    "ArtifactState",
    "CapturedTurn",
    "Chunk",
    "ChunkProof",
    "ChunkState",
    "FileKind",
    "Inbox",
    "Upload",
    "UploadState",
    "WatchState",
    "WatchedFile",
    "WatchedFolder",
    "WatchedSection",
]
