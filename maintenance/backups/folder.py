"""LOCI_HOME/backups: which backups are there, one writer at a time, and nothing left of those that were killed."""

import fcntl
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings

from access.errors import Conflict, InvalidInput
from maintenance.backups.archive import DRAFT_END, BackupManifest, read_manifest

PLAIN, BEFORE_RESTORE = "loci", "before-restore"
_NAME = re.compile(rf"({PLAIN}|{BEFORE_RESTORE})-(\d{{8}}T\d{{6}})Z-[0-9a-f]{{4}}\.zip")
_WORK = ".work-"
LOCK_WAIT_S = 600.0  # another backup of a large store takes this long at most
LOOK_EVERY_S = 0.05


@dataclass(frozen=True)
class Backup:
    """A backup in the folder, and what it says of itself; `fault` where it cannot be read."""

    path: Path
    size_bytes: int
    manifest: BackupManifest | None
    fault: str = ""

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name


def backups_folder() -> Path:
    """Give the folder, made for its owner alone where it is missing."""
    folder = Path(settings.LOCI.home) / "backups"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def new_path(label: str, at: datetime) -> Path:
    """Name a new backup of the folder."""
    return backups_folder() / f"{label}-{at:%Y%m%dT%H%M%S}Z-{secrets.token_hex(2)}.zip"


def backup_paths() -> list[Path]:
    """Find the backups that Loci made of itself, newest first."""
    paths = [path for path in backups_folder().iterdir() if _NAME.fullmatch(path.name)]
    return sorted(paths, key=lambda path: (_stamp(path), path.name), reverse=True)


def managed_backups() -> list[Backup]:
    """List the backups of the folder, newest first."""
    return [look_at(path) for path in backup_paths()]


def look_at(path: Path) -> Backup:
    """Give one backup; a damaged one with its fault."""
    size = path.stat().st_size if path.exists() else 0
    try:
        return Backup(path, size, read_manifest(path))
    except InvalidInput as wrong:
        return Backup(path, size, None, wrong.message)


def rotate(label: str, *, keep: int) -> list[str]:
    """Delete the oldest backups of a kind beyond `keep`; give their names."""
    mine = [path for path in backup_paths() if path.name.startswith(f"{label}-")]
    for path in mine[keep:]:
        path.unlink()
    return [path.name for path in mine[keep:]]


@contextmanager
def only_writer(*, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
    """Be the only one that writes backups; first takes away what a killed one left.

    Raises:
        Conflict: another one is at work and does not end within `wait_s`.
    """
    handle = os.open(backups_folder() / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _take(handle, wait_s)
        _tidy()
        yield
    finally:
        os.close(handle)


@contextmanager
def work_folder() -> Iterator[Path]:
    """Give an empty folder for unpacked copies, for its owner alone; it is gone afterwards."""
    folder = backups_folder() / f"{_WORK}{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _take(handle: int, wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Conflict(
                    "Another backup is being written.", hint="Try again when it is done."
                ) from None
        time.sleep(LOOK_EVERY_S)


def _tidy() -> None:
    """Nobody else is at work, so what looks half-done was killed. Unpacked copies hold what may have been purged."""
    for path in backups_folder().iterdir():
        if path.name.startswith(_WORK):
            shutil.rmtree(path)
        elif path.name.startswith(".") and path.name.endswith(DRAFT_END):
            path.unlink()


def _stamp(path: Path) -> str:
    match = _NAME.fullmatch(path.name)
    return match[2] if match else ""
