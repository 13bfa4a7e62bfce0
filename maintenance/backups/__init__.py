"""Backups: a whole, verified copy of the store in one file, made while everybody works on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from access import audit
from access.actor import ADMIN, Actor
from access.audit.operations import Operation
from access.errors import InvalidInput, NotPermitted, Unavailable
from maintenance.backups.archive import DATABASE, BackupManifest, Contents, drafts_of, write_archive
from maintenance.backups.folder import (
    PLAIN,
    Backup,
    managed_backups,
    new_path,
    only_writer,
    rotate,
    work_folder,
)
from maintenance.backups.open_copy import (
    check_database_kind,
    describe,
    file_faults,
    key_files,
    memory_ids,
    opened,
    snapshot_of_store,
    table_counts,
)
from memories.store.tombstones import key_missing_text, missing_keys

Progress = Callable[[str, int, int], None]  # what is being done, how much is done, of how much


@dataclass(frozen=True)
class BackupResult:
    """A backup that was made and verified, and the older ones that went for it."""

    path: Path
    size_bytes: int
    manifest: BackupManifest
    rotated: tuple[str, ...] = ()
    warning: str = ""


def make_backup(
    actor: Actor, *, to: Path | None = None, label: str = PLAIN, progress: Progress | None = None
) -> BackupResult:
    """Back the store up into LOCI_HOME/backups, or into the file `to`, which Loci then never touches again.

    1. copy the file with SQLite's online backup, within one snapshot
    2. open the copy: integrity, row counts, the audit chain's head, the tombstone keys
    3. compress it with the keys and a manifest; sync, rename; then the oldest beyond maintenance.backups_kept go

    Raises:
        NotPermitted: the actor may not administer everything.
        Unavailable: the store is not on SQLite, or the copy is not sound; no file was written.
        Conflict: another backup is being made.
        InvalidInput: `to` names a folder, or one that is not there.
    """
    check_right(actor)
    check_database_kind()
    _check_target(to)
    with only_writer():
        target = to or new_path(label, timezone.now())
        made = write_backup(target, progress or say_nothing)
        rotated = [] if to else rotate(label, keep=settings.LOCI.maintenance.backups_kept)
    audit.append(
        actor,
        Operation.BACKUP,
        subject=f"backup:{target.name}",
        payload={"action": "create", "bytes": made.size_bytes, "rotated": rotated},
    )
    return replace(made, rotated=tuple(rotated))


def list_backups(actor: Actor) -> list[Backup]:
    """List the backups in LOCI_HOME/backups, newest first; a damaged one with its fault."""
    check_right(actor)
    return managed_backups()


def backup_job(actor: Actor) -> str:
    """Make the backup that the schedule asks for; say which, or why there is none."""
    if connection.vendor != "sqlite":
        return f"none: {connection.vendor} has tools of its own"
    return make_backup(actor).path.name


def check_right(actor: Actor) -> None:
    """Raise NotPermitted where the actor may not back up and restore."""
    if not (actor.all_groups and actor.may(ADMIN)):
        raise NotPermitted(
            "Only an admin of everything may back up and restore.", hint="Use the command on the machine."
        )


def _check_target(to: Path | None) -> None:
    if to is None:
        return
    if to.is_dir() or not to.parent.is_dir():
        raise InvalidInput(
            f"{to} is no place for a file.", hint="Name a file in a folder that is there.", field="to"
        )
    if to.exists():
        raise InvalidInput(
            f"{to} is there already.", hint="Name another file, or delete that one.", field="to"
        )


def write_backup(target: Path, progress: Progress) -> BackupResult:
    """Copy, verify and pack the store; the caller is the only one that writes backups."""
    with work_folder() as folder:
        copy = folder / DATABASE
        with snapshot_of_store() as store:
            manifest = describe()
            store.copy_to(copy, progress=partial(progress, "copying"))
        progress("verifying", 0, 1)
        ids, warning = verify_copy(copy, manifest)
        progress("compressing", 0, 1)
        for draft in drafts_of(target):
            draft.unlink()
        manifest = replace(manifest, database_bytes=copy.stat().st_size)
        manifest = write_archive(target, manifest, Contents(copy, ids, key_files()))
        progress("done", 1, 1)
    return BackupResult(target, target.stat().st_size, manifest, warning=warning)


def verify_copy(copy: Path, manifest: BackupManifest) -> tuple[frozenset[UUID], str]:
    """Open a copy and compare it with what was read of the store; give its memories' ids and what to warn of.

    Raises Unavailable where it is not the same.
    """
    with opened(copy):
        faults = file_faults()
        counts = table_counts()
        faults += [
            f"{table} has {counts.get(table)} rows instead of {count}"
            for table, count in manifest.counts.items()
            if counts.get(table) != count
        ]
        found = describe()
        if (found.audit_seq, found.audit_hash) != (manifest.audit_seq, manifest.audit_hash):
            faults.append("the audit log ends elsewhere")
        ids, warning = memory_ids(), key_missing_text(missing_keys())
    if faults:
        raise Unavailable(
            f"The copy is not sound, so no backup was written: {'; '.join(faults)}.",
            hint="Run 'loci doctor'.",
        )
    return ids, warning


def say_nothing(_what: str, _done: int, _of: int) -> None:
    """Nobody looks."""
