"""Encrypts or decrypts an existing store, or changes its key: database, backups and uploaded files.

The settings name the key that holds afterwards (for decrypting: before). Each file is copied, the copy is compared with it,
and only then takes its place, so a process killed at any point leaves every file whole, and the same command goes on.
"""

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import DatabaseError

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict, Unavailable
from maintenance.backups import require_admin
from maintenance.backups.archive import (
    DAMAGED,
    DATABASE,
    LEVEL,
    MANIFEST,
    STORES,
    blocks_of,
    sha256_of,
)
from maintenance.backups.copies import copies
from maintenance.backups.folder import backup_lock, backup_paths, backups_folder, work_folder
from maintenance.backups.restore import STOP_OTHERS
from maintenance.backups.sqlite_copies import database_path
from maintenance.squashed_migrations import pending_migrations
from storage.encryption import DatabaseKey, KeyProblem
from storage.encryption.pages import is_plain
from storage.encryption.sealing import key_that_unseals, replace_sealing, seal, unseal
from storage.home import UPLOADS
from storage.progress import Progress
from storage.sqlite.dialect import database_files
from storage.sqlite.reencrypt import (
    REPLACED_SUFFIX,
    CopyDiffers,
    copy_with_key,
    finish_wiping,
    opens_with,
    sync,
    wiping,
)
from storage.whole_file import replace_whole, sync_folder

# The copy, and the rest that SQLite needs while it is written.
ROOM: Final = 1.2


@dataclass(frozen=True)
class Keys:
    """The keys of a change: those that a file may have now (None: plain), and the new one."""

    old: DatabaseKey | None
    new: DatabaseKey | None

    @property
    def word(self) -> str:
        """The change as a verb."""
        if self.new is None:
            return "decrypt"
        return "encrypt" if self.old is None else "rekey"


@dataclass(frozen=True)
class EncryptionPreview:
    """What would be changed. `state` of the database: "none", "done" or "to do"."""

    database: Path
    state: str
    bytes_needed: int
    bytes_free: int
    backups: int
    uploads: int


@dataclass(frozen=True)
class EncryptionResult:
    """What was changed: rows of the database (None: nothing to do), files, and skipped files with reasons."""

    rows: int | None = None
    backups: tuple[str, ...] = ()
    uploads: int = 0
    left: tuple[str, ...] = ()


def preview_change(actor: Actor, keys: Keys) -> EncryptionPreview:
    """The changes that change_encryption() would make; nothing is changed.

    Raises:
        NotPermitted: the actor does not administer all groups.
        Unavailable: the database opens with none of the keys.
    """
    require_admin(actor)
    database = database_path()
    with explain_key_problems():
        state = state_of(database, keys)
    size = database.stat().st_size if database.exists() else 0
    return EncryptionPreview(
        database=database,
        state=state,
        bytes_needed=int(size * ROOM) if state == "to do" else 0,
        bytes_free=shutil.disk_usage(settings.LOCI.home).free,
        backups=len(backup_paths()),
        uploads=len(_uploaded_files()),
    )


def change_encryption(actor: Actor, keys: Keys, *, progress: Progress) -> EncryptionResult:
    """Change the key of the database, the backups and the uploaded files; returns what was changed.

    Raises:
        NotPermitted: the actor does not administer all groups.
        Conflict: another process has the store open; nothing was changed.
        Unavailable: the database opens with none of the keys, a copy differs, or the disk has no room.
    """
    preview = preview_change(actor, keys)
    if preview.bytes_needed > preview.bytes_free:
        raise Unavailable(
            f"The copy takes {preview.bytes_needed / 1e6:,.0f} MB, and the disk has {preview.bytes_free / 1e6:,.0f}.",
            hint="Nothing was changed. Free space on the disk that holds LOCI_HOME.",
        )
    if keys.new is None and preview.state == "to do":
        _note_change(actor, keys)  # afterwards the settings do not open it any more
    rows: int | None = None
    with explain_key_problems(), backup_lock():
        with ExitStack() as stack:
            try:
                stack.enter_context(copies().exclusive_access())
            except DatabaseError as error:
                raise Conflict(f"Nothing was changed: {error}.", hint=STOP_OTHERS) from error
            _finish_leftovers(preview.database)
            if preview.state == "to do":
                rows = _change_database(preview.database, keys, progress)
        with work_folder() as folder:
            rewrite = partial(_reencrypt_archive, folder=folder, old=keys.old, new=keys.new)
            changed, left = _change_files(backup_paths(), rewrite, partial(progress, "backups"))
        reseal = partial(replace_sealing, old=keys.old, new=keys.new)
        uploads, more = _change_files(_uploaded_files(), reseal, partial(progress, "uploads"))
    if keys.new is not None and rows is not None:
        _note_change(actor, keys)
    return EncryptionResult(rows, tuple(changed), len(uploads), (*left, *more, *_foreign_files()))


