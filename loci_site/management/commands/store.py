"""`loci store`: what is done to the whole store."""

import sys
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from access.answers import Answer
from access.connect import UVX_FOLDER
from access.errors import InvalidInput
from access.management.command import DRY_RUN, CommandAnswer, CommandVerb, flag, option
from access.tokens import operator
from loci_site import __version__
from loci_site.config import DATABASE_SCHEMES
from loci_site.config.databases import postgresql_settings, sqlite_settings
from maintenance.backups.folder import Backup, managed_backups
from maintenance.backups.moving import MANY_GLOBAL, MoveResult, Target, move_store, preview_move
from maintenance.management.progress import StepBar
from maintenance.management.verbs.encrypt import DECRYPT, ENCRYPT
from maintenance.management.verbs.retention import RETENTION
from maintenance.squashed_migrations import refuse_early_store, replaced_migrations
from memories.language.cleaning import format_count
from memories.management.output import FaceCommand, in_lines
from storage.version import DISTRIBUTION

FRESH: Final = timedelta(days=1)


@dataclass(frozen=True)
class _UpgradeReport(Answer):
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
        to_do=tuple(_list_to_do(pending, unknown, backup)),
    )


def is_empty() -> bool:
    """True if there is no store yet; a missing file is not made."""
    if connection.vendor == "sqlite":
        database = Path(str(connection.settings_dict["NAME"]))
        return not database.exists() or not database.stat().st_size
    return not connection.introspection.table_names()


def _compare_schema() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The migrations that the store lacks, and those it has and this version does not know."""
    refuse_early_store()
    executor = MigrationExecutor(connection)
    known = executor.loader.disk_migrations.keys()
    applied = executor.loader.applied_migrations.keys()
    pending = sorted(f"{app}.{name}" for app, name in known - applied)
    ours = {app for app, _ in known}
    unknown = sorted(f"{app}.{name}" for app, name in applied - known - replaced_migrations() if app in ours)
    return tuple(pending), tuple(unknown)


def _list_to_do(pending: tuple[str, ...], unknown: tuple[str, ...], backup: Backup | None) -> list[str]:
    """What to do before the upgrade, the most urgent first; empty if all is ready.

    The next start backs up and migrates a store that lacks migrations by itself.
    """
    if unknown:
        return [
            f"The store was written by a newer Loci than {__version__} ({unknown[-1]}): install that version, or"
            " restore a backup of this one."
        ]
    lines: list[str] = []
    if pending:
        return lines
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
    body = _UpgradeReport.json(report) | {"ready": not report.to_do}
    return CommandAnswer(body, as_text(report), status=int(bool(report.to_do)))


def as_text(report: _UpgradeReport) -> str:
    schema = "complete"
    if report.unknown:
        schema = f"newer than this version ({', '.join(report.unknown)})"
    elif report.pending:
        schema = f"the next start backs the store up, then applies {', '.join(report.pending)}"
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


_UPGRADE: Final = CommandVerb(
    upgrade,
    "show how to upgrade; with --check, compare the installed version, the store and the newest backup",
    (flag("--check", "compare; change nothing"),),
)


def move(options: dict[str, Any]) -> CommandAnswer:
    """Move the store, or say what would be moved."""
    target = read_target(options["to"])
    if options["dry_run"]:
        result = preview_move(operator(), target)
    else:
        with StepBar("move") as bar:
            result = move_store(operator(), target, report=bar.show)
    return CommandAnswer(MoveResult.json(result), result_text(result, target, is_dry=options["dry_run"]))


def result_text(result: MoveResult, target: Target, *, is_dry: bool) -> str:
    """The result, how to switch, and the way back."""
    [name] = [name for name, value in target.environment.items() if value]
    unset = "" if name == "DATABASE_URL" else ", and unset DATABASE_URL"
    rows = f"{format_count(result.rows, 'row')} of {result.tables} tables"
    done = (
        f"Copied {rows} to {target.name}; every row is the same, and the doctor finds nothing wrong.",
        f"Answers to {result.questions} questions: {result.overlap:.0%} of their memories are the same.",
        f"A backup of the store as it was: {result.backup}" if result.backup else "",
        f"To use it: set {name} to {target.name}{unset}. To go back: undo that; this store was not changed.",
        "The keys stay in LOCI_HOME; another machine needs its keys/ and secret files too.",
    )
    many = (
        f"{result.global_memories} memories are global, and every group's recall reads them: "
        "'loci group narrow' moves a group's out of the others' way."
    )
    would = f"Would copy {rows} to {target.name}. Nothing was changed."
    return in_lines(*((would,) if is_dry else done), many if result.global_memories > MANY_GLOBAL else "")


def read_target(text: str) -> Target:
    """The target that `--to` names.

    Raises InvalidInput if it is neither an address of PostgreSQL nor the path of a file in an existing folder.
    """
    scheme, separator, _ = text.partition("://")
    if separator and scheme not in DATABASE_SCHEMES:
        raise InvalidInput(
            f"{scheme}:// is not a database that Loci knows.",
            hint="Use postgresql://user@host:port/name, or the path of a file.", field="to",
        )  # fmt: skip
    if separator:
        return Target(_without_password(text), postgresql_settings(text), {"DATABASE_URL": text})
    path = Path(text).expanduser().absolute()
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidInput(
            f"{path} is a folder, or its folder does not exist.",
            hint="Name a new file in an existing folder.",
            field="to",
        )
    if not settings.LOCI.database_url:
        raise InvalidInput(
            "The store is a file already.", hint="Use 'loci backup' for a copy of it.", field="to"
        )
    file = sqlite_settings(path, storage=settings.LOCI.storage)
    return Target(str(path), file, {"DATABASE_URL": "", "LOCI_STORAGE_DATABASE": str(path)})


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if parts.password is None:
        return url
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username}@{place}"))


MOVE: Final = CommandVerb(
    move,
    "move it between SQLite and PostgreSQL: same ids, texts, vectors, log and tombstones, verified",
    (
        option("--to", required=True, metavar="DATABASE", help="postgresql://…, or the path of a new file"),
        DRY_RUN,
    ),
)


EXAMPLES: Final = """\
examples:
  loci store retention --dry-run        what would be destroyed, and what is held and why
  loci store encrypt --make-key         makes the key where the settings say, then encrypts what is there
  loci store encrypt --old-key FILE     gives the store the key of the settings; FILE has the one it has now
  loci store decrypt                    then take storage.encryption out of config.toml
  loci store move --to postgresql://loci@db.example.org/loci --dry-run
  loci store move --to /srv/loci/memory.db    back into a file
  loci store upgrade                    the commands that upgrade this installation
  loci store upgrade --check            compare program, store and newest backup; status 1 if something is to do first

Retention cannot be undone. Its limits are in [maintenance] of config.toml: retention_days (forgotten memories), runs_days
(data for undoing runs), recall_log_days (recalls), log_days (the audit log; 0 keeps it forever). A worker runs it daily.
Loci must be stopped to encrypt, decrypt or move. Write `encryption = "sqlcipher"` and `key_file = "…"` under [storage] in
config.toml first. Whoever loses the key loses the memories and all backups: keep a copy of it in another place.
"""


class Command(FaceCommand):
    help = "Destroy expired data, encrypt, move or upgrade the store."
    examples = EXAMPLES
    verbs = {
        "retention": RETENTION,
        "encrypt": ENCRYPT,
        "decrypt": DECRYPT,
        "move": MOVE,
        "upgrade": _UPGRADE,
    }
