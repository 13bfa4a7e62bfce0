"""What an upgrade would meet: the installed version, the store's schema and the newest backup. No network, no writes."""

import sys
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from access.connect import UVX_FOLDER
from loci_site import __version__
from maintenance.backups.folder import Backup, managed_backups
from maintenance.squashed_migrations import REPLACED_NAMES
from storage.version import DISTRIBUTION

FRESH: Final = timedelta(days=1)


@dataclass(frozen=True)
class UpgradeReport:
    """The state before an upgrade; `to_do` has a line for each thing that should be done first."""

    installed: str
    store: str
    pending: tuple[str, ...]  # migrations that the store lacks
    unknown: tuple[str, ...]  # migrations of a newer Loci
    backup: str
    backup_version: str
    backup_at: datetime | None
    to_do: tuple[str, ...]


def check_upgrade() -> UpgradeReport:
    """Compare program, store and newest backup."""
    database = str(connection.settings_dict["NAME"])
    if is_empty():
        return UpgradeReport(__version__, f"none yet at {database}", (), (), "none", "", None, ())
    pending, unknown = compare_schema()
    backup = next(iter(managed_backups()), None)
    manifest = backup.manifest if backup else None
    return UpgradeReport(
        installed=__version__,
        store=database,
        pending=pending,
        unknown=unknown,
        backup=backup.name if backup else "none",
        backup_version=manifest.loci_version if manifest else "",
        backup_at=manifest.made_at if manifest else None,
        to_do=tuple(list_to_do(unknown, backup)),
    )


def is_empty() -> bool:
    """True if there is no store yet; a missing file is not made."""
    if connection.vendor == "sqlite":
        database = Path(str(connection.settings_dict["NAME"]))
        return not database.exists() or not database.stat().st_size
    return not connection.introspection.table_names()


def compare_schema() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The migrations that the store lacks, and those it has and this version does not know."""
    executor = MigrationExecutor(connection)
    known = executor.loader.disk_migrations.keys()
    applied = executor.loader.applied_migrations.keys()
    early = applied & REPLACED_NAMES  # replaced by one each; `migrate` adopts them
    pending = sorted(f"{app}.{name}" for app, name in known - applied)
    ours = {app for app, _ in known}
    unknown = sorted(f"{app}.{name}" for app, name in applied - known - early if app in ours)
    return tuple(pending), tuple(unknown)


def list_to_do(unknown: tuple[str, ...], backup: Backup | None) -> list[str]:
    """What to do before the upgrade, the most urgent first; empty if all is ready. The next start migrates by itself."""
    if unknown:
        return [
            f"The store was written by a newer Loci than {__version__} ({unknown[-1]}): install that version, or"
            " restore a backup of this one."
        ]
    lines = []
    if backup is None or backup.manifest is None:
        lines.append("There is no backup that can be read: run 'loci backup'.")
    elif timezone.now() - backup.manifest.made_at > FRESH:
        lines.append("The newest backup is older than a day: run 'loci backup'.")
    return lines


def upgrade_steps() -> list[str]:
    """The commands that upgrade this kind of installation, in order."""
    prefix = Path(sys.prefix)
    checkout = settings.ROOT
    if (checkout / "manage.py").is_file():
        install = f"git -C {checkout} pull && make -C {checkout} .venv/.installed-serve"
    elif UVX_FOLDER in prefix.parts:
        install = f"uvx {DISTRIBUTION}@latest --version"
    elif "pipx" in prefix.parts:
        install = f"pipx upgrade {DISTRIBUTION}"
    elif (prefix / "uv-receipt.toml").is_file():
        install = f"uv tool upgrade {DISTRIBUTION}"
    else:
        install = f"{sys.executable} -m pip install --upgrade {DISTRIBUTION}"
    return ["loci backup", install, "loci store upgrade --check", "loci up   (or restart the service)"]