def state_of(database: Path, keys: Keys) -> str:
    """The state of the database: "none" if it does not exist, "done" or "to do".

    Raises:
        KeyProblem: it opens with neither key.
    """
    if not database.exists() or not database.stat().st_size:
        return "none"
    if is_plain(database):
        if keys.new is None:
            return "done"
        if keys.old is None:
            return "to do"
        raise KeyProblem(f"The database {database} is not encrypted, so it has no old key.")
    if keys.new is not None and opens_with(database, keys.new):
        return "done"
    if keys.old is not None and opens_with(database, keys.old):
        return "to do"
    tried = " and ".join(key.origin for key in (keys.old, keys.new) if key is not None)
    raise KeyProblem(
        f"The key in {tried} does not open the database {database}: it is another key, or the file is damaged."
    )


def _change_database(database: Path, keys: Keys, progress: Progress) -> int:
    """Replace the database with a compared copy under the new key; returns the number of rows."""
    copy = database.with_name(f".{database.name}.reencrypted")
    _, log, shared = database_files(database)
    finish_wiping(copy)  # of a killed run
    try:
        rows = copy_with_key(database, copy, old=keys.old, new=keys.new, progress=progress)
        sync(copy)
        if log.exists() and log.stat().st_size:
            raise CopyDiffers("the write-ahead log cannot be written back")
        # SQLite would replay an old log into the new file.
        for path in (log, shared):
            path.unlink(missing_ok=True)
        sync_folder(database.parent)
        with wiping(database):
            copy.replace(database)
            sync_folder(database.parent)
    finally:
        finish_wiping(copy)
    return rows


def _change_files(
    paths: Sequence[Path], change: Callable[[Path], bool], report: Callable[[int, int], object]
) -> tuple[list[str], list[str]]:
    """Change the key of files; returns the names of those changed, and of skipped ones with the reason."""
    changed, left = [], []
    for done, path in enumerate(paths):
        report(done, len(paths))
        try:
            with wiping(path):
                if change(path):
                    changed.append(path.name)
        except (*DAMAGED, CopyDiffers, TypeError) as error:
            left.append(f"{path.parent.name}/{path.name}: {error}")
    report(len(paths), len(paths))
    return changed, left


def _reencrypt_archive(path: Path, folder: Path, *, old: DatabaseKey | None, new: DatabaseKey | None) -> bool:
    """Rewrite a backup for the new key, or plain; False if it is already. `folder` is one to work in.

    Raises:
        ValueError: it takes a third key, is damaged, or was made on PostgreSQL; it stays as it is.
    """
    with zipfile.ZipFile(path) as source:
        own = key_that_unseals(source.read(MANIFEST), old, new)
        if (own and own.id) == (new and new.id):
            return False
        manifest = json.loads(unseal(source.read(MANIFEST), own))
        [store] = STORES.intersection(source.namelist())
        if store != DATABASE:
            raise ValueError("made on PostgreSQL, whose dumps are not encrypted here")
        before, after = folder / "before.db", folder / DATABASE
        with before.open("wb") as out:
            out.writelines(blocks_of(source, store))
        if sha256_of(before) != manifest["sha256"][store]:
            raise ValueError("damaged: its database has another hash")
        copy_with_key(before, after, old=own, new=new)
        finish_wiping(before)
        manifest["sha256"][store], manifest["database_bytes"] = sha256_of(after), after.stat().st_size
        small = {
            name: unseal(source.read(name), own)
            for name in source.namelist()
            if name not in (store, MANIFEST)
        }
    with (
        replace_whole(path) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as out,
    ):
        out.writestr(MANIFEST, seal(json.dumps(manifest, indent=1).encode(), new))
        for name, content in small.items():
            out.writestr(name, seal(content, new))
        out.write(after, store)
    return True


def _uploaded_files() -> list[Path]:
    """The files in LOCI_HOME that wait for their import."""
    folder = Path(settings.LOCI.home) / UPLOADS
    return sorted(path for path in folder.glob("[!.]*") if path.is_file())


def _foreign_files() -> tuple[str, ...]:
    """Files among the backups that Loci did not make, or damaged stores; they stay as they are."""
    known = {path.name for path in backup_paths()}
    names = sorted(path.name for path in backups_folder().glob("[!.]*") if path.name not in known)
    return tuple(f"backups/{name}: not a backup that Loci named" for name in names)


def _finish_leftovers(database: Path) -> None:
    """Destroy replaced files left by a killed run."""
    for folder in (database.parent, backups_folder(), Path(settings.LOCI.home) / UPLOADS):
        for path in folder.glob(f".*{REPLACED_SUFFIX}"):
            finish_wiping(path)


def _note_change(actor: Actor, keys: Keys) -> None:
    """Log the change, unless the tables are those of an earlier version."""
    if not pending_migrations():
        audit.append(actor, Operation.BACKUP, subject=f"store:{DATABASE}", payload={"action": keys.word})


@contextmanager
def explain_key_problems() -> Iterator[None]:
    """Turn KeyProblem and CopyDiffers into Unavailable."""
    try:
        yield
    except KeyProblem as problem:
        raise Unavailable(str(problem), hint="Nothing was changed.") from problem
    except (CopyDiffers, DatabaseError) as error:
        raise Unavailable(
            f"The copy is faulty: {error}.", hint="The database stays as it was. Run 'loci doctor'."
        ) from error
