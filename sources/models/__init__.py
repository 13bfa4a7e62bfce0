"""Tables of the sources: uploaded files, watched folders, and what browser extensions have sent."""

from sources.models.capture import CapturedTurn, Inbox
from sources.models.upload import Upload, UploadState
from sources.models.watched import WatchedFile, WatchedFolder, WatchedSection, WatchMode, WatchState

__all__ = [
    "CapturedTurn",
    "Inbox",
    "Upload",
    "UploadState",
    "WatchMode",
    "WatchState",
    "WatchedFile",
    "WatchedFolder",
    "WatchedSection",
]
