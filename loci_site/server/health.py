"""`/health`: open to all, small and true; it says what fails, never where anything lies."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from http import HTTPStatus

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from access.errors import LociError
from loci_site.server.db_threads import in_db_thread
from loci_site.server.write_probe import WATCH, WRITE_WAIT_S
from maintenance.jobs import HEARTBEAT, last_finished
from maintenance.schedule import job_statuses
from memories.embedding import model_status
from memories.search.base import search_index

WORKER_SILENT = timedelta(seconds=90)  # it reports every 20 s
LEAST_FREE_BYTES = 200 * 1024**2
MODEL_SAYS = {
    "ready": (True, "loaded"),
    "installed": (True, "installed, loaded when first needed"),
    "loading": (True, "loading"),
    "absent": (False, "not installed: recall works by keywords; run 'loci model install'"),
    "failed": (False, "does not load: recall works by keywords; run 'loci model install --force'"),
}
# Without these nothing is answered or kept; without the others Loci does less.
VITAL = ("database", "last_write")


@dataclass(frozen=True)
class HealthCheck:
    """Whether one part works, and a word about it."""

    ok: bool
    detail: str


@never_cache
@require_safe
async def health(request: HttpRequest) -> HttpResponseBase:
    """Answer {status, checks}; 503 where Loci fails, 200 where it works or works with less."""
    database = await _database_check()
    checks = {
        "database": database,
        "last_write": await last_write_check() if database.ok else HealthCheck(False, "not tried"),
    }
    checks |= await _lesser_checks(has_database=database.ok)
    status = status_of(checks)
    body = {"status": status, "checks": {name: asdict(check) for name, check in checks.items()}}
    code = HTTPStatus.SERVICE_UNAVAILABLE if status == "failing" else HTTPStatus.OK
    return JsonResponse(body, status=code)


def status_of(checks: dict[str, HealthCheck]) -> str:
    """Give ok, degraded or failing."""
    bad = {name for name, check in checks.items() if not check.ok}
    if bad & set(VITAL):
        return "failing"
    return "degraded" if bad else "ok"


def database_check() -> HealthCheck:
    """Can be read."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM memories_memory LIMIT 1")
    except DatabaseError as error:
        connection.close()
        return HealthCheck(False, f"cannot be read ({type(error).__name__})")
    return HealthCheck(True, "can be read")


async def last_write_check() -> HealthCheck:
    """The last write went through; one is tried where none was made lately."""
    try:
        last = await asyncio.wait_for(asyncio.shield(_probe()), WRITE_WAIT_S)
    except TimeoutError:
        return HealthCheck(False, f"a write has waited for {WRITE_WAIT_S:g} s")
    return (
        HealthCheck(False, f"the last write failed ({last.error})")
        if last.error
        else HealthCheck(True, "the last write worked")
    )


def lesser_checks(*, has_database: bool) -> dict[str, HealthCheck]:
    """Give the checks of what Loci can do without."""
    unknown = HealthCheck(False, "unknown without the database")
    return {
        "indexes": _checked(indexes_check) if has_database else unknown,
        "model": model_check(),
        "worker": _checked(worker_check) if has_database else unknown,
        "schedule": _checked(schedule_check) if has_database else unknown,
        "disk": disk_check(),
    }


def indexes_check() -> HealthCheck:
    """The search indexes and the triggers that fill them are there."""
    missing = search_index().missing_objects()
    if missing:
        return HealthCheck(False, f"{', '.join(missing)} missing: run 'loci doctor --repair'")
    return HealthCheck(True, "complete")


def model_check() -> HealthCheck:
    """The embedding model is there; "ready" is meant of this process."""
    return HealthCheck(*MODEL_SAYS[model_status().state])


def worker_check() -> HealthCheck:
    """A worker has reported lately."""
    seen = last_finished(HEARTBEAT)
    if seen is None:
        return HealthCheck(False, "none has reported yet")
    age = timezone.now() - seen
    seconds = round(age.total_seconds())
    return HealthCheck(age < WORKER_SILENT, f"reported {seconds} s ago")


def schedule_check() -> HealthCheck:
    """No job has failed or is overdue; which and how often is said, why is for admins ('loci schedule')."""
    jobs = [job for job in job_statuses() if job.name != HEARTBEAT]  # that one is the worker's check
    bad = [f"{job.name} failed {job.failures}×" for job in jobs if job.needs_care and job.failures]
    bad += [f"{job.name} is overdue" for job in jobs if job.needs_care and not job.failures]
    if bad:
        return HealthCheck(False, f"{', '.join(bad)}: see 'loci schedule'")
    paused = [job.name for job in jobs if job.state == "paused"]
    return HealthCheck(True, f"on time; paused: {', '.join(paused)}" if paused else "on time")


def disk_check() -> HealthCheck:
    """There is room to write."""
    free = shutil.disk_usage(settings.LOCI.home).free
    return HealthCheck(free >= LEAST_FREE_BYTES, f"{free / 1e9:.1f} GB free")


def _checked(check: Callable[[], HealthCheck]) -> HealthCheck:
    try:
        return check()
    except (DatabaseError, LociError) as error:
        return HealthCheck(False, f"cannot be told ({type(error).__name__})")


_database_check = in_db_thread(database_check)
_probe = in_db_thread(WATCH.probe)
_lesser_checks = in_db_thread(lesser_checks)
