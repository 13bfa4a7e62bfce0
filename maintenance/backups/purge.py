"""Purges in backups: each managed backup that holds a purged memory is unpacked, purged and rewritten.

A purge rewrites a small folder itself and leaves a large one to a job, as its certificate then says.
"""

import logging
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID
from zipfile import BadZipFile

from django.db import DatabaseError
from django.utils import timezone
from django.utils.translation import gettext

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import InvalidInput, LociError
from access.models import AuditEntry
from maintenance.backups import require_admin
from maintenance.backups.archive import (
    KEYS,
    ArchiveContents,
    read_ids,
    read_manifest,
    unpack,
    write_archive,
)
from maintenance.backups.copies import copies
from maintenance.backups.folder import backup_lock, backup_paths, backups_folder, managed_backups, work_folder
from maintenance.backups.open_copy import (
    check_version,
    describe_store,
    memory_ids,
    migrate_copy,
)
from maintenance.jobs import job_actor
from memories.lifecycle.purge import purge_from_copy
from memories.models import Tombstone, TombstoneKind
from memories.store.places import ClearedCopies, OutsideCopies, PurgedTexts

log = logging.getLogger(__name__)
JOB = "purge_backups"
MARK = (
    ".purges-owed"  # the start of the names of files, one for each purge that has not reached the backups yet
)
# Unpacking, purging and packing take about a second per 40 MB; beyond this size the job does it.
AT_ONCE_BYTES = 256 * 1024**2
WAIT_S = 10.0  # for another backup in progress
REASON = "purged from the store"
_JOB_REWRITES = "the worker rewrites them within ten minutes, 'loci backup --purge' at once"


@dataclass(frozen=True)
class BackupsPurged:
    """Number of backups examined, and the names of the rewritten and the unreadable ones."""

    checked: int
    rewritten: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class ManagedBackups(OutsideCopies):
    """The backups in LOCI_HOME/backups as copies of the store that a purge has to reach."""

    name = "backups"
    files = ("backups",)

    def note(self) -> str:
        """Mark the backups for the purge job, so that they are purged even if this process dies; the mark's name."""
        if not backup_paths():
            return ""
        mark = f"{MARK}-{secrets.token_hex(8)}"
        (backups_folder() / mark).touch(mode=0o600)
        return mark

    def find(self, doomed: PurgedTexts) -> tuple[str, ...]:
        """How many backups list one of the memories: their lists are read, not their databases."""
        holding = sum(1 for path in backup_paths() if _lists_any(path, frozenset(doomed.ids)))
        return (f"{holding} managed backups still hold it: {_JOB_REWRITES}",) if holding else ()

    def clear(self, doomed: PurgedTexts, *, note: str) -> ClearedCopies:
        """Rewrite the backups that hold one of the memories or texts, or leave it to the job."""
        paths = backup_paths()
        if not paths:
            return ClearedCopies((gettext("no managed backups"),))
        try:
            unpacked = (backup.manifest.database_bytes for backup in managed_backups() if backup.manifest)
            if sum(unpacked) > AT_ONCE_BYTES:
                # The job rewrites a large folder; find() names the backups that hold one of the memories.
                if any(frozenset(doomed.ids) & read_ids(path) for path in backup_paths()):
                    return ClearedCopies()
                return ClearedCopies(
                    (f"{len(backup_paths())} managed backups: none has it among its memories",)
                )
            with backup_lock(wait_s=WAIT_S):
                done = _rewrite_backups(job_actor(JOB), frozenset(doomed.ids), doomed.texts)
        except (LociError, DatabaseError, OSError) as error:
            log.warning("backups could not be purged: %s", error)
            return ClearedCopies(remains=(f"managed backups may still hold it ({error}); {_JOB_REWRITES}",))
        line = gettext("{count} managed backups: {rewritten} held it and were rewritten")
        checked = (line.format(count=done.checked, rewritten=len(done.rewritten)),)
        if done.unreadable:
            names = ", ".join(done.unreadable)
            return ClearedCopies(
                checked,
                (
                    gettext("the backups {names} cannot be read and may hold it: delete them").format(
                        names=names
                    ),
                ),
            )
        _clear_marks(note.split())
        return ClearedCopies(checked)


