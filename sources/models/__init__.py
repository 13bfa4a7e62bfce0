"""Tables of this package: files uploaded in the browser."""

from sources.models.upload import Upload, UploadState

__all__ = ["Upload", "UploadState"]
