"""Tables of the sources."""

from sources.models.upload import Upload, UploadState
from sources.models.watched import WatchedFile, WatchedFolder, WatchedSection, WatchMode, WatchState

__all__ = [
    "Upload",
    "UploadState",
    "WatchMode",
    "WatchState",
    "WatchedFile",
    "WatchedFolder",
    "WatchedSection",
]
