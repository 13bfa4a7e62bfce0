"""`/health`: open to everyone; it names the parts that fail, never a path."""

import asyncio
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import DatabaseError, DataError, IntegrityError, ProgrammingError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from access.errors import LociError
from loci_site.server.db_threads import in_db_thread
from maintenance.jobs import HEARTBEAT, last_finished
from maintenance.models import JobLock
from maintenance.schedule import job_statuses
from memories.embedding import model_status
from memories.search.base import search_index
from storage.faults import find_storage_fault

_PROBE_EVERY_S = 10.0
# A write that waits longer than this counts as failed, though it may still succeed.
WRITE_WAIT_S = 3.0
PROBE = "health"
# After a failure: on a disk that is nearly full a small row is written where a memory is not.
_PROBE_CHARS = 512 * 1024
WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")
# Errors of a single statement, which say nothing about the database.
_STATEMENT_ERRORS = (IntegrityError, DataError, ProgrammingError)


@dataclass(frozen=True)
class LastWrite:
    """The last write: when it ended (monotonic seconds), and why it failed, if it did."""

    at: float
    error: str = ""


class WriteWatch:
    """The last write of this process, shared by its threads."""

    def __init__(self) -> None:
        self.last: LastWrite | None = None
        self._probing = threading.Lock()
        self._probing_since = 0.0

    def watch(self, *, connection: BaseDatabaseWrapper, **_: Any) -> None:
        """Watch a new connection; a receiver of Django's connection_created."""
        if self._follow not in connection.execute_wrappers:
            connection.execute_wrappers.append(self._follow)

    def probe(self) -> LastWrite:
        """The last write; makes a new one if it failed or is older than PROBE_EVERY_S.

        One caller at a time waits for the database; the others get the known result at once.
        """
        if not self._probing.acquire(blocking=False):
            if time.monotonic() - self._probing_since > WRITE_WAIT_S:
                return LastWrite(self._probing_since, f"a write has waited for more than {WRITE_WAIT_S:g} s")
            return self.last or LastWrite(time.monotonic())
        try:
            self._probing_since = time.monotonic()
            last = self.last
            if last is not None and not last.error and time.monotonic() - last.at < _PROBE_EVERY_S:
                return last
            try:
                write_probe(_PROBE_CHARS if last is not None and last.error else 0)
            except DatabaseError as error:
                self.note_failure(error)
            else:
                self._note("")
            return self.last or LastWrite(time.monotonic())
        finally:
            self._probing.release()

    def _follow(
        self, execute: Callable[..., Any], sql: object, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        if not str(sql).startswith(WRITES):
            return execute(sql, params, many, context)
        try:
            result = execute(sql, params, many, context)
        except _STATEMENT_ERRORS:
            raise
        except DatabaseError as error:
            self.note_failure(error)
            raise
        # After a failure only a probe says that all is well: its COMMIT worked, and it was as large as a memory.
        if self.last is None or not self.last.error:
            self._note("")
        return result

    def note_failure(self, error: Exception) -> None:
        """Remember that a statement or a COMMIT failed."""
        self._note(find_storage_fault(error) or type(error).__name__)

    def _note(self, error: str) -> None:
        self.last = LastWrite(time.monotonic(), error)


def write_probe(chars: int = 0) -> None:
    """Write one row in a short transaction, and make sure that so many characters find room on the disk."""
    now = timezone.now()
    with transaction.atomic():
        filled = {"last_finished": now, "last_error": "0" * chars}
        JobLock.objects.update_or_create(name=PROBE, defaults=filled)
        if chars:
            JobLock.objects.filter(name=PROBE).update(last_error="")


WATCH = WriteWatch()


WORKER_SILENT = timedelta(seconds=90)  # it reports every 20 s
_LEAST_FREE_BYTES = 200 * 1024**2
MODEL_STATES = {
    "ready": (True, "loaded"),
    "installed": (True, "installed, loads on first use"),
    "loading": (True, "loading"),
    "absent": (False, "not installed: recall works by keywords; run 'loci model install'"),
    "failed": (False, "does not work: recall works by keywords; 'loci model verify' says why"),
}
# If one of these fails, Loci is failing; if another one fails, it is degraded.
_VITAL = ("database", "last_write")


@dataclass(frozen=True)
class HealthCheck:
    """Whether one part works, with a short description."""

    ok: bool
    detail: str


@never_cache
@require_safe
async def health(request: HttpRequest) -> HttpResponseBase:
    """Answer {status, checks}: 503 if Loci is failing, 200 if it is ok or degraded."""
    database = await check_database()
    checks = {
        "database": database,
        "last_write": await last_write_check() if database.ok else HealthCheck(False, "not tried"),
    }
    checks |= await _check_lesser_parts(has_database=database.ok)
    status = status_of(checks)
    body = {"status": status, "checks": {name: asdict(check) for name, check in checks.items()}}
    code = HTTPStatus.SERVICE_UNAVAILABLE if status == "failing" else HTTPStatus.OK
    return JsonResponse(body, status=code)


def status_of(checks: dict[str, HealthCheck]) -> str:
    bad = {name for name, check in checks.items() if not check.ok}
    if bad & set(_VITAL):
        return "failing"
    return "degraded" if bad else "ok"


def _database_check() -> HealthCheck:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM memories_memory LIMIT 1")
    except DatabaseError as error:
        connection.close()
        return HealthCheck(False, f"cannot be read ({type(error).__name__})")
    return HealthCheck(True, "can be read")


async def last_write_check() -> HealthCheck:
    """Whether the last write succeeded; tries one if the last is too old."""
    try:
        last = await asyncio.wait_for(asyncio.shield(_probe_writes()), WRITE_WAIT_S)
    except TimeoutError:
        return HealthCheck(False, f"a write has waited for {WRITE_WAIT_S:g} s")
    return (
        HealthCheck(False, f"the last write failed: {last.error}")
        if last.error
        else HealthCheck(True, "the last write worked")
    )


def lesser_checks(*, has_database: bool) -> dict[str, HealthCheck]:
    """The checks whose failure only degrades Loci."""
    unknown = HealthCheck(False, "unknown without the database")
    free = shutil.disk_usage(settings.LOCI.home).free
    return {
        "indexes": _catch_errors(_indexes_check) if has_database else unknown,
        "model": HealthCheck(*MODEL_STATES[model_status().state]),  # "ready" describes this process only
        "worker": _catch_errors(_worker_check) if has_database else unknown,
        "schedule": _catch_errors(schedule_check) if has_database else unknown,
        "disk": HealthCheck(free >= _LEAST_FREE_BYTES, f"{free / 1e9:.1f} GB free"),
    }


def _indexes_check() -> HealthCheck:
    missing = search_index().missing_objects()
    if missing:
        return HealthCheck(False, f"{', '.join(missing)} missing: run 'loci doctor --repair'")
    return HealthCheck(True, "complete")


def _worker_check() -> HealthCheck:
    seen = last_finished(HEARTBEAT)
    if seen is None:
        return HealthCheck(False, "no worker has reported yet")
    age = timezone.now() - seen
    seconds = round(age.total_seconds())
    return HealthCheck(age < WORKER_SILENT, f"reported {seconds} s ago")


def schedule_check() -> HealthCheck:
    """Whether no job failed or is overdue. It names the jobs; only admins see the errors ('loci schedule')."""
    jobs = [job for job in job_statuses() if job.name != HEARTBEAT]  # worker_check covers that one
    bad = [f"{job.name} failed {job.failures}×" for job in jobs if job.needs_care and job.failures]
    bad += [f"{job.name} is overdue" for job in jobs if job.needs_care and not job.failures]
    if bad:
        return HealthCheck(False, f"{', '.join(bad)}: see 'loci schedule'")
    paused = [job.name for job in jobs if job.state == "paused"]
    return HealthCheck(True, f"on time; paused: {', '.join(paused)}" if paused else "on time")


def _catch_errors(check: Callable[[], HealthCheck]) -> HealthCheck:
    """Run a check; an error makes it fail with the name of the error."""
    try:
        return check()
    except (DatabaseError, LociError) as error:
        return HealthCheck(False, f"unknown ({type(error).__name__})")


check_database = in_db_thread(_database_check)
_probe_writes = in_db_thread(WATCH.probe)
_check_lesser_parts = in_db_thread(lesser_checks)
