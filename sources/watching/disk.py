"""The files of a watched folder as the file system shows them; links are not followed."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from sources.importing.formats.notes.folders import NOTES
from sources.importing.formats.notes.locus import ENDINGS as LOCUS_ENDINGS

MARKER: Final = ".loci-folder"
ENDINGS: Final = (*NOTES, *LOCUS_ENDINGS)
SKIPPED: Final = frozenset({"node_modules", "__pycache__", "__MACOSX"})  # beside what is hidden
QUIET_S: Final = 0.5  # a file that changed less than this ago may still be written
MAX_FILES: Final = 100_000
ROOM: Final = ".room.json"  # a folder with it is a room on disk
# Made from memories, or instructions: none are memories.
OF_ROOMS: Final = frozenset({"context.md", "CLAUDE.md", "daily"})


class FolderGone(Exception):
    """The folder or its marker no longer exists."""


@dataclass(frozen=True)
class SeenFile:
    """A file as the file system shows it. `signature` changes with every write, `changed_at` is the time of the last one."""

    path: str
    signature: str
    size: int
    changed_at: float

    def is_quiet(self, now: float) -> bool:
        """True if the file was not written for QUIET_S; a time in the future counts as long ago."""
        return not 0 <= now - self.changed_at < QUIET_S


def read_marker(root: Path) -> str:
    """The content of the folder's marker; empty without one."""
    try:
        return (root / MARKER).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def list_files(root: Path) -> Iterator[SeenFile]:
    """The notes below a folder, without hidden files, links and folders of programs.

    Raises:
        FolderGone: a folder cannot be read: what is missing may only be out of reach.
    """
    waiting = [root]
    count = 0
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if folder != root and not folder.exists() and root.exists():
                continue  # deleted since its parent was read
            raise FolderGone(f"{folder} cannot be read: {error.strerror or error}") from error
        is_room = any(entry.name == ROOM for entry in found)
        for entry in found:
            if is_room and entry.name in OF_ROOMS:
                continue
            if entry.name.startswith(".") or entry.name in SKIPPED or not _is_text_name(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
            elif is_note(entry.name) and (seen := _look_at(root, entry)) is not None and count < MAX_FILES:
                count += 1
                yield seen


def _is_text_name(name: str) -> bool:
    """True for a name that is valid text; others cannot be stored."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\n" not in name


def is_note(name: str) -> bool:
    """True for the name of a note."""
    return name.lower().endswith(ENDINGS)


def _look_at(root: Path, entry: "os.DirEntry[str]") -> SeenFile | None:
    """A regular file as the file system shows it; None for anything else, or if it was just deleted."""
    try:
        about = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(about.st_mode):
        return None
    path = PurePosixPath(Path(entry.path).relative_to(root)).as_posix()
    return SeenFile(path, _signature_of(about), about.st_size, max(about.st_mtime, about.st_ctime))


def sha_of(raw: bytes) -> str:
    """SHA-256 of a file's bytes in hex."""
    return hashlib.sha256(raw).hexdigest()


def _signature_of(about: os.stat_result) -> str:
    """A value that changes with every write: inode, size, mtime and ctime (which programs cannot set)."""
    return f"{about.st_ino}:{about.st_size}:{about.st_mtime_ns}:{about.st_ctime_ns}"


def open_plain(path: Path) -> BinaryIO:
    """A plain file, opened for reading. Raises OSError for anything else: a pipe would never end, a link may lead anywhere."""
    file = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path} is no plain file")
    return file


def read_file(root: Path, seen: SeenFile) -> bytes | None:
    """The bytes of a file; None if it changed since it was seen."""
    try:
        with open_plain(root / seen.path) as file:
            raw = file.read(seen.size + 1)
            is_same = _signature_of(os.fstat(file.fileno())) == seen.signature
    except OSError:
        return None
    return raw if is_same and len(raw) == seen.size else None
