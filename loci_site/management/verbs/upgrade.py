"""`loci store upgrade`: how to upgrade this installation, and with `--check` whether the store is ready for it.

The check compares the installed version, the store's schema and the newest backup. No network, no writes.
"""

import sys
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from access.connect import UVX_FOLDER
from access.management.command import CommandAnswer, CommandVerb, flag
from loci_site import __version__
from maintenance.backups.folder import Backup, managed_backups
from maintenance.squashed_migrations import REPLACED_NAMES
from storage.version import DISTRIBUTION

FRESH: Final = timedelta(days=1)


@dataclass(frozen=True)
class _UpgradeReport:
    """The state before an upgrade; `to_do` has a line for each thing that should be done first."""

    installed: str
    store: str
    pending: tuple[str, ...]  # migrations that the store lacks
    unknown: tuple[str, ...]  # migrations of a newer Loci
    backup: str
    backup_version: str
    backup_at: datetime | None
    to_do: tuple[str, ...]


def _check_upgrade() -> _UpgradeReport:
    database = str(connection.settings_dict["NAME"])
    if is_empty():
        return _UpgradeReport(__version__, f"none yet at {database}", (), (), "none", "", None, ())
    pending, unknown = _compare_schema()
    backup = next(iter(managed_backups()), None)
    manifest = backup.manifest if backup else None
    return _UpgradeReport(
        installed=__version__,
        store=database,
        pending=pending,
        unknown=unknown,
        backup=backup.name if backup else "none",
        backup_version=manifest.loci_version if manifest else "",
        backup_at=manifest.made_at if manifest else None,
        to_do=tuple(_list_to_do(unknown, backup)),
    )


def is_empty() -> bool:
    """True if there is no store yet; a missing file is not made."""
    if connection.vendor == "sqlite":
        database = Path(str(connection.settings_dict["NAME"]))
        return not database.exists() or not database.stat().st_size
    return not connection.introspection.table_names()


def _compare_schema() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The migrations that the store lacks, and those it has and this version does not know."""
    executor = MigrationExecutor(connection)
    known = executor.loader.disk_migrations.keys()
    applied = executor.loader.applied_migrations.keys()
    early = applied & REPLACED_NAMES  # replaced by one each; `migrate` adopts them
    pending = sorted(f"{app}.{name}" for app, name in known - applied)
    ours = {app for app, _ in known}
    unknown = sorted(f"{app}.{name}" for app, name in applied - known - early if app in ours)
    return tuple(pending), tuple(unknown)


def _list_to_do(unknown: tuple[str, ...], backup: Backup | None) -> list[str]:
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


def _upgrade_steps() -> list[str]:
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


def upgrade(options: dict[str, Any]) -> CommandAnswer:
    """The commands that upgrade this installation, or what is to do first."""
    if not options["check"]:
        return CommandAnswer({"steps": _upgrade_steps()}, "\n".join(_upgrade_steps()))
    report = _check_upgrade()
    at = report.backup_at.isoformat() if report.backup_at else None
    body = asdict(report) | {"backup_at": at, "ready": not report.to_do}
    return CommandAnswer(body, as_text(report), status=int(bool(report.to_do)))


def as_text(report: _UpgradeReport) -> str:
    schema = "complete"
    if report.unknown:
        schema = f"newer than this version ({', '.join(report.unknown)})"
    elif report.pending:
        schema = f"the next start applies {', '.join(report.pending)}"
    backup = report.backup
    if report.backup_at:
        hours = (timezone.now() - report.backup_at).total_seconds() / 3600
        backup += f", {hours:.1f} hours old, of version {report.backup_version}"
    lines = [
        f"Installed      {report.installed}",
        f"Store          {report.store}",
        f"Schema         {schema}",
        f"Newest backup  {backup}",
        "",
        *(report.to_do or ["Ready: nothing to do first."]),
    ]
    return "\n".join(lines)


UPGRADE: Final = CommandVerb(
    upgrade,
    "show how to upgrade; with --check, compare the installed version, the store and the newest backup",
    (flag("--check", "compare; change nothing"),),
)
