"""Checks of the environment and of the schema: database library, home folder, disk, model, jobs, backups; migrations, tables, columns."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.checks import WARNING, CheckMessage, run_checks
from django.db import connection
from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from access.errors import Unavailable
from guard.judge import JudgeError, JudgeUse, find_judge
from maintenance.backups.folder import backup_paths
from maintenance.doctor.report import Finding, first_of, notice, ok, wrong
from maintenance.jobs import HEARTBEAT
from maintenance.models import JobLock
from maintenance.squashed_migrations import pending_migrations
from memories.embedding import ModelUnavailable, model_status
from memories.embedding.install import verify_model
from memories.embedding.loader import ENDPOINT, hint_of, model_folder
from memories.models import Memory
from memories.search.schema import own_names
from storage.dialect import dialect
from storage.sqlite.dialect import database_files

_SITE_TAG = "loci"  # the site's own checks: the SQLite library, LOCI_HOME, host names
_HOME_CHECKS = frozenset({"loci.E004", "loci.W001"})
_MIN_FREE_BYTES = 200_000_000
OTHERS = stat.S_IRWXG | stat.S_IRWXO
WORKER_SILENT = timedelta(minutes=5)  # it reports every 20 s
_JUDGE_WAIT_S = 60.0
_KEYWORDS_ONLY = gettext_noop("Until then recall uses keywords only.")


def check_driver() -> Finding:
    """The database library has every feature that Loci needs."""
    version = ".".join(str(part) for part in connection.get_database_version())
    # The version is the database's own, so it goes before any extension in the display name.
    name, _, extension = connection.display_name.partition(" with ")
    found = f"{name} {version}"
    if extension:
        found = gettext("{database} with {extension}").format(database=found, extension=extension)
    return _of_messages("driver", lambda m: m.id not in _HOME_CHECKS, found)


def check_home() -> Finding:
    """LOCI_HOME is writable, and only its owner can read its files."""
    found = _of_messages("home", lambda m: m.id in _HOME_CHECKS, gettext("only its owner can read it"))
    exposed = [path.name for path in exposed_files()]
    if exposed:
        return wrong(
            "home",
            gettext("others can read {files}").format(files=first_of(exposed)),
            gettext("run 'loci doctor --repair', or set their mode to 600"),
        )
    return found


def exposed_files() -> Iterator[Path]:
    """Files with memories or secrets that others can read, outside of any folder that only its owner can open."""
    home = Path(settings.LOCI.home)
    if os.name == "nt" or not home.is_dir():  # Windows has no permission bits
        return
    database = Path(str(connection.settings_dict["NAME"]))
    named = [
        *database_files(database),
        home / "config.toml",
        *(home / "keys").glob("*"),
        *(home / "backups").glob("*"),
    ]
    for path in named:
        if path.is_file() and path.stat().st_mode & OTHERS:
            is_guarded = any(not folder.stat().st_mode & OTHERS for folder in path.resolve().parents)
            if not is_guarded:
                yield path


def _of_messages(name: str, wanted: Callable[[CheckMessage], bool], fine: str) -> Finding:
    """Finding from Django's system checks of the site; `fine` is the detail if none complains."""
    messages = [m for m in run_checks(tags=[_SITE_TAG]) if m.level >= WARNING and wanted(m)]
    if not messages:
        return ok(name, fine)
    return wrong(name, " ".join(m.msg for m in messages), " ".join(m.hint or "" for m in messages).strip())


def check_disk() -> Finding:
    """The disk has free space."""
    free = shutil.disk_usage(settings.LOCI.home).free
    if free < _MIN_FREE_BYTES:
        return wrong(
            "disk",
            gettext("{size} MB free; {least} MB are needed").format(
                size=free // 1_000_000, least=_MIN_FREE_BYTES // 1_000_000
            ),
            gettext("free some space, for example by deleting old backups in LOCI_HOME/backups"),
        )
    return ok("disk", gettext("{size} GB free").format(size=f"{free / 1e9:.1f}"))


def check_model() -> Finding:
    """The model's files have the right hashes, and it computes the expected vectors."""
    try:
        report = verify_model(folder := model_folder(settings.LOCI.home))
    except ModelUnavailable as absent:
        return wrong("model", f"{absent.message} {gettext(_KEYWORDS_ONLY)}", absent.hint)
    wanted = settings.LOCI.embedding.precision
    if report.precision not in (wanted, ENDPOINT):
        detail = gettext("{model} works, in {precision}; the setting embedding.precision is {wanted}")
        return notice(
            "model",
            detail.format(model=report.model_id, precision=report.precision, wanted=wanted),
            hint_of(folder) + " " + gettext("Stored vectors stay valid."),
        )
    return ok("model", gettext("{model}, hashes and vectors are correct").format(model=report.model_id))


def check_model_is_there() -> Finding:
    """The model is installed, without reading its files."""
    status = model_status()
    if status.state in ("absent", "failed"):
        found = gettext("it is absent.") if status.state == "absent" else gettext("it failed to load.")
        return wrong("model", f"{found} {gettext(_KEYWORDS_ONLY)}", status.detail)
    return ok("model", gettext("installed; its files were not checked"))


