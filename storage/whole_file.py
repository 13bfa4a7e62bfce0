"""Files that are written whole or not at all: a draft next to the file is flushed to the disk and takes its place."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

DRAFT_SUFFIX = ".part"


@contextmanager
def replace_whole(target: Path, *, mode: int = 0o600) -> Iterator[IO[bytes]]:
    """A draft that replaces `target` once the block succeeds; by default only its owner can read it."""
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}{DRAFT_SUFFIX}")
    try:
        with os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        draft.replace(target)
        sync_folder(target.parent)
    finally:
        draft.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
