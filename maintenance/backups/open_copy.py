"""Work on a copy of the store as if it were the store: the same models, rules and SQL, in another place."""

from pathlib import Path
from uuid import UUID

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Count
from django.utils import timezone

from access.audit import HEADS, OWN
from access.errors import InvalidInput
from access.models import AuditHead
from maintenance.backups.archive import BackupManifest
from maintenance.squashed_migrations import pending_migrations, refuse_early, replaced_migrations
from memories.models import Memory
from memories.search.schema import renew_triggers
from memories.store.pieces import indexed_model
from storage.home import GUARD_KEY
from storage.version import __version__


def describe_store() -> BackupManifest:
    """Manifest of the opened store, still without the hashes and the size of the file."""
    head = AuditHead.objects.filter(origin=OWN, chain=HEADS).first()
    return BackupManifest(
        made_at=timezone.now(),
        loci_version=__version__,
        migrations=applied_migrations(),
        counts=table_counts(),
        groups=memories_by_group(),
        audit_seq=head.seq if head else 0,
        audit_hash=head.hash if head else "",
        model=indexed_model(),
        database_bytes=0,
    )


def table_counts() -> dict[str, int]:
    """Number of rows in each of Loci's tables that the store has; one of an older version lacks some."""
    there = set(connection.introspection.table_names())
    return {
        model._meta.db_table: model._default_manager.count()
        for model in apps.get_models()
        if model._meta.managed and not model._meta.proxy and model._meta.db_table in there
    }


def memories_by_group() -> dict[str, int]:
    """Number of memories in each group, in any state."""
    counted = Memory.objects.order_by().values_list("group__slug").annotate(count=Count("key"))
    return dict(sorted(counted))


def memory_ids() -> frozenset[UUID]:
    """Ids of all memories, in any state."""
    return frozenset(Memory.objects.order_by().values_list("id", flat=True).iterator(chunk_size=5000))


def applied_migrations() -> dict[str, list[str]]:
    """Names of the opened store's migrations, by app."""
    found: dict[str, list[str]] = {}
    for app, name in sorted(MigrationRecorder(connection).applied_migrations()):
        found.setdefault(app, []).append(name)
    return found


def log_ends() -> dict[str, list[int | str]]:
    """Where the chains of the opened store's own log end: elsewhere if anything was written."""
    return {head.chain: [head.seq, head.hash] for head in AuditHead.objects.filter(origin=OWN)}


def check_version(archive: Path, manifest: BackupManifest) -> None:
    """Raise InvalidInput if the backup was made by a later version of Loci, with unknown migrations.

    Raises:
        Unavailable: it was made before 0.3.0.
    """
    made = {(app, name) for app, names in manifest.migrations.items() for name in names}
    refuse_early(archive.name, made)
    known = {*(MigrationLoader(None).disk_migrations or ()), *replaced_migrations()}
    unknown = sorted(f"{app}.{name}" for app, name in made - known)
    if unknown:
        raise InvalidInput(
            f"{archive.name} was made by a later version of Loci ({manifest.loci_version}): "
            f"the migrations {', '.join(unknown[:3])} are unknown here.",
            hint="Install that version of Loci, then restore.",
            field="file",
        )


def migrate_copy() -> list[str]:
    """Migrate the opened copy; return the migrations that ran."""
    pending = pending_migrations()
    if pending:
        call_command("migrate", verbosity=0, interactive=False, no_backup=True)
    with transaction.atomic():
        renew_triggers(connection)  # those of a file of unknown origin may do anything
    return pending


def key_files(home: Path | None = None) -> list[Path]:
    """The keys in LOCI_HOME that backups contain, or in the keys/ of another folder: of tombstones, and of the guard."""
    folder = (home or Path(settings.LOCI.home)) / "keys"
    return sorted([*folder.glob("tombstone-*.key"), *folder.glob(GUARD_KEY)])
