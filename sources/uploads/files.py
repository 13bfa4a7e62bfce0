"""The files themselves that people send: in LOCI_HOME/uploads, for their owner alone, and gone when they are not needed."""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from memories.store.purge_hooks import ClearedCopies, PurgedTexts, quoting, redacted
from sources.models import Upload, UploadState

FOLDER = "uploads"
SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")
CHUNK = 1 << 20
ENDED_BY_PURGE = "It held a text that was purged since. Take that out and send the file again."


def file_of(upload: Upload) -> Path:
    """Give where an upload's file stands; what it is is told from the ending of the name that it came with."""
    suffix = Path(upload.name).suffix.lower()
    ending = suffix if SUFFIX.fullmatch(suffix) else ".jsonl"
    return Path(settings.LOCI.home) / FOLDER / f"{upload.id}{ending}"


def write_file(upload: Upload, chunks: Iterable[bytes]) -> None:
    """Write what was sent; a half-written file is removed."""
    path = file_of(upload)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            for chunk in chunks:
                out.write(chunk)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def remove_file(upload: Upload) -> None:
    """Remove the file, where it is still there."""
    file_of(upload).unlink(missing_ok=True)


def count_lines(path: Path) -> int:
    """Count a file's lines, a last one without its end included."""
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            count, last = count + chunk.count(b"\n"), chunk[-1:]
    return count + (last != b"\n")


class SentFiles:
    """The files that wait, as a purge sees them: one that holds the purged text is removed and not imported."""

    def note(self) -> None:
        """A file that is left goes within a day by itself; nothing has to be remembered."""

    def clear(self, ids: frozenset[UUID], texts: tuple[str, ...]) -> ClearedCopies:
        """Remove the files that hold one of the texts."""
        words = sorted({form.encode() for text in texts for form in _forms(text)})
        gone = 0
        for upload in Upload.objects.filter(finished_at=None):
            if _holds(file_of(upload), words):
                _end(upload)
                gone += 1
        return ClearedCopies(checked=(f"files sent for an import: {gone} removed",) if gone else ())


def purge_faults(doomed: PurgedTexts) -> int:
    """Blot purged texts out of what is told of lines that were not taken; give how many rows."""
    rows = list(quoting(Upload.objects.all(), "faults", doomed.texts))
    for row in rows:
        row.faults = redacted(row.faults, doomed.texts)
        row.save(update_fields=["faults"])
    return len(rows)


def _forms(text: str) -> tuple[str, ...]:
    """Give a text as a file may hold it: as it is, and as JSON with and without escapes."""
    return (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])


def _holds(path: Path, words: list[bytes]) -> bool:
    try:
        held = path.read_bytes()
    except FileNotFoundError:
        return False
    return any(word in held for word in words)


def _end(upload: Upload) -> None:
    remove_file(upload)
    Upload.objects.filter(pk=upload.pk).update(
        state=UploadState.FAILED, error=ENDED_BY_PURGE, faults=[], finished_at=timezone.now()
    )
