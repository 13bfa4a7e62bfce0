"""Restore a backup: previewed and checked first, swapped in at once, and undone by restoring the previous store.

A process killed at any point leaves either the old store or the new one, complete.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, Unavailable
from maintenance.backups import require_admin, write_backup
from maintenance.backups.archive import (
    BackupManifest,
    read_ids,
    read_manifest,
    unpack,
    unusable,
)
from maintenance.backups.carry_over import CarriedOver, Withdrawals, carry_over, read_withdrawals
from maintenance.backups.copies import copies
from maintenance.backups.folder import (
    BEFORE_RESTORE,
    backup_lock,
    backups_folder,
    new_path,
    rotate,
    work_folder,
)
from maintenance.backups.open_copy import (
    applied_migrations,
    check_version,
    key_files,
    log_ends,
    memories_by_group,
    migrate_copy,
)
from maintenance.backups.purge import purged_ids
from maintenance.squashed_migrations import pending_migrations
from memories.models import Memory
from storage.encryption import KeyProblem
from storage.faults import causes_of, find_storage_fault
from storage.home import GUARD_KEY
from storage.progress import Progress, ignore_progress
from storage.whole_file import replace_whole

_GUARD_KEY_TEXT = re.compile(rb"[0-9a-f]{64}\n?")
STOP_OTHERS = "Stop Loci (Ctrl-C in its window, or its service), and any agent that runs 'loci mcp --stdio'."


@dataclass(frozen=True)
class GroupDifference:
    """One group: its memories in the backup and now, and how many of the present ones are not in the backup."""

    group: str
    in_backup: int
    now: int
    lost: int


@dataclass(frozen=True)
class RestorePreview:
    """What a backup holds, and what restoring it would change or lose."""

    path: Path
    size_bytes: int
    manifest: BackupManifest
    groups: tuple[GroupDifference, ...]
    lost: int  # memories of the present store that are not in the backup
    returned: int  # memories of the backup that are not in the present store; purged ones are purged again
    purged_again: int
    migrations: tuple[str, ...]
    present: str = "readable"  # the present store: "readable", "none" or "damaged"
    in_use: str = ""  # which processes have the store open, and what to do


@dataclass(frozen=True)
class RestoreResult:
    """What was restored and carried over, and the backup or folder that keeps the previous store."""

    path: Path
    manifest: BackupManifest
    migrated: tuple[str, ...]
    before: Path | None = None
    carried: CarriedOver = field(default_factory=CarriedOver)
    warning: str = ""


def find_backup(name: str) -> Path:
    """Path of a backup, given as a path or as the name of a file in LOCI_HOME/backups."""
    path = Path(name).expanduser()
    managed = backups_folder() / path.name
    if not path.exists() and path.name == name and managed.exists():
        return managed
    return path.absolute()


def preview_restore(actor: Actor, archive: Path) -> RestorePreview:
    """What a backup holds and what restoring it would change; read-only.

    Raises:
        NotPermitted: the actor does not administer all groups.
        InvalidInput: the file is not a Loci backup, is damaged, or comes from a later version.
    """
    manifest = _check_archive(actor, archive)
    with backup_lock(), work_folder() as folder:
        unpack(archive, folder)
        with _explain_database_errors(archive), copies().use(folder / copies().part):
            check_database(archive, manifest)
            migrations = tuple(pending_migrations())
    ids = read_ids(archive)
    present = _present_state()
    purged, now, lost, seen = frozenset[UUID](), dict[str, int](), Counter[str](), 0
    if present == "readable":
        purged, now = purged_ids(), memories_by_group()
        rows = Memory.objects.order_by().values_list("id", "group__slug")
        for id_, slug in rows.iterator(chunk_size=5000):
            seen += id_ in ids
            lost[slug] += id_ not in ids
    groups = tuple(
        GroupDifference(slug, manifest.groups.get(slug, 0), now.get(slug, 0), lost[slug])
        for slug in sorted({*manifest.groups, *now})
    )
    return RestorePreview(
        path=archive,
        size_bytes=archive.stat().st_size,
        manifest=manifest,
        groups=groups,
        lost=lost.total(),
        returned=len(ids) - seen,
        purged_again=len(ids & purged),
        migrations=migrations,
        present=present,
        in_use=_store_users(),
    )


def restore_backup(actor: Actor, archive: Path, *, progress: Progress = ignore_progress) -> RestoreResult:
    """Replace the store by a backup.

    1. check the manifest, every hash and the database, and migrate it; all on a copy
    2. take exclusive access to the store; back it up
    3. carry tombstones, purges and stricter rights over into the copy
    4. rename the copy over the store

    Raises:
        NotPermitted: the actor does not administer all groups.
        InvalidInput: the file is not a Loci backup, is damaged, or comes from a later version; nothing was changed.
        Conflict: another process has the store open; nothing was changed.
    """
    manifest = _check_archive(actor, archive)
    with backup_lock(), work_folder() as folder:
        progress("checking", 0, 4)
        unpack(archive, folder)
        copy = folder / copies().part
        with _explain_database_errors(archive), copies().use(copy):
            check_database(archive, manifest)
            migrated = migrate_copy()
            if memories_by_group() != manifest.groups:
                raise _not_as_described(archive, "other memories")
        with ExitStack() as stack:
            try:
                stack.enter_context(copies().exclusive_access())
            except DatabaseError as error:
                raise Conflict(f"Nothing was restored: {error}.", hint=STOP_OTHERS) from error
            done = _exchange_store(actor, RestoreResult(archive, manifest, tuple(migrated)), copy, progress)
        rotate(BEFORE_RESTORE, keep=settings.LOCI.maintenance.backups_kept)
    progress("done", 4, 4)
    return done


def _exchange_store(actor: Actor, done: RestoreResult, copy: Path, report: Progress) -> RestoreResult:
    """Keep the present store, carry withdrawals over, swap; the caller has exclusive access."""
    present, archive, warning = _present_state(), done.path, ""
    before: Path | None = None
    withdrawals, replaced = Withdrawals(), dict[str, list[int | str]]()
    report("keeping the present store", 1, 4)
    if present == "readable":
        withdrawals = read_withdrawals()
        replaced = log_ends()
        before = write_backup(new_path(BEFORE_RESTORE, timezone.now()), ignore_progress).path
    elif present == "damaged":
        before = copies().set_damaged_aside()
        warning = (
            "the present store cannot be read, so texts withdrawn and rights taken away since the backup may have"
            " returned"
        )
    report("carrying over what was withdrawn since", 2, 4)
    with _explain_database_errors(archive), copies().use(copy):
        carried = carry_over(actor, withdrawals)
        audit.append(
            actor,
            Operation.BACKUP,
            subject=f"backup:{archive.name}",
            payload={
                "action": "restore",
                "tombstones": carried.tombstones,
                "retracted": carried.retracted,
                "purged": carried.purged,
                "moved": carried.moved,
                "stricter": dict(carried.stricter),
                "replaced": replaced,  # the ends of the log's chains that the backup does not have
            },
        )
        if faults := copies().faults(is_quick=True):  # it was checked in full before
            raise Unavailable(
                f"The restored copy is faulty: {'; '.join(faults)}.", hint="Nothing was changed."
            )
    keys = {path.name: path.read_bytes() for path in key_files(copy.parent)}
    guard = keys.pop(GUARD_KEY, None)
    if guard is not None and not _GUARD_KEY_TEXT.fullmatch(guard):
        raise unusable(f"{GUARD_KEY} in {archive.name} is not a key of 64 hexadecimal digits.")
    report("swapping", 3, 4)
    add_keys(keys)
    copies().swap(copy, is_readable=present == "readable")
    # Killed in between, the restore has to be repeated for the guard to recognise the secrets that are masked in it.
    if guard is not None:
        write_key(GUARD_KEY, guard)
    return replace(done, before=before, carried=carried, warning=warning)


def _check_archive(actor: Actor, archive: Path) -> BackupManifest:
    """The manifest of a backup that the actor may restore here."""
    require_admin(actor)
    copies().check()
    manifest = read_manifest(archive)
    if copies().part not in manifest.sha256:
        raise unusable(f"{archive.name} was made on another database than this store's.")
    check_version(archive, manifest)
    return manifest


def check_database(archive: Path, manifest: BackupManifest) -> None:
    """Raise InvalidInput if the opened database of this backup is damaged, or not the one that its manifest describes."""
    if faults := copies().faults(is_quick=False):
        raise unusable(f"The database in {archive.name} is damaged: {'; '.join(faults)}.")
    if applied_migrations() != manifest.migrations:
        raise _not_as_described(archive, "other migrations")
    if foreign := copies().foreign_code():
        raise unusable(
            f"The database in {archive.name} has triggers or views that are not Loci's: {', '.join(foreign[:3])}."
        )


def _not_as_described(archive: Path, what: str) -> InvalidInput:
    return unusable(f"The database in {archive.name} has {what} than its manifest says.")


@contextmanager
def _explain_database_errors(archive: Path) -> Iterator[None]:
    """Turn every error about the database of this backup into InvalidInput; the disk's own faults pass."""
    try:
        yield
    except DatabaseError as error:
        if find_storage_fault(error) is not None:
            raise
        raise unusable(f"The database in {archive.name} cannot be used: {error}.") from error


