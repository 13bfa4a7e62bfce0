"""/metrics: off without a token, closed to every other token, and figures that name no text, group or person."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from access.tokens import operator
from maintenance.jobs import HEARTBEAT
from maintenance.models import JobLock
from memories.draft import Draft
from memories.models import Piece, RecallLog
from memories.store import store
from tests.people import alice, make_token

__all__ = ["alice"]
pytestmark = pytest.mark.django_db
TOKEN = "scrape-me-every-15-s"
SAMPLE = re.compile(r'^(loci_\w+)(?:\{(\w+="[^"]*")\})? (\S+)$')


@pytest.fixture(autouse=True)
def in_this_thread(settings: Settings) -> None:
    settings.LOCI_DB_THREADS = "sensitive"


@pytest.fixture
def on(settings: Settings, tmp_path: Path) -> Settings:
    """A home of its own, with the endpoint switched on."""
    server = replace(settings.LOCI.server, metrics_token=TOKEN)
    settings.LOCI = replace(settings.LOCI, server=server, home=tmp_path)
    return settings


def read(client: Client) -> dict[tuple[str, str], float]:
    """Each sample of the answer; every line that is no comment must be one, under a HELP and a TYPE."""
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    samples, known = {}, set()
    for line in answer.content.decode().splitlines():
        if line.startswith("# TYPE "):
            known.add(line.split()[2])
        elif not line.startswith("# HELP "):
            found = SAMPLE.match(line)
            assert found, line
            assert found[1] in known
            samples[found[1], found[2] or ""] = float(found[3])
    return samples


def test_it_is_off_without_a_token_of_its_own(client: Client) -> None:
    assert client.get("/metrics").status_code == 404


def test_no_other_token_opens_it(client: Client, on: Settings, alice: User) -> None:
    for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Bearer {make_token(alice)}"}):
        answer = client.get("/metrics", headers=header)
        assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
        assert b"loci_" not in answer.content
    assert client.post("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 405


def test_the_figures_are_those_of_the_store(client: Client, on: Settings) -> None:
    now = timezone.now()
    JobLock.objects.create(name=HEARTBEAT, last_finished=now)
    JobLock.objects.create(name="backup", failures=2, last_failed=now, last_error="OSError: no room in /srv")
    store(operator(), Draft("The roses need water.", group="garden", scope="group"))
    Piece.objects.update(embedding=None)
    for ago, ms in ((1, 40.0), (2, 10.0), (3, 20.0), (30, 9_000.0)):
        RecallLog.objects.create(
            at=now - timedelta(minutes=ago),
            actor="alice",
            via="rest",
            mode="hybrid",
            query="roses",
            duration_ms=ms,
        )
    RecallLog.objects.filter(duration_ms=20.0).update(degraded=True)
    last = RecallLog.objects.latest("key").key
    backups = Path(on.LOCI.home) / "backups"
    backups.mkdir()
    (backups / "loci-20260301T120000Z-0a1b.zip").write_bytes(b"")

    figures = read(client)

    assert figures["loci_recalls_total", ""] == last
    assert figures["loci_recent_recalls", ""] == 3  # the fourth is half an hour old
    assert figures["loci_recent_recalls", 'kind="keywords_only"'] == 1
    assert figures["loci_recent_recall_seconds", 'quantile="0.5"'] == 0.02
    assert figures["loci_recent_recall_seconds", 'quantile="0.99"'] == 0.04
    assert figures["loci_owed_vectors", ""] == 1
    assert figures["loci_check_ok", 'check="database"'] == 1
    assert figures["loci_check_ok", 'check="worker"'] == 1
    assert figures["loci_check_ok", 'check="schedule"'] == 0
    assert figures["loci_job_failures", 'job="backup"'] == 2
    assert figures["loci_disk_free_bytes", ""] > 0
    assert figures["loci_database_bytes", ""] > 100_000
    assert 0 <= figures["loci_backup_age_seconds", ""] < 60
    assert figures["loci_changes_total", ""] >= 1
    words = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    assert not [word for word in ("roses", "garden", "alice", "/srv", str(on.LOCI.home)) if word in words]


def test_a_recall_that_is_deleted_from_the_log_stays_counted(client: Client, on: Settings) -> None:
    for _ in range(3):
        row = RecallLog.objects.create(
            at=timezone.now(), actor="a", via="rest", mode="hybrid", query="q", duration_ms=1
        )
    before = read(client)["loci_recalls_total", ""]
    RecallLog.objects.exclude(key=row.key).delete()
    assert read(client)["loci_recalls_total", ""] == before
