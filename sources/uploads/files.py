"""The uploaded files themselves: in LOCI_HOME/uploads, readable by the service only, deleted when no longer needed."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from zipfile import is_zipfile

from django.conf import settings
from django.utils import timezone

from access.errors import LociError
from memories.store.places import BLANKED, ClearedCopies, OutsideCopies, PurgedTexts, TextPlace, contains_any
from sources.importing.reading.file_tree import FileTree
from sources.models import Upload, UploadState
from storage.encryption import database_key
from storage.encryption.sealing import readable, sealed_chunks
from storage.home import UPLOADS

_SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")
_NAME_CHARS: Final = 60  # a file's name has at most 255 bytes
_ENDED_BY_PURGE = "It contained a text that has been purged. Remove that text and upload the file again."


def file_of(upload: Upload) -> Path:
    """Path of an upload's file; it keeps the suffix of the uploaded name."""
    suffix = Path(upload.name).suffix.lower()
    ending = suffix if _SUFFIX.fullmatch(suffix) else ".jsonl"
    return Path(settings.LOCI.home) / UPLOADS / f"{upload.id}{ending}"


def write_file(upload: Upload, chunks: Iterable[bytes]) -> None:
    """Write the uploaded chunks, sealed if the store is encrypted; a half-written file is deleted."""
    path, key = file_of(upload), database_key()
    path.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.writelines(sealed_chunks(chunks, key) if key else chunks)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def open_file(upload: Upload) -> Iterator[Path]:
    """An upload's content during the block under its own name, by which importers know texts: a link to it, or to an unsealed copy."""
    with readable(file_of(upload), database_key()) as path, TemporaryDirectory(dir=path.parent) as folder:
        stem = "".join(filter(str.isprintable, Path(upload.name).stem))[:_NAME_CHARS] or "upload"
        (named := Path(folder, f"{stem}{path.suffix}")).symlink_to(path)
        yield named


def remove_file(upload: Upload) -> None:
    """Delete the file if it still exists."""
    file_of(upload).unlink(missing_ok=True)


UPLOADS_PLACE: Final = TextPlace(
    "imports",
    "imports contain it",
    Upload,
    ("name", "report", "faults", "left_out", "sample", "error"),
    BLANKED,
    names=("id",),
)


class UploadedFiles(OutsideCopies):
    """Uploaded files as copies that a purge has to reach: a file with a purged text is deleted and not imported."""

    name = "uploads"
    files = (UPLOADS,)

    def find(self, doomed: PurgedTexts) -> tuple[str, ...]:
        """How many files contain one of the texts."""
        count = sum(1 for _ in _uploads_with(doomed))
        return (f"files uploaded for import contain it: {count}",) if count else ()

    def clear(self, doomed: PurgedTexts, *, note: str) -> ClearedCopies:
        """Delete the files that contain one of the texts."""
        gone = list(_uploads_with(doomed))
        for upload in gone:
            remove_file(upload)
            Upload.objects.filter(pk=upload.pk).update(
                state=UploadState.FAILED,
                error=_ENDED_BY_PURGE,
                faults=[],
                sample=[],
                finished_at=timezone.now(),
            )
        return ClearedCopies(checked=(f"files uploaded for import: {len(gone)} deleted",) if gone else ())


def _uploads_with(doomed: PurgedTexts) -> Iterator[Upload]:
    for upload in Upload.objects.filter(finished_at=None):
        if contains_text(file_of(upload), doomed.bytes):
            yield upload


def contains_text(path: Path, needles: list[bytes]) -> bool:
    try:
        with readable(path, database_key()) as plain:
            with plain.open("rb") as stream:
                if contains_any(stream, needles):
                    return True
            return is_zipfile(plain) and _zipcontains_text(plain, needles)
    except FileNotFoundError:
        return False


def _zipcontains_text(path: Path, needles: list[bytes]) -> bool:
    try:
        with FileTree(path) as tree:
            for name in tree.names():
                with tree.open(name) as stream:
                    if contains_any(stream, needles):
                        return True
    except LociError:
        return True
    return False
