"""`/metrics`: figures for Prometheus, without any stored text or name; off unless `server.metrics_token` is set.

All figures come from the database and the disk, so every web process answers the same.
"""

import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from hmac import compare_digest
from http import HTTPStatus
from math import ceil
from typing import Final

from django.conf import settings
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from access.models import AuditEntry
from loci_site import __version__
from loci_site.server.db_threads import in_db_thread
from loci_site.server.health import check_database, last_write_check, lesser_checks
from maintenance.backups.folder import backup_paths
from maintenance.embeddings.backfill import owed_pieces
from maintenance.jobs import HEARTBEAT
from maintenance.schedule import job_statuses
from memories.models import RecallLog
from storage.dialect import dialect

_CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_RECENT: Final = timedelta(minutes=10)
_MOST_RECALLS: Final = 10_000  # of the last ten minutes, that quantiles are computed from
_QUANTILES: Final = (0.5, 0.95, 0.99)


@dataclass(frozen=True)
class _Metric:
    """One family of figures: each value with its labels, rendered as `label="value"`."""

    name: str
    kind: str
    meaning: str
    values: Mapping[str, float]

    def render(self) -> str:
        rows = [
            f"{self.name}{{{labels}}} {value:.17g}" if labels else f"{self.name} {value:.17g}"
            for labels, value in self.values.items()
        ]
        return "\n".join([f"# HELP {self.name} {self.meaning}", f"# TYPE {self.name} {self.kind}", *rows])


@never_cache
@require_safe
async def metrics(request: HttpRequest) -> HttpResponse:
    """The figures, for a request with the token of the settings; 404 if there is none."""
    token = settings.LOCI.server.metrics_token
    if not token:
        return HttpResponse(
            "Not found: server.metrics_token is not set.\n", _CONTENT_TYPE, HTTPStatus.NOT_FOUND
        )
    given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
    if not compare_digest(given.encode(), token.encode()):
        answer = HttpResponse(
            "Send server.metrics_token as a bearer token.\n", _CONTENT_TYPE, HTTPStatus.UNAUTHORIZED
        )
        answer["WWW-Authenticate"] = "Bearer"
        return answer
    database = await check_database()
    if not database.ok:
        figures = [_check_metric({"database": False})]
    else:
        last_write = await last_write_check()
        figures = await _read_figures(last_write_ok=last_write.ok)
    return HttpResponse("\n".join(figure.render() for figure in figures) + "\n", _CONTENT_TYPE)


def _collect_figures(*, last_write_ok: bool) -> list[_Metric]:
    checks = {name: check.ok for name, check in lesser_checks(has_database=True).items()}
    return [
        _Metric("loci_info", "gauge", "The running version.", {f'version="{__version__}"': 1}),
        _check_metric({"database": True, "last_write": last_write_ok} | checks),
        *_recall_metrics(),
        _Metric("loci_changes_total", "counter", "Rows of the audit log.", {"": _last_key(AuditEntry)}),
        _Metric(
            "loci_owed_vectors", "gauge", "Pieces of text without a vector.", {"": owed_pieces().count()}
        ),
        *_job_metrics(),
        *_disk_metrics(),
    ]


def _check_metric(checks: Mapping[str, bool]) -> _Metric:
    values = {f'check="{name}"': float(ok) for name, ok in checks.items()}
    return _Metric("loci_check_ok", "gauge", "The checks of /health: 1 fine, 0 not.", values)


def _recall_metrics() -> Iterator[_Metric]:
    """The number of recalls, and how long the recent ones took. Rows of the log are deleted, keys only grow."""
    yield _Metric("loci_recalls_total", "counter", "Recalls so far.", {"": _last_key(RecallLog)})
    since = timezone.now() - _RECENT
    recent = RecallLog.objects.filter(at__gte=since).order_by("-at")
    rows = list(recent.values_list("duration_ms", "abstained", "degraded")[:_MOST_RECALLS])
    values = {
        "": len(rows),
        'kind="abstained"': sum(1 for _, abstained, _ in rows if abstained),
        'kind="keywords_only"': sum(1 for _, _, degraded in rows if degraded),
    }
    yield _Metric(
        "loci_recent_recalls", "gauge", "Recalls of the last 10 minutes, of all kinds and some.", values
    )
    seconds = sorted(duration_ms / 1000 for duration_ms, _, _ in rows)
    quantiles = (
        {f'quantile="{q}"': seconds[ceil(q * len(seconds)) - 1] for q in _QUANTILES} if seconds else {}
    )
    yield _Metric(
        "loci_recent_recall_seconds", "gauge", "How long the recalls of the last 10 minutes took.", quantiles
    )


def _last_key(model: type[RecallLog] | type[AuditEntry]) -> int:
    """The number of rows that a table with growing keys ever had; 0 for an empty one."""
    found: int | None = model.objects.aggregate(last=Max("key"))["last"]
    return found or 0


def _job_metrics() -> Iterator[_Metric]:
    """The scheduled jobs: when each last succeeded, and how often it has failed since."""
    jobs = job_statuses()
    ran = {f'job="{job.name}"': job.last_run.timestamp() for job in jobs if job.last_run}
    yield _Metric("loci_job_last_success_timestamp_seconds", "gauge", "When the job last succeeded.", ran)
    failed = {f'job="{job.name}"': float(job.failures) for job in jobs if job.name != HEARTBEAT}
    yield _Metric("loci_job_failures", "gauge", "Failures of the job since its last success.", failed)


def _disk_metrics() -> Iterator[_Metric]:
    usage = shutil.disk_usage(settings.LOCI.home)
    yield _Metric("loci_disk_free_bytes", "gauge", "Free space on the disk of LOCI_HOME.", {"": usage.free})
    yield _Metric(
        "loci_database_bytes", "gauge", "Size of the database's files.", {"": dialect().stored_bytes()}
    )
    newest = max((path.stat().st_mtime for path in backup_paths()), default=None)
    ages = {} if newest is None else {"": max(0.0, time.time() - newest)}
    yield _Metric("loci_backup_age_seconds", "gauge", "Age of the newest backup in LOCI_HOME/backups.", ages)


_read_figures = in_db_thread(_collect_figures)
