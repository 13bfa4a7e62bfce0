"""The uploaded files themselves: in LOCI_HOME/uploads, readable by the service only, deleted when no longer needed."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID
from zipfile import is_zipfile

from django.conf import settings
from django.utils import timezone

from access.errors import LociError
from memories.store.purge_hooks import (
    ClearedCopies,
    PurgedTexts,
    contains_any,
    encodings_of,
    redact,
    rows_quoting,
)
from sources.importing.reading.file_tree import FileTree
from sources.models import Upload, UploadState
from storage.encryption import database_key
from storage.encryption.sealing import readable, sealed_chunks
from storage.home import UPLOADS

SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")
ENDED_BY_PURGE = "It contained a text that has been purged. Remove that text and upload the file again."


def file_of(upload: Upload) -> Path:
    """Path of an upload's file; it keeps the suffix of the uploaded name."""
    suffix = Path(upload.name).suffix.lower()
    ending = suffix if SUFFIX.fullmatch(suffix) else ".jsonl"
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
    """The path of an upload's content during the block: of the file itself, or of an unsealed copy."""
    with readable(file_of(upload), database_key()) as path:
        yield path


def remove_file(upload: Upload) -> None:
    """Delete the file if it still exists."""
    file_of(upload).unlink(missing_ok=True)


class UploadedFiles:
    """Uploaded files as copies that a purge has to reach: a file with a purged text is deleted and not imported."""

    def note(self) -> str:
        """Nothing to do: a file that is left is deleted within a day anyway."""
        return ""

    def clear(self, ids: frozenset[UUID], texts: tuple[str, ...], *, note: str) -> ClearedCopies:
        """Delete the files that contain one of the texts."""
        needles = sorted({form.encode() for text in texts for form in encodings_of(text)})
        gone = 0
        for upload in Upload.objects.filter(finished_at=None):
            if contains_text(file_of(upload), needles):
                remove_file(upload)
                Upload.objects.filter(pk=upload.pk).update(
                    state=UploadState.FAILED,
                    error=ENDED_BY_PURGE,
                    faults=[],
                    sample=[],
                    finished_at=timezone.now(),
                )
                gone += 1
        return ClearedCopies(checked=(f"files uploaded for import: {gone} deleted",) if gone else ())


def purge_faults(doomed: PurgedTexts) -> int:
    """Redact purged texts in the reasons for rejected lines and in previews; return the number of changed rows."""
    changed = 0
    for column in ("faults", "left_out", "sample"):
        for row in list(rows_quoting(Upload.objects.all(), column, doomed.texts)):
            setattr(row, column, redact(getattr(row, column), doomed.texts))
            row.save(update_fields=[column])
            changed += 1
    return changed


def contains_text(path: Path, needles: list[bytes]) -> bool:
    """True if the file exists and contains one of the byte strings, in a zip unpacked."""
    try:
        with readable(path, database_key()) as plain:
            with plain.open("rb") as stream:
                if contains_any(stream, needles):
                    return True
            return is_zipfile(plain) and zip_contains_text(plain, needles)
    except FileNotFoundError:
        return False


def zip_contains_text(path: Path, needles: list[bytes]) -> bool:
    """True if a file in a zip contains one of the byte strings, or cannot be read."""
    try:
        with FileTree(path) as tree:
            for name in tree.names():
                with tree.open(name) as stream:
                    if contains_any(stream, needles):
                        return True
    except LociError:
        return True
    return False
