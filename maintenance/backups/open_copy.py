"""Working on a copy of the store as if it were the store: the same models, rules and SQL, on another file."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from uuid import UUID

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.models import Count
from django.utils import timezone

from access import audit
from access.errors import InvalidInput, Unavailable
from access.models import AuditHead, Group
from maintenance.backups.archive import BackupManifest
from maintenance.squashed_migrations import (
    REPLACED,
    REPLACED_NAMES,
    SQUASHED,
    adopt_squashed,
    refuse_early_store,
)
from memories.models import Memory
from memories.store.pieces import indexed_model


def check_database_kind() -> None:
    """Raise Unavailable where the store is not a SQLite file."""
    if connection.vendor != "sqlite":
        raise Unavailable(
            f"Loci backs up its SQLite file; this store is on {connection.vendor}.",
            hint="Use the database's own tools, such as pg_dump, and copy keys/ of LOCI_HOME with it.",
        )


def database_path() -> Path:
    """Give the file of the store."""
    return Path(str(connection.settings_dict["NAME"]))


@contextmanager
def opened(path: Path) -> Iterator[None]:
    """Let this thread's models read and write the SQLite file at `path` for the time of the block.

    Other threads go on with the store. On the way out the file is whole by itself: its log of pages is written back.
    """
    with _standing_in(path, mode="IMMEDIATE") as copy:
        copy.is_private_copy = True
        yield


@contextmanager
def snapshot_of_store() -> Iterator[Any]:
    """Read the store as it stands now, whatever others write meanwhile; gives the connection that does.

    Writers are not kept waiting: the transaction never takes the write lock.
    """
    with _standing_in(database_path(), mode="DEFERRED") as reader, transaction.atomic():
        # The first read, not the beginning, decides which state is seen.
        Group.objects.exists()
        yield reader


@contextmanager
def _standing_in(path: Path, *, mode: str) -> Iterator[Any]:
    before = connections[DEFAULT_DB_ALIAS]
    stand_in: Any = before.copy()
    stand_in.settings_dict["NAME"] = str(path)
    stand_in.settings_dict["OPTIONS"] = {**stand_in.settings_dict["OPTIONS"], "transaction_mode": mode}
    # Connections are each thread's own, so this changes nothing for any other.
    connections[DEFAULT_DB_ALIAS] = stand_in
    try:
        yield stand_in
    finally:
        connections[DEFAULT_DB_ALIAS] = before
        stand_in.close()


def describe() -> BackupManifest:
    """Say what the opened store holds; hashes and sizes are for whoever writes the file."""
    head = AuditHead.objects.filter(origin=audit.OWN).first()
    return BackupManifest(
        made_at=timezone.now(),
        loci_version=_loci_version(),
        migrations=applied_migrations(),
        counts=table_counts(),
        groups=memories_by_group(),
        audit_seq=head.seq if head else 0,
        audit_hash=head.hash if head else "",
        model=indexed_model(),
        database_bytes=0,
    )


def table_counts() -> dict[str, int]:
    """Count the rows of every table of ours."""
    return {
        model._meta.db_table: model._default_manager.count()
        for model in apps.get_models()
        if model._meta.managed and not model._meta.proxy
    }


def memories_by_group() -> dict[str, int]:
    """Count the memories of each group, in any state."""
    counted = Memory.objects.order_by().values_list("group__slug").annotate(count=Count("key"))
    return dict(sorted(counted))


def memory_ids() -> frozenset[UUID]:
    """Give the ids of all memories, in any state."""
    return frozenset(Memory.objects.order_by().values_list("id", flat=True).iterator(chunk_size=5000))


def applied_migrations() -> dict[str, list[str]]:
    """Name the migrations that made the opened store, by app."""
    found: dict[str, list[str]] = {}
    for app, name in sorted(MigrationLoader(connection).applied_migrations):
        found.setdefault(app, []).append(name)
    return found


def refuse_later_version(archive: Path, manifest: BackupManifest) -> None:
    """Raise InvalidInput where a backup's tables are of a later version of Loci than this one."""
    here = {*(MigrationLoader(None).disk_migrations or ()), *REPLACED_NAMES}
    unknown = [
        f"{app}.{name}"
        for app, names in manifest.migrations.items()
        for name in names
        if (app, name) not in here
    ]
    if unknown:
        raise InvalidInput(
            f"{archive.name} was made by a later version of Loci ({manifest.loci_version}): "
            f"this one does not know {', '.join(unknown[:3])}.",
            hint="Install that version of Loci, then restore.",
            field="file",
        )


def pending_migrations() -> list[str]:
    """Name the migrations that the opened store still lacks, in order."""
    replaces = refuse_early_store()
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    names = [(migration.app_label, migration.name) for migration, _ in plan]
    return [f"{app}.{name}" for app, name in names if not (replaces and app in REPLACED and name == SQUASHED)]


def migrate_copy() -> list[str]:
    """Bring the opened copy's tables up to date; give the migrations that ran."""
    adopt_squashed()
    pending = pending_migrations()
    if pending:
        call_command("migrate", verbosity=0, interactive=False)
    return pending


def file_faults(*, is_quick: bool = False) -> list[str]:
    """Let SQLite check the opened file from end to end, and every reference in it.

    `is_quick` leaves out comparing indexes with their tables, most of the time that it takes.
    """
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA quick_check" if is_quick else "PRAGMA integrity_check")
        said = [str(row[0]) for row in cursor.fetchall()]
        cursor.execute("PRAGMA foreign_key_check")
        broken = cursor.fetchall()
    faults = [] if said == ["ok"] else said[:3]
    return faults + ([f"{len(broken)} rows point to rows that are not there"] if broken else [])


def key_files() -> list[Path]:
    """List the tombstone keys of this home."""
    return sorted((Path(settings.LOCI.home) / "keys").glob("tombstone-*.key"))


def _loci_version() -> str:
    try:
        return version("loci-memory")
    except PackageNotFoundError:  # a checkout that was not installed
        return "checkout"