def check_judges() -> Finding:
    """The judges of judges.folders load and score."""
    try:
        uses = [use for use in JudgeUse if find_judge(settings.LOCI.judges.folders, use, _JUDGE_WAIT_S)]
    except JudgeError as error:
        return wrong("judges", str(error.__cause__ or error), gettext("see docs/how-to/models.md"))
    return ok("judges", ", ".join(uses))


def check_jobs() -> Finding:
    """Scheduled jobs run and succeed."""
    now = timezone.now()
    rows = list(JobLock.objects.order_by("name"))
    failing = [f"{row.name}: {row.last_error}" for row in rows if row.last_error]
    if failing:
        detail = gettext("the last run failed: {jobs}").format(jobs=gettext("; ").join(failing))
        return wrong("jobs", detail[:500], gettext("see 'loci schedule'"))
    dead = [row.name for row in rows if row.holder and row.held_until and row.held_until < now]
    paused = [row for row in rows if row.paused_at]
    silent = [
        row
        for row in rows
        if row.name == HEARTBEAT and row.last_finished and now - row.last_finished > WORKER_SILENT
    ]
    notes = [
        *(gettext("{job} was interrupted").format(job=name) for name in dead),
        *(gettext("paused: {job} by {person}").format(job=row.name, person=row.paused_by) for row in paused),
        *(gettext("no worker has reported for a while") for _ in silent),
    ]
    if notes:
        return notice(
            "jobs",
            gettext("; ").join(notes),
            gettext("'loci schedule' shows and resumes them; 'loci up' starts the worker"),
        )
    if not rows:
        return ok("jobs", gettext("none has run yet"))
    return ok("jobs", gettext("{count} have run, none failed").format(count=len(rows)))


def check_backups() -> Finding:
    """A recent backup exists."""
    days = settings.LOCI.maintenance.backup_days
    if not days:
        return notice(
            "backups",
            gettext("scheduled backups are off (maintenance.backup_days is 0)"),
            gettext("run 'loci backup' yourself"),
        )
    newest = max((path.stat().st_mtime for path in backup_paths()), default=None)
    if newest is None:
        if Memory.objects.exists():
            return notice("backups", gettext("there are none yet"), gettext("run 'loci backup'"))
        return ok("backups", gettext("nothing to back up yet"))
    age = timezone.now() - datetime.fromtimestamp(newest, UTC)
    detail = gettext("the newest is {days} days old").format(days=f"{age.total_seconds() / 86_400:.1f}")
    if age > timedelta(days=2 * days):
        return wrong(
            "backups",
            gettext("{newest}; one is due every {days} days").format(newest=detail, days=f"{days:g}"),
            gettext("run 'loci backup'; 'loci schedule' shows why it did not run"),
        )
    return ok("backups", detail)


# Tables of the database itself; virtual tables add shadow tables with their own name as the prefix.
_FOREIGN_PREFIXES = ("sqlite_", "pg_", "django_migrations")
BACKUP = gettext_noop("restore a backup, or import an export into a new database")


def check_migrations() -> Finding:
    """All migrations are applied."""
    try:
        pending = pending_migrations()
    except Unavailable as error:
        return wrong("migrations", error.message, error.hint)
    if pending:
        detail = gettext("{count} are not applied").format(count=len(pending))
        return wrong("migrations", detail, gettext("run 'loci migrate'"))
    return ok("migrations", gettext("all applied"))


def check_schema() -> Finding:
    """Tables, columns, indexes and constraints match the models."""
    with connection.cursor() as cursor:
        there = {info.name for info in connection.introspection.get_table_list(cursor) if info.type == "t"}
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    wanted = {model._meta.db_table: model for model in models}
    faults = [
        gettext("the table {name} is missing").format(name=name) for name in sorted(wanted.keys() - there)
    ]
    for name in sorted(wanted.keys() & there):
        faults += _column_faults(wanted[name])
    if faults:
        return wrong("schema", first_of(faults), gettext(BACKUP))
    known = (*_FOREIGN_PREFIXES, *own_names(connection.vendor))
    extra = sorted(name for name in there - wanted.keys() if not name.startswith(known))
    if extra:
        return notice(
            "schema",
            gettext("tables that do not belong to Loci: {names}").format(names=first_of(extra)),
            gettext("drop them if they are not needed"),
        )
    return ok("schema", gettext("{count} tables match the models").format(count=len(wanted)))


def _column_faults(model: type[Model]) -> Iterator[str]:
    """Differences between a model and its table: missing and unknown columns, missing indexes and constraints."""
    table = model._meta.db_table
    rules = {str(rule.name) for rule in (*model._meta.indexes, *model._meta.constraints)}
    with connection.cursor() as cursor:
        columns = {info.name for info in connection.introspection.get_table_description(cursor, table)}
    named = dialect().rule_names(table)
    wanted = {str(field.column) for field in model._meta.local_concrete_fields}
    for text, names in (
        (gettext("{table} lacks the column {name}"), wanted - columns),
        (gettext("{table} has an unknown column {name}"), columns - wanted),
        (gettext("{table} lacks the index or constraint {name}"), rules - named),
    ):
        yield from (text.format(table=table, name=name) for name in sorted(names))
