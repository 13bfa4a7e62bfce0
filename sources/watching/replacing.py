"""Compare and set for files: replace a watched file only if it still has the bytes that were read.

Where the system can swap two names at once, nothing that an editor saves in between is lost: it is swapped back. An editor
that had the old file open may still write into it, so the old one is looked at once more before it is deleted.
"""

import ctypes
import hashlib
import os
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from sources.watching.disk import signature_of

OLD: Final = ".loci-old"
NEW: Final = ".loci-new"
_AT_FDCWD: Final = -100  # <fcntl.h>
_RENAME_EXCHANGE: Final = 2  # <linux/fs.h>


@dataclass(frozen=True)
class OldFile:
    """A replaced file: its path, its former name, and the SHA-256 of its former bytes."""

    path: Path
    replaced: Path
    sha: str


@dataclass(frozen=True)
class FileWrite:
    """The outcome of a write: the new SHA-256 and signature, or not done because the file had changed."""

    is_done: bool
    sha: str = ""
    signature: str = ""
    old: OldFile | None = None


def sha_of(raw: bytes) -> str:
    """SHA-256 of a file's bytes in hex."""
    return hashlib.sha256(raw).hexdigest()


def replace_if_same(path: Path, sha: str, raw: bytes) -> FileWrite:
    """Replace a file's bytes if they have this SHA-256; its mode stays.

    Raises:
        OSError: the folder cannot be written, or the file is not there.
    """
    new = path.with_name(f".{path.name}{NEW}")
    about = path.stat(follow_symlinks=False)
    write_new(new, raw, about.st_mode & 0o7777)
    try:
        if sha_of(path.read_bytes()) != sha:
            return FileWrite(False)
        old = path.with_name(f".{path.name}.{sha[:16]}{OLD}")
        if exchange(new, path):
            if sha_of(new.read_bytes()) != sha:
                exchange(new, path)  # somebody saved it in between: that one stays
                if sha_of(new.read_bytes()) != sha_of(raw):
                    keep_copy(new, path)
                return FileWrite(False)
            new.replace(old)
        else:
            old.unlink(missing_ok=True)
            os.link(path, old)
            if sha_of(old.read_bytes()) != sha:
                old.unlink()
                return FileWrite(False)
            new.replace(path)
        return FileWrite(True, sha_of(raw), signature_of(path.stat()), OldFile(old, path, sha))
    finally:
        new.unlink(missing_ok=True)


def write_new(path: Path, raw: bytes, mode: int) -> None:
    """Write a new file and flush it to disk."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(raw)
        out.flush()
        os.fsync(out.fileno())
    path.chmod(mode)


def exchange(one: Path, other: Path) -> bool:
    """Swap two files' names in one step; False where the system or its file system cannot."""
    if sys.platform != "linux":
        return False
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    done = swap(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), ctypes.c_uint(_RENAME_EXCHANGE))
    return bool(done == 0)


def discard_old(old: OldFile) -> bool:
    """Delete a replaced file; False if it was written to since, and its text was kept as a note beside the new one."""
    try:
        is_same = sha_of(old.path.read_bytes()) == old.sha
    except OSError:
        return True
    if is_same:
        old.path.unlink(missing_ok=True)
        return True
    keep_copy(old.path, old.replaced)
    return False


def keep_copy(found: Path, beside: Path) -> None:
    """Keep a text that would be lost as a new note."""
    for number in range(1, 1000):
        name = f"{beside.stem}.kept-{datetime.now():%Y%m%d-%H%M%S}-{number}{beside.suffix}"  # noqa: DTZ005 - a name
        try:
            os.link(found, beside.with_name(name))
        except FileExistsError:
            continue
        found.unlink(missing_ok=True)
        return


def discard_left(root: Path) -> None:
    """Delete or keep the replaced files left by a process that was killed."""
    for path in root.rglob(f".*{OLD}"):
        name, _, sha = path.name[1:].removesuffix(OLD).rpartition(".")
        is_same = sha_of(path.read_bytes()).startswith(sha)
        if is_same:
            path.unlink(missing_ok=True)
        else:
            keep_copy(path, path.with_name(name))
    for path in root.rglob(f".*{NEW}"):
        path.unlink(missing_ok=True)


def wait_for_writers(seconds: float) -> None:
    """Give editors that hold a replaced file open time to finish."""
    time.sleep(seconds)
