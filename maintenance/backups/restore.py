"""Restoring a backup: shown first, checked before anything is touched, swapped in at once, and undone by another restore.

A process that is killed at any point leaves the old store or the new one, whole.
"""

import os
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, Unavailable
from maintenance.backups import Progress, check_right, say_nothing, write_backup
from maintenance.backups.archive import (
    DATABASE,
    KEYS,
    BackupManifest,
    read_ids,
    read_manifest,
    sync_folder,
    unpack,
)
from maintenance.backups.carry_over import CarriedOver, Withdrawals, carry_over, read_kept
from maintenance.backups.folder import (
    BEFORE_RESTORE,
    backups_folder,
    new_path,
    only_writer,
    rotate,
    work_folder,
)
from maintenance.backups.open_copy import (
    check_database_kind,
    database_path,
    file_faults,
    memories_by_group,
    migrate_copy,
    opened,
    pending_migrations,
    refuse_later_version,
)
from memories.models import Memory

HOLDERS = "Stop Loci (Ctrl-C in its window, or stop its service), and agents that run 'loci mcp --stdio'."


@dataclass(frozen=True)
class GroupDifference:
    """One group: its memories in the backup and now, and how many of now's are not in the backup."""

    group: str
    in_backup: int
    now: int
    lost: int


@dataclass(frozen=True)
class RestorePreview:
    """What a backup holds, and what would be lost by restoring it. `fault` says why it cannot be."""

    path: Path
    size_bytes: int
    manifest: BackupManifest
    groups: tuple[GroupDifference, ...]
    lost: int  # memories that are here and not in the backup
    returned: int  # memories that are in the backup and not here; purged ones are taken out again
    purged_again: int
    migrations: tuple[str, ...]
    present: str = "readable"  # or none, or damaged
    in_use: str = ""


@dataclass(frozen=True)
class RestoreResult:
    """What was restored, what was carried over into it, and where the store of before is."""

    path: Path
    manifest: BackupManifest
    before: Path | None
    migrated: tuple[str, ...] = ()
    carried: CarriedOver = field(default_factory=CarriedOver)
    warning: str = ""


def find_backup(named: str) -> Path:
    """Give the file that a person names: a path, or the name of one in LOCI_HOME/backups."""
    path = Path(named).expanduser()
    managed = backups_folder() / path.name
    if not path.exists() and path.name == named and managed.exists():
        return managed
    return path.absolute()


def preview_restore(actor: Actor, archive: Path) -> RestorePreview:
    """Say what a backup holds and what restoring it would change; changes nothing.

    Raises:
        NotPermitted: the actor may not administer everything.
        InvalidInput: the file is no backup of ours, damaged, or of a later version.
    """
    manifest = _looked_at(actor, archive)
    with only_writer(), work_folder() as folder:
        unpack(archive, folder)
        with opened(folder / DATABASE):
            _refuse_unsound(archive)
            migrations = tuple(pending_migrations())
    ids = read_ids(archive)
    present = _state_of_present()
    kept, here, newer = Withdrawals(), dict[str, int](), dict[str, int]()
    seen = 0
    if present == "readable":
        kept, here = read_kept(), memories_by_group()
        rows = Memory.objects.order_by().values_list("id", "group__slug")
        for id_, slug in rows.iterator(chunk_size=5000):
            seen += id_ in ids
            if id_ not in ids:
                newer[slug] = newer.get(slug, 0) + 1
    groups = tuple(
        GroupDifference(slug, manifest.groups.get(slug, 0), here.get(slug, 0), newer.get(slug, 0))
        for slug in sorted({*manifest.groups, *here})
    )
    return RestorePreview(
        path=archive,
        size_bytes=archive.stat().st_size,
        manifest=manifest,
        groups=groups,
        lost=sum(newer.values()),
        returned=len(ids) - seen,
        purged_again=len(ids & kept.purged),
        migrations=migrations,
        present=present,
        in_use=_who_is_in_the_way(),
    )


def restore_backup(actor: Actor, archive: Path, *, progress: Progress | None = None) -> RestoreResult:
    """Put a backup in the place of the store.

    1. check the manifest, every hash, the file's integrity; bring older tables up to date; all on a copy
    2. be alone with the store; keep it as a backup of its own
    3. carry over into the copy what may not come back: tombstones, purges, revoked tokens
    4. rename the copy over the store

    Raises:
        NotPermitted: the actor may not administer everything.
        InvalidInput: the file is no backup of ours, damaged, or of a later version; nothing was changed.
        Conflict: another process has the store open; nothing was changed.
    """
    say = progress or say_nothing
    manifest = _looked_at(actor, archive)
    with only_writer(), work_folder() as folder:
        say("checking", 0, 4)
        unpack(archive, folder)
        copy = folder / DATABASE
        with opened(copy):
            _refuse_unsound(archive)
            migrated = migrate_copy()
        with ExitStack() as stack:
            try:
                stack.enter_context(_alone())
            except DatabaseError as other:
                raise Conflict(f"Nothing was restored: {other}.", hint=HOLDERS) from other
            restored = _exchange(actor, archive, copy, say)
        rotate(BEFORE_RESTORE, keep=settings.LOCI.maintenance.backups_kept)
    say("done", 4, 4)
    return RestoreResult(
        archive,
        manifest,
        before=restored.before,
        migrated=tuple(migrated),
        carried=restored.carried,
        warning=restored.warning,
    )


