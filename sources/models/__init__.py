"""Tables of this room: files that people send in the browser."""

from sources.models.upload import Upload, UploadState

__all__ = ["Upload", "UploadState"]
