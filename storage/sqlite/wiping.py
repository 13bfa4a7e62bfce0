"""Destroys the bytes of a file that another file replaces."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

REPLACED_SUFFIX: Final = ".replaced"
BLOCK_BYTES: Final = 1024 * 1024


@contextmanager
def wiping(path: Path) -> Iterator[None]:
    """Overwrite the file that the block replaces at `path`; one that is not replaced stays.

    It keeps a second name during the block, by which the next run finds it if this process is killed.
    """
    kept = path.with_name(f".{path.name.lstrip('.')}{REPLACED_SUFFIX}")
    finish_wiping(kept)
    if path.exists():
        os.link(path, kept)
    try:
        yield
    finally:
        finish_wiping(kept)


def finish_wiping(path: Path) -> None:
    """Delete a file, overwritten with zeros if this is its only name.

    SSDs and copy-on-write file systems may keep the old blocks all the same.
    """
    try:
        if path.stat().st_nlink == 1:
            overwrite(path)
        path.unlink()
    except FileNotFoundError:
        pass


def overwrite(path: Path) -> None:
    """Fill a file with zeros, in place."""
    left = path.stat().st_size
    with path.open("r+b") as file:
        while left > 0:
            left -= file.write(bytes(min(left, BLOCK_BYTES)))
    sync(path)


def sync(path: Path) -> None:
    """Flush a file to disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
