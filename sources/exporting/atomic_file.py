"""Writing a file completely or not at all."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO

from storage.encryption import DatabaseKey
from storage.encryption.sealing import SealedWriter
from storage.whole_file import replace_whole


@contextmanager
def replace_file(path: Path) -> Iterator[TextIO]:
    """A text file that replaces `path` once it is on disk, readable by its owner only.

    A device or pipe is written directly, because replacing it would destroy it.
    """
    with replace_bytes(path) as out, _as_text(out) as file:
        yield file


@contextmanager
def replace_sealed_file(path: Path, key: DatabaseKey) -> Iterator[TextIO]:
    """As replace_file(), with the content sealed."""
    with (
        replace_bytes(path) as out,
        SealedWriter(out, key) as sealed,
        _as_text(io.BufferedWriter(sealed)) as file,
    ):
        yield file


@contextmanager
def replace_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The binary file behind replace_file()."""
    if path.exists() and not path.is_file():
        with path.open("wb") as out:
            yield out
        return
    with replace_whole(path) as out:
        yield out


@contextmanager
def _as_text(out: IO[bytes]) -> Iterator[TextIO]:
    """A text wrapper that is flushed at the end and stays open."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="\n")
    try:
        yield text
        text.flush()
    finally:
        text.detach()