def purge_backups(actor: Actor) -> BackupsPurged:
    """Remove everything that was ever purged from the backups in LOCI_HOME/backups.

    Backups whose id list names no purged memory are not unpacked.

    Raises:
        NotPermitted: the actor does not administer all groups.
        Conflict: another backup is in progress and does not end.
    """
    require_admin(actor)
    copies().check()
    marks = _owed_marks()
    with backup_lock():
        done = _rewrite_backups(actor, purged_ids(), ())
    _clear_marks(marks)
    if done.rewritten:
        payload = {"action": "purge", "rewritten": list(done.rewritten)}
        audit.append(actor, Operation.BACKUP, subject="backups", payload=payload)
    return done


def is_purge_owed() -> bool:
    """True if a purge has not reached the backups yet; looks for one of the marks."""
    return bool(_owed_marks())


def purged_ids() -> frozenset[UUID]:
    """Ids of all memories that were ever purged here."""
    logged = AuditEntry.objects.filter(operation=Operation.PURGE).values_list("memory_id", flat=True)
    marked = Tombstone.objects.filter(kind=TombstoneKind.PURGED).values_list("memory_id", flat=True)
    return frozenset(id_ for id_ in (*logged, *marked) if id_ is not None)


def _rewrite_backups(actor: Actor, ids: frozenset[UUID], texts: tuple[str, ...]) -> BackupsPurged:
    """Purge the memories and texts from every managed backup; the caller holds the backup lock."""
    rewritten, unreadable = [], []
    paths = backup_paths()
    for path in paths:
        try:
            if _rewrite_backup(actor, path, ids, texts):
                rewritten.append(path.name)
        except InvalidInput as error:
            log.warning("the backup %s could not be purged: %s", path.name, error)
            unreadable.append(path.name)
    return BackupsPurged(len(paths), tuple(rewritten), tuple(unreadable))


def _rewrite_backup(actor: Actor, path: Path, ids: frozenset[UUID], texts: tuple[str, ...]) -> bool:
    """Purge one backup; True if it held one of the memories or texts and was rewritten."""
    manifest = read_manifest(path)
    held = ids & read_ids(path)
    if not held and not texts:
        return False
    check_version(path, manifest)
    with work_folder() as folder:
        unpack(path, folder)
        copy = folder / copies().part
        with copies().use(copy):
            migrate_copy()
            if not purge_from_copy(actor, sorted(held), texts, reason=REASON):
                return False
            if faults := copies().faults(is_quick=False):
                raise DatabaseError(f"{path.name} is faulty: {'; '.join(faults)}")
            found, kept = describe_store(), memory_ids()
        copies().save(copy)
        now = replace(
            found,
            made_at=manifest.made_at,
            loci_version=manifest.loci_version,
            database_bytes=copy.stat().st_size,
            purged_at=timezone.now(),
        )
        write_archive(path, now, ArchiveContents(copy, kept, sorted((folder / KEYS).iterdir())))
    return True


def _lists_any(path: Path, ids: frozenset[UUID]) -> bool:
    """True if a backup lists one of the memories; clear() names those that cannot be read."""
    try:
        return bool(ids & read_ids(path))
    except (OSError, LociError, BadZipFile, KeyError, ValueError):
        return False


def _owed_marks() -> list[str]:
    return [path.name for path in backups_folder().glob(f"{MARK}*") if path.suffix != ".part"]


def _clear_marks(marks: Iterable[str]) -> None:
    """Delete these marks; those that other purges have set stay."""
    for mark in marks:
        (backups_folder() / mark).unlink(missing_ok=True)
