"""Whether the place Loci works in is sound: library, folder, disk, model, queue, jobs and backups."""

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.core.checks import WARNING, CheckMessage, run_checks
from django.db import connection
from django.utils import timezone

from maintenance.backups.folder import backup_paths
from maintenance.doctor.report import REPAIR, Finding, first_of, notice, ok, wrong
from maintenance.jobs import HEARTBEAT
from maintenance.models import JobLock
from memories.embedding import ModelUnavailable, model_status
from memories.embedding.folder import model_folder
from memories.embedding.install import verify_model
from memories.embedding.install.graph import PRECISIONS
from memories.models import Memory

SITE_TAG = "loci"  # the site's own checks: the SQLite library, LOCI_HOME, host names
HOME_CHECKS = frozenset({"loci.E004", "loci.W001"})
LEAST_FREE_BYTES = 200 * 1024**2
STALE_MESSAGE_S = 3600  # a message that nobody took for so long has expired
MOST_QUEUED_BYTES = 10 * 1024**2
OTHERS = stat.S_IRWXG | stat.S_IRWXO
WORKER_SILENT = timedelta(minutes=5)  # it reports every 20 s
KEYWORDS = "Until then recall works by keywords."


def check_driver() -> Finding:
    """The database library can what Loci needs."""
    version = ".".join(str(part) for part in connection.get_database_version())
    return _of_messages("driver", lambda m: m.id not in HOME_CHECKS, _engine(version))


def _engine(version: str) -> str:
    """Give the database with its own version, which is not that of what is loaded into it."""
    name, joined, extension = connection.display_name.partition(" with ")
    return f"{name} {version}{joined}{extension}"


def check_home() -> Finding:
    """LOCI_HOME can be written, and nobody else reads what lies there."""
    found = _of_messages("home", lambda m: m.id in HOME_CHECKS, "its owner alone can read it")
    exposed = [path.name for path in exposed_files()]
    if exposed:
        return wrong("home", f"others can read {first_of(exposed)}", f"{REPAIR}, or chmod them to 600")
    return found


def exposed_files() -> Iterator[Path]:
    """Give the files with memories or secrets that others can read: a folder for its owner alone guards what is in it."""
    home = Path(settings.LOCI.home)
    if os.name == "nt" or not home.is_dir():  # no permission bits there
        return
    database = Path(str(connection.settings_dict["NAME"]))
    beside = (database.with_name(database.name + end) for end in ("", "-wal", "-shm"))
    named = [*beside, home / "config.toml", *(home / "keys").glob("*"), *(home / "backups").glob("*")]
    for path in named:
        if path.is_file() and path.stat().st_mode & OTHERS and not _is_guarded(path):
            yield path


def _is_guarded(path: Path) -> bool:
    return any(not folder.stat().st_mode & OTHERS for folder in path.resolve().parents)


def _of_messages(name: str, wanted: Callable[[CheckMessage], bool], well: str) -> Finding:
    messages = [m for m in run_checks(tags=[SITE_TAG]) if m.level >= WARNING and wanted(m)]
    if not messages:
        return ok(name, well)
    return wrong(name, " ".join(m.msg for m in messages), " ".join(m.hint or "" for m in messages).strip())


def check_disk() -> Finding:
    """There is room to write."""
    free = shutil.disk_usage(settings.LOCI.home).free
    said = f"{free / 1e9:.1f} GB free"
    if free < LEAST_FREE_BYTES:
        return wrong("disk", said, "make room: old backups in LOCI_HOME/backups may go first")
    return ok("disk", said)


def check_model() -> Finding:
    """The model's files are what they should be, and it embeds as it should."""
    try:
        report = verify_model(model_folder(settings.LOCI.home))
    except ModelUnavailable as absent:
        return wrong("model", f"{absent} {KEYWORDS}", "run 'loci model install'")
    wanted = settings.LOCI.embedding.precision
    if report.precision in PRECISIONS and report.precision != wanted:
        said = f"{report.model_id} is sound, in {report.precision}; the setting embedding.precision says {wanted}"
        return notice("model", said, "run 'loci model install'; the vectors stay")
    return ok("model", f"{report.model_id}, hashes and vectors as they should be")


def check_model_is_there() -> Finding:
    """The model is installed; its files are not read."""
    state = model_status().state
    if state in ("absent", "failed"):
        return wrong("model", f"it is {state}. {KEYWORDS}", "run 'loci model install'")
    return ok("model", f"{state}; its files were not read")


def check_queue() -> Finding:
    """Messages to the worker are taken, and their folder stays small."""
    if settings.LOCI.redis_url:
        return ok("queue", "on Redis")
    messages = [
        (path, path.stat()) for path in (Path(settings.LOCI.home) / "queue").rglob("*") if path.is_file()
    ]
    size = sum(about.st_size for _, about in messages)
    waiting = [about.st_mtime for path, about in messages if path.suffix == ".msg"]
    stale = sum(1 for at in waiting if time.time() - at > STALE_MESSAGE_S)
    if stale or size > MOST_QUEUED_BYTES:
        return notice(
            "queue",
            f"{stale} messages wait for more than an hour; the folder holds {size / 1e6:.1f} MB",
            f"start the worker ('loci up'), or {REPAIR.removeprefix('run ')}: what is due is asked for again",
        )
    return ok("queue", f"{len(waiting)} messages wait")


def stale_messages() -> list[Path]:
    """Give the messages that nobody took in time. The next tick asks again for whatever is due."""
    paths = (Path(settings.LOCI.home) / "queue").rglob("*.msg")
    return [path for path in paths if time.time() - path.stat().st_mtime > STALE_MESSAGE_S]


def check_jobs() -> Finding:
    """What Loci does of itself works."""
    now = timezone.now()
    rows = list(JobLock.objects.order_by("name"))
    failing = [f"{row.name}: {row.last_error}" for row in rows if row.last_error]
    if failing:
        return wrong("jobs", f"the last time failed: {'; '.join(failing)}"[:500], "'loci schedule' says more")
    dead = [row.name for row in rows if row.holder and row.held_until and row.held_until < now]
    paused = [f"{row.name} by {row.paused_by}" for row in rows if row.paused_at]
    silent = [
        row
        for row in rows
        if row.name == HEARTBEAT and row.last_finished and now - row.last_finished > WORKER_SILENT
    ]
    said = [
        *(f"{name} was left in the middle" for name in dead),
        *(f"paused: {name}" for name in paused),
        *("no worker has reported for a while" for _ in silent),
    ]
    if said:
        return notice(
            "jobs", "; ".join(said), "'loci schedule' shows and resumes them; 'loci up' starts the worker"
        )
    return ok("jobs", f"{len(rows)} have run, none failed" if rows else "none has run yet")


def check_backups() -> Finding:
    """There is a backup, and it is not too old."""
    days = settings.LOCI.maintenance.backup_days
    if not days:
        return notice(
            "backups", "they are switched off (maintenance.backup_days is 0)", "run 'loci backup' yourself"
        )
    newest = max((path.stat().st_mtime for path in backup_paths()), default=None)
    if newest is None:
        is_empty = not Memory.objects.exists()
        return (
            ok("backups", "nothing to keep yet")
            if is_empty
            else notice("backups", "there is none yet", "run 'loci backup'")
        )
    age = timezone.now() - datetime.fromtimestamp(newest, UTC)
    said = f"the newest is {age.total_seconds() / 86_400:.1f} days old"
    if age > timedelta(days=2 * days):
        return wrong(
            "backups",
            f"{said}; one is due every {days:g} days",
            "run 'loci backup'; 'loci schedule' says why",
        )
    return ok("backups", said)
