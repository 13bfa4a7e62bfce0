"""Tables of this package: files uploaded in the browser, and what browser extensions have sent."""

from sources.models.capture import CapturedTurn, Inbox
from sources.models.upload import Upload, UploadState

__all__ = ["CapturedTurn", "Inbox", "Upload", "UploadState"]