@dataclass(frozen=True)
class _Exchanged:
    before: Path | None
    carried: CarriedOver
    warning: str = ""


def _exchange(actor: Actor, archive: Path, copy: Path, say: Progress) -> _Exchanged:
    """Keep the present store, carry over, swap; the caller is alone with it."""
    present, warning = _state_of_present(), ""
    before: Path | None = None
    kept = Withdrawals()
    say("keeping the present store", 1, 4)
    if present == "readable":
        kept = read_kept()
        before = write_backup(new_path(BEFORE_RESTORE, timezone.now()), say_nothing).path
    elif present == "damaged":
        before = _set_aside()
        warning = "the present store cannot be read: what was withdrawn since the backup was made may be back"
    say("carrying over what was withdrawn since", 2, 4)
    with opened(copy):
        carried = carry_over(actor, kept)
        _log(actor, archive, carried)
        if faults := file_faults(is_quick=True):  # it was checked in full before
            raise Unavailable(
                f"The restored copy is not sound: {'; '.join(faults)}.", hint="Nothing was changed."
            )
    say("swapping", 3, 4)
    _keep_keys(sorted((copy.parent / KEYS).iterdir()))
    _swap(copy, has_log_of_pages=present == "readable")
    return _Exchanged(before, carried, warning)


def _looked_at(actor: Actor, archive: Path) -> BackupManifest:
    check_right(actor)
    check_database_kind()
    manifest = read_manifest(archive)
    refuse_later_version(archive, manifest)
    return manifest


def _refuse_unsound(archive: Path) -> None:
    if faults := file_faults():
        raise InvalidInput(
            f"{archive.name} holds a damaged database: {'; '.join(faults)}.",
            hint="Nothing was changed. Take another backup: 'loci backup --list'.",
            field="file",
        )


def _state_of_present() -> str:
    """Say how the store in place is: none, readable or damaged.

    Raises Conflict where its tables are not up to date: what it knows of withdrawn texts could not be read.
    """
    path = database_path()
    if not path.exists() or path.stat().st_size == 0:
        return "none"
    try:
        if file_faults(is_quick=True):
            return "damaged"
        pending = pending_migrations()
    except DatabaseError:
        return "damaged"
    if pending:
        raise Conflict(
            f"The present store lacks {len(pending)} migrations.",
            hint="Run 'loci migrate' first, then restore.",
        )
    return "readable"


def _alone() -> AbstractContextManager[None]:
    engine: Any = connection  # our own, which has this; SQLite was checked for
    alone: AbstractContextManager[None] = engine.exclusive_access()
    return alone


def _who_is_in_the_way() -> str:
    if not database_path().exists():
        return ""
    try:
        with _alone():
            return ""
    except DatabaseError as other:
        return f"{other}. {HOLDERS}"


def _log(actor: Actor, archive: Path, carried: CarriedOver) -> None:
    """Say in the restored store's own log that it was restored."""
    audit.append(
        actor,
        Operation.BACKUP,
        subject=f"backup:{archive.name}",
        payload={
            "action": "restore",
            "tombstones": carried.tombstones,
            "retracted": carried.retracted,
            "purged": carried.purged,
        },
    )


def _keep_keys(keys: Sequence[Path]) -> None:
    """Add the backup's tombstone keys to those here; none is ever replaced."""
    folder = Path(settings.LOCI.home) / "keys"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for key in keys:
        target = folder / key.name
        if target.exists() and target.read_bytes() != key.read_bytes():
            target = folder / f"tombstone-{key.stem.removeprefix('tombstone-')}-{os.urandom(2).hex()}.key"
        if not target.exists():
            draft = target.with_name(f".{target.name}.part")
            shutil.copyfile(key, draft)
            draft.chmod(0o600)
            draft.replace(target)
    sync_folder(folder)


def _set_aside() -> Path:
    """Copy a store that cannot be read as it is: somebody may still save something of it."""
    folder = backups_folder() / f"damaged-{timezone.now():%Y%m%dT%H%M%S}Z"
    folder.mkdir(mode=0o700)
    for path in _files(database_path()):
        if path.exists():
            shutil.copy2(path, folder / path.name)
    return folder


def _swap(copy: Path, *, has_log_of_pages: bool) -> None:
    """Rename the copy over the store. No log of pages of the old one may be left: SQLite would read it into the new."""
    database, log, shared = _files(database_path())
    ready = database.with_name(f".{database.name}.restored")
    ready.unlink(missing_ok=True)
    shutil.move(copy, ready)  # a rename, unless the database is kept on another disk than the backups
    handle = os.open(ready, os.O_RDWR)
    os.fsync(handle)
    os.close(handle)
    if has_log_of_pages:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        if log.exists() and log.stat().st_size:
            raise Unavailable("The store's log of pages cannot be written back.", hint="Nothing was changed.")
    connection.close()
    for path in (log, shared):
        with suppress(FileNotFoundError):
            path.unlink()
    sync_folder(database.parent)
    ready.replace(database)
    sync_folder(database.parent)


def _files(database: Path) -> tuple[Path, Path, Path]:
    return database, database.with_name(f"{database.name}-wal"), database.with_name(f"{database.name}-shm")