def _present_state() -> str:
    """State of the present store: "none", "readable" or "damaged".

    Raises Conflict if it lacks migrations: its withdrawals could not be read.
    """
    if not copies().is_there():
        return "none"
    try:
        if copies().faults(is_quick=True):
            return "damaged"
        pending = pending_migrations()
    except DatabaseError as error:
        for cause in causes_of(error):
            if isinstance(cause, KeyProblem):
                raise Conflict(
                    str(cause), hint="Nothing was changed. Set the right key, or move the database away."
                ) from error
        return "damaged"
    if pending:
        raise Conflict(
            f"The present store lacks {len(pending)} migrations.",
            hint="Run 'loci migrate' first, then restore.",
        )
    return "readable"


def _store_users() -> str:
    """Which processes have the store open, and how to stop them; empty if none has."""
    if not copies().is_there():
        return ""
    try:
        with copies().exclusive_access():
            return ""
    except DatabaseError as error:
        return f"{error}. {STOP_OTHERS}"


def add_keys(keys: Mapping[str, bytes]) -> None:
    """Add the backup's tombstone keys to those in LOCI_HOME; a different key of the same name gets another name."""
    folder = Path(settings.LOCI.home) / "keys"
    for name, key in keys.items():
        target = folder / name
        if target.exists() and target.read_bytes() != key:
            target = folder / f"{target.stem}-{os.urandom(2).hex()}.key"
        if not target.exists():
            write_key(target.name, key)


def write_key(name: str, key: bytes) -> None:
    """Write a whole key file into LOCI_HOME with mode 0600, instead of one of the same name."""
    folder = Path(settings.LOCI.home) / "keys"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replace_whole(folder / name) as file:
        file.write(key)
