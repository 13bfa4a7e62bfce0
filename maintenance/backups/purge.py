"""Purges reach the backups that Loci keeps: each that holds a purged memory is unpacked, purged and written anew.

A small folder is done within the purge itself; a large one by a job, and the certificate says so until then.
"""

import logging
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from django.db import DatabaseError
from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import InvalidInput, LociError
from access.models import AuditEntry
from maintenance.backups import check_right
from maintenance.backups.archive import (
    DATABASE,
    KEYS,
    Contents,
    read_ids,
    read_manifest,
    unpack,
    write_archive,
)
from maintenance.backups.folder import backup_paths, backups_folder, managed_backups, only_writer, work_folder
from maintenance.backups.open_copy import (
    check_database_kind,
    describe,
    file_faults,
    memory_ids,
    migrate_copy,
    opened,
    refuse_later_version,
)
from maintenance.jobs import job_actor
from memories.lifecycle.purge import purge_from_copy
from memories.models import Tombstone, TombstoneKind
from memories.store.purge_hooks import ClearedCopies

log = logging.getLogger(__name__)
JOB = "purge_backups"
MARK = ".purges-owed"
# Unpacking, purging and packing take about a second per 40 MB: more than this nobody should wait for.
AT_ONCE_BYTES = 256 * 1024**2
WAIT_S = 10.0  # for a backup that is being made meanwhile
REASON = "purged from the store"


@dataclass(frozen=True)
class BackupsPurged:
    """How many backups were looked at, which were written anew, and which could not be read."""

    checked: int
    rewritten: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class ManagedBackups:
    """The backups in LOCI_HOME/backups, as a purge sees them."""

    def note(self) -> None:
        """Leave a mark for the job: whatever happens now, somebody looks at the backups again."""
        if backup_paths():
            _write_mark()

    def clear(self, ids: frozenset[UUID], texts: tuple[str, ...]) -> ClearedCopies:
        """Write the backups anew that hold one of the memories or texts, or say that the job does it."""
        paths = backup_paths()
        if not paths:
            return ClearedCopies(("no managed backups",))
        mark = _read_mark()
        try:
            if _unpacked_bytes() > AT_ONCE_BYTES:
                return _left_to_job(ids)
            with only_writer(wait_s=WAIT_S):
                done = _rewrite_all(job_actor(JOB), ids, texts)
        except (LociError, DatabaseError, OSError) as fault:
            log.warning("backups could not be purged: %s", fault)
            return ClearedCopies(remains=(f"managed backups may still hold it ({fault}); {_JOB_DOES_IT}",))
        if not done.unreadable:
            _wipe_mark(mark)
        return _said(done)


_JOB_DOES_IT = "the worker writes them anew within ten minutes, 'loci backup --purge' at once"


def purge_backups(actor: Actor) -> BackupsPurged:
    """Take everything that was ever purged out of the backups in LOCI_HOME/backups.

    Backups whose list of memories names nothing purged are not unpacked.

    Raises:
        NotPermitted: the actor may not administer everything.
        Conflict: a backup is being made and does not end.
    """
    check_right(actor)
    check_database_kind()
    mark = _read_mark()
    with only_writer():
        done = _rewrite_all(actor, purged_ids(), ())
    _wipe_mark(mark)
    if done.rewritten:
        payload = {"action": "purge", "rewritten": list(done.rewritten)}
        audit.append(actor, Operation.BACKUP, subject="backups", payload=payload)
    return done


def is_purge_owed() -> bool:
    """Say whether a purge has not reached the backups yet; one look for a file."""
    return (backups_folder() / MARK).exists()


def purged_ids() -> frozenset[UUID]:
    """Give the ids of all memories that were ever purged here."""
    logged = AuditEntry.objects.filter(operation=Operation.PURGE).values_list("memory_id", flat=True)
    marked = Tombstone.objects.filter(kind=TombstoneKind.PURGED).values_list("memory_id", flat=True)
    return frozenset(id_ for id_ in (*logged, *marked) if id_ is not None)


def _rewrite_all(actor: Actor, ids: frozenset[UUID], texts: tuple[str, ...]) -> BackupsPurged:
    rewritten, unreadable = [], []
    paths = backup_paths()
    for path in paths:
        try:
            if _rewrite(actor, path, ids, texts):
                rewritten.append(path.name)
        except InvalidInput as fault:
            log.warning("the backup %s could not be purged: %s", path.name, fault)
            unreadable.append(path.name)
    return BackupsPurged(len(paths), tuple(rewritten), tuple(unreadable))


def _rewrite(actor: Actor, path: Path, ids: frozenset[UUID], texts: tuple[str, ...]) -> bool:
    """Purge one backup; True where it held something, and was written anew."""
    manifest = read_manifest(path)
    held = ids & read_ids(path)
    if not held and not texts:
        return False
    refuse_later_version(path, manifest)
    with work_folder() as folder:
        unpack(path, folder)
        copy = folder / DATABASE
        with opened(copy):
            migrate_copy()
            if not purge_from_copy(actor, sorted(held), texts, reason=REASON):
                return False
            if faults := file_faults():
                raise DatabaseError(f"{path.name} is not sound: {'; '.join(faults)}")
            found, kept = describe(), memory_ids()
        now = replace(
            found,
            made_at=manifest.made_at,
            loci_version=manifest.loci_version,
            database_bytes=copy.stat().st_size,
            purged_at=timezone.now(),
        )
        write_archive(path, now, Contents(copy, kept, sorted((folder / KEYS).iterdir())))
    return True


def _unpacked_bytes() -> int:
    return sum(backup.manifest.database_bytes for backup in managed_backups() if backup.manifest)


def _left_to_job(ids: frozenset[UUID]) -> ClearedCopies:
    holding = sum(1 for path in backup_paths() if ids & read_ids(path))
    if not holding:
        return ClearedCopies((f"{len(backup_paths())} managed backups: none has it among its memories",))
    return ClearedCopies(remains=(f"{holding} managed backups still hold it: {_JOB_DOES_IT}",))


def _said(done: BackupsPurged) -> ClearedCopies:
    checked = f"{done.checked} managed backups: {len(done.rewritten)} held it and were written anew"
    if not done.unreadable:
        return ClearedCopies((checked,))
    names = ", ".join(done.unreadable)
    return ClearedCopies((checked,), (f"the backups {names} cannot be read and may hold it: delete them",))


def _write_mark() -> None:
    path = backups_folder() / MARK
    draft = path.with_name(f"{MARK}.{secrets.token_hex(4)}.part")
    draft.write_text(secrets.token_hex(8))
    draft.chmod(0o600)
    draft.replace(path)


def _read_mark() -> str:
    path = backups_folder() / MARK
    return path.read_text() if path.exists() else ""


def _wipe_mark(seen: str) -> None:
    """Take the mark away unless another purge has left a new one meanwhile."""
    if seen and _read_mark() == seen:
        (backups_folder() / MARK).unlink(missing_ok=True)
