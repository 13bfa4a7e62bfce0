"""A file sent by a client: a single file, or a zip of several."""

import io
import lzma
import zlib
from typing import Final
from zipfile import BadZipFile, ZipFile

from django.core.files.uploadedfile import UploadedFile

from access.errors import InvalidInput, TooLarge
from sources.artifacts.reading.files import MAX_TEXT_BYTES, built_in

MAX_FILES: Final = 500  # more take longer than a browser waits
MAX_UNPACKED_BYTES: Final = 64 * 1024**2
_MAX_SENT_BYTES: Final = 32 * 1024**2
# What zipfile raises for a broken file; RuntimeError for one with a password, or packed in a way that it does not know.
UNREADABLE: Final = (BadZipFile, RuntimeError, ValueError, EOFError, OSError, zlib.error, lzma.LZMAError)


def read_sent(file: "UploadedFile[bytes]", path: str) -> list[tuple[str, bytes]]:
    """The sent file under its path, or the files of a zip, without those that are never read.

    Raises:
        InvalidInput, TooLarge: it is empty, no zip, or too large.
    """
    if (file.size or 0) > _MAX_SENT_BYTES:
        raise TooLarge(
            f"The file has {(file.size or 0) / 2**20:.1f} MiB; at most {_MAX_SENT_BYTES // 2**20} MiB can be sent.",
            hint="Read it where it is: loci ingest PATH.",
            field="file",
        )
    data = file.read()
    if not data:
        raise InvalidInput("The file is empty.", field="file")
    if not path.lower().endswith(".zip"):
        return [(path, data)]
    try:
        return unpack(data)
    except UNREADABLE:
        raise InvalidInput(
            "The file is not a zip that can be read.", hint="Pack it without a password.", field="file"
        ) from None


def unpack(data: bytes) -> list[tuple[str, bytes]]:
    """The files of a zip, within the limits; nothing is written to disk."""
    with ZipFile(io.BytesIO(data)) as packed:
        wanted = [
            info
            for info in packed.infolist()
            if not info.is_dir()
            and not built_in().match_file(info.filename)
            and 0 < info.file_size <= MAX_TEXT_BYTES
        ]
        if len(wanted) > MAX_FILES or sum(info.file_size for info in wanted) > MAX_UNPACKED_BYTES:
            raise TooLarge(
                f"The zip has {len(wanted):,} files; at most {MAX_FILES} with {MAX_UNPACKED_BYTES // 2**20} MiB can be sent.",
                hint="Read the folder where it is: loci ingest PATH.",
                field="file",
            )
        if not wanted:
            raise InvalidInput("The zip has no file that may be read.", field="file")
        found = list[tuple[str, bytes]]()
        for info in wanted:
            with packed.open(info) as stream:
                content = stream.read(MAX_TEXT_BYTES + 1)  # what a zip says of its sizes may be wrong
            if len(content) <= MAX_TEXT_BYTES:
                found.append((info.filename, content))
        return found
