"""LOCI_HOME/backups: its backups, the lock for a single writer, and removal of what killed writers left."""

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings

from access.errors import Conflict, InvalidInput
from maintenance.backups.archive import BackupManifest, read_manifest
from maintenance.backups.copies import copies
from storage.locks import take_lock
from storage.whole_file import DRAFT_SUFFIX

PLAIN, BEFORE_RESTORE, BEFORE_UPGRADE = "loci", "before-restore", "before-upgrade"
_BACKUP_NAME = re.compile(
    rf"({PLAIN}|{BEFORE_RESTORE}|{BEFORE_UPGRADE})-(\d{{8}}T\d{{6}})Z-[0-9a-f]{{4}}\.zip"
)
_WORK_PREFIX = ".work-"
_LOCK_WAIT_S = 600.0  # longest expected time of another backup, of a large store


@dataclass(frozen=True)
class Backup:
    """A backup in the folder with its manifest; `fault` says why it cannot be read."""

    path: Path
    size_bytes: int
    manifest: BackupManifest | None
    fault: str = ""

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name


def backups_folder() -> Path:
    """The folder, created for its owner only if missing."""
    folder = Path(settings.LOCI.home) / "backups"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def new_path(label: str, at: datetime) -> Path:
    """Path for a new backup in the folder."""
    return backups_folder() / f"{label}-{at:%Y%m%dT%H%M%S}Z-{secrets.token_hex(2)}.zip"


def backup_paths() -> list[Path]:
    """Backups in the folder that Loci named itself, newest first."""
    stamped = [
        (match[2], path.name, path)
        for path in backups_folder().iterdir()
        if (match := _BACKUP_NAME.fullmatch(path.name))
    ]
    return [path for _, _, path in sorted(stamped, reverse=True)]


def managed_backups() -> list[Backup]:
    """All backups of the folder, newest first."""
    return [_read_backup(path) for path in backup_paths()]


def _read_backup(path: Path) -> Backup:
    """One backup; a damaged one has its `fault` set."""
    size = path.stat().st_size if path.exists() else 0
    try:
        return Backup(path, size, read_manifest(path))
    except InvalidInput as error:
        return Backup(path, size, None, error.message)


def rotate(label: str, *, keep: int) -> list[str]:
    """Delete the oldest backups with this label beyond `keep`; return their names."""
    labelled = [path for path in backup_paths() if path.name.startswith(f"{label}-")]
    for path in labelled[keep:]:
        path.unlink()
    return [path.name for path in labelled[keep:]]


@contextmanager
def backup_lock(*, wait_s: float = _LOCK_WAIT_S) -> Iterator[None]:
    """Hold the lock of the backups folder during the block; first removes what a killed writer left.

    Raises:
        Conflict: another process holds the lock for longer than `wait_s`.
    """
    handle = os.open(backups_folder() / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not take_lock(handle, wait_s=wait_s):
            raise Conflict("Another backup is being written.", hint="Try again when it has finished.")
        # The writers of half-done files are dead, and the files may hold purged texts.
        copies().discard_leftovers()
        for path in backups_folder().iterdir():
            if path.name.startswith(_WORK_PREFIX):
                shutil.rmtree(path)
            elif path.name.startswith(".") and path.name.endswith(DRAFT_SUFFIX):
                path.unlink()
        yield
    finally:
        os.close(handle)


@contextmanager
def work_folder() -> Iterator[Path]:
    """An empty folder for unpacked copies, for its owner only; deleted after the block."""
    folder = backups_folder() / f"{_WORK_PREFIX}{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        copies().discard(folder)
        shutil.rmtree(folder)
