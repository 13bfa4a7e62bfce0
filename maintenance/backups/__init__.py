"""Backups: a complete, verified copy of the store in one file, made while the store is in use."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from access import audit
from access.actor import Actor, require_admin_of_all
from access.audit.operations import Operation
from access.audit.retention import link_heads
from access.errors import InvalidInput, Unavailable
from access.groups.fingerprints import fingerprint_key
from maintenance.backups.archive import ArchiveContents, BackupManifest, write_archive
from maintenance.backups.copies import copies
from maintenance.backups.folder import (
    BEFORE_UPGRADE,
    PLAIN,
    Backup,
    backup_lock,
    managed_backups,
    new_path,
    rotate,
    work_folder,
)
from maintenance.backups.open_copy import (
    applied_migrations,
    describe_store,
    key_files,
    memory_ids,
    table_counts,
)
from maintenance.squashed_migrations import pending_migrations
from memories.store.withdrawn.tombstones import key_missing_text, missing_keys
from storage.progress import Progress, ignore_progress
from storage.whole_file import DRAFT_SUFFIX


@dataclass(frozen=True)
class _BackupResult:
    """A backup that was made and verified, and the names of older ones deleted in exchange."""

    path: Path
    size_bytes: int
    manifest: BackupManifest
    rotated: tuple[str, ...] = ()
    warning: str = ""


def make_backup(
    actor: Actor, *, to: Path | None = None, progress: Progress = ignore_progress
) -> _BackupResult:
    """Back up the store into LOCI_HOME/backups, or into the file `to`, which Loci never touches again.

    1. copy the database from one snapshot: SQLite's online backup, or pg_dump
    2. verify the copy: integrity, row counts, end of the audit log, tombstone keys
    3. compress it with the keys and a manifest, sync and rename; delete the oldest beyond maintenance.backups_kept

    Raises:
        NotPermitted: the actor does not administer all groups.
        Unavailable: a tool of the database is missing, or the copy is faulty; no file was written.
        Conflict: another backup is being made.
        InvalidInput: `to` exists, is a folder, or its folder does not exist.
    """
    require_admin(actor)
    copies().check()
    if to is not None:
        check_target(to)
    with backup_lock():
        link_heads(actor)  # the end of the chain of heads then stands for the whole log
        target = to or new_path(PLAIN, timezone.now())
        made = write_backup(target, progress)
        rotated = [] if to else rotate(PLAIN, keep=settings.LOCI.maintenance.backups_kept)
    audit.append(
        actor,
        Operation.BACKUP,
        subject=f"backup:{target.name}",
        payload={"action": "create", "bytes": made.size_bytes, "rotated": rotated},
    )
    return replace(made, rotated=tuple(rotated))


def back_up_before_upgrade() -> Path | None:
    """Back up a store that lacks migrations, as it is; None if there is no store yet, or none is lacking.

    The log has no row about it: the tables may lack what a row needs.

    Raises:
        Unavailable, Conflict: as make_backup().
    """
    if not applied_migrations().get("memories") or not pending_migrations():
        return None
    copies().check()
    with backup_lock():
        made = write_backup(new_path(BEFORE_UPGRADE, timezone.now()), ignore_progress)
        rotate(BEFORE_UPGRADE, keep=settings.LOCI.maintenance.backups_kept)
    return made.path


def list_backups(actor: Actor) -> list[Backup]:
    """The backups in LOCI_HOME/backups, newest first; a damaged one has its `fault` set."""
    require_admin(actor)
    return managed_backups()


def backup_job(actor: Actor) -> str:
    """Make the scheduled backup and return its file name, as the job reports it."""
    return make_backup(actor).path.name


def require_admin(actor: Actor) -> None:
    """Raise NotPermitted unless the actor administers all groups."""
    require_admin_of_all(actor, "back up and restore", hint="Run the command on the server.")


def check_target(to: Path) -> None:
    """Raise InvalidInput unless `to` is a new file in an existing folder."""
    if to.is_dir() or not to.parent.is_dir():
        raise InvalidInput(
            f"{to} is a folder, or its folder does not exist.",
            hint="Name a new file in an existing folder.",
            field="to",
        )
    if to.exists():
        raise InvalidInput(f"{to} already exists.", hint="Name another file, or delete this one.", field="to")


def write_backup(target: Path, progress: Progress) -> _BackupResult:
    """Copy, verify and pack the store; the caller holds the backup lock."""
    with work_folder() as folder:
        copy = folder / copies().part
        with copies().snapshot() as store:
            manifest = describe_store()
            store.copy_to(copy, progress=partial(progress, "copying"))
        progress("verifying", 0, 1)
        ids, warning = _verify_copy(copy, manifest)
        progress("compressing", 0, 1)
        for draft in target.parent.glob(f".{target.name}.*{DRAFT_SUFFIX}"):  # of killed writers
            draft.unlink()
        manifest = replace(manifest, database_bytes=copy.stat().st_size)
        fingerprint_key(
            Path(settings.LOCI.home)
        )  # every backup has it, also of a store that masked nothing yet
        manifest = write_archive(target, manifest, ArchiveContents(copy, ids, key_files()))
        progress("done", 1, 1)
    return _BackupResult(target, target.stat().st_size, manifest, warning=warning)


def _verify_copy(copy: Path, manifest: BackupManifest) -> tuple[frozenset[UUID], str]:
    """Compare an opened copy with the manifest of the store; return its memory ids and a warning about missing keys.

    Raises Unavailable if they differ or the copy is damaged.
    """
    with copies().use(copy):
        faults = copies().faults(is_quick=False)
        counts = table_counts()
        faults += [
            f"{table} has {counts.get(table)} rows instead of {count}"
            for table, count in manifest.counts.items()
            if counts.get(table) != count
        ]
        found = describe_store()
        if (found.audit_seq, found.audit_hash) != (manifest.audit_seq, manifest.audit_hash):
            faults.append("the audit log ends at another row")
        ids, warning = memory_ids(), key_missing_text(missing_keys())
    if faults:
        raise Unavailable(
            f"The copy is faulty, so no backup was written: {'; '.join(faults)}.",
            hint="Run 'loci doctor'.",
        )
    return ids, warning
