"""/health reports what works and what does not, and nothing private."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from loci_site.server.health import WATCH, WRITE_WAIT_S, HealthCheck, LastWrite, WriteWatch, status_of
from maintenance.jobs import HEARTBEAT
from maintenance.models import JobLock
from tests.memories.indexes import WORD_TRIGGER, drop_word_trigger


@pytest.fixture(autouse=True)
def fresh_watch(settings: Settings) -> Iterator[None]:
    """No write was seen yet; database work stays in the test's thread and transaction."""
    settings.LOCI_DB_THREADS = "sensitive"
    WATCH.last = None
    yield
    WATCH.last = None


@pytest.fixture
def worker(db: None) -> JobLock:
    """A worker that reported just now."""
    return JobLock.objects.create(name=HEARTBEAT, last_finished=timezone.now())


@pytest.mark.model
def test_all_is_well(client: Client, worker: JobLock) -> None:
    answer = client.get("/health")
    body = answer.json()
    assert (answer.status_code, body["status"]) == (200, "ok")
    assert set(body["checks"]) == {"database", "last_write", "indexes", "model", "worker", "schedule", "disk"}
    assert all(check["ok"] for check in body["checks"].values())
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.sqlite(reason="a database made full or read-only by a pragma")
@pytest.mark.django_db(transaction=True)
def test_a_database_that_takes_no_writes_fails(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = ON")
    try:
        answer = client.get("/health")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = OFF")
    checks = answer.json()["checks"]
    assert (answer.status_code, answer.json()["status"]) == (503, "failing")
    assert checks["database"]["ok"]
    assert checks["last_write"] == {"ok": False, "detail": "the last write failed: the store is read-only"}
    assert client.get("/health").status_code == 200  # as soon as a write works again


@pytest.mark.sqlite(reason="a database made full or read-only by a pragma")
@pytest.mark.django_db(transaction=True)
def test_a_real_write_that_failed_is_remembered() -> None:
    WATCH.watch(connection=connection)
    try:
        JobLock.objects.create(name="one")
        assert WATCH.last is not None
        assert WATCH.last.error == ""
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = ON")
        with pytest.raises(OperationalError):
            JobLock.objects.filter(name="one").update(holder="somebody")
        assert WATCH.last.error == "the store is read-only"
    finally:
        connection.execute_wrappers.clear()
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = OFF")


@pytest.mark.django_db
def test_no_probe_is_made_while_writes_go_through() -> None:
    first = WATCH.probe()
    assert first.error == ""
    assert WATCH.probe() is first


def test_while_one_probe_waits_the_others_wait_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can hold every database thread by asking for /health while the database is locked."""
    watch, seen = WriteWatch(), []
    watch.last = LastWrite(0.0, "OperationalError")

    def locked(_chars: int) -> None:  # the database's own wait, during which another caller comes
        seen.append(watch.probe())
        watch._probing_since -= WRITE_WAIT_S + 1
        seen.append(watch.probe())

    monkeypatch.setattr("loci_site.server.health.write_probe", locked)
    assert watch.probe().error == ""
    assert [each.error for each in seen] == ["OperationalError", "a write has waited for more than 3 s"]
    assert watch.probe().error == ""


def test_a_missing_trigger_is_named(client: Client, worker: JobLock) -> None:
    drop_word_trigger()
    body = client.get("/health").json()
    assert body["status"] == "degraded"
    assert body["checks"]["indexes"]["detail"].startswith(f"{WORD_TRIGGER} missing")


def test_a_silent_worker_is_told(client: Client, worker: JobLock) -> None:
    JobLock.objects.filter(name=HEARTBEAT).update(last_finished=timezone.now() - timedelta(seconds=600))
    check = client.get("/health").json()["checks"]["worker"]
    assert check == {"ok": False, "detail": "reported 600 s ago"}


@pytest.mark.django_db
def test_without_a_model_it_says_what_works_and_tells_no_path(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.LOCI = replace(settings.LOCI, home=tmp_path)
    body = client.get("/health").json()
    assert body["status"] == "degraded"
    assert body["checks"]["model"]["detail"].startswith("not installed: recall works by keywords")
    assert str(tmp_path) not in json.dumps(body)


@pytest.mark.django_db
def test_only_reading_is_allowed(client: Client) -> None:
    assert client.post("/health").status_code == 405
    assert client.head("/health").status_code == 200


@pytest.mark.parametrize(
    ("bad", "status"),
    [
        (set(), "ok"),
        ({"model"}, "degraded"),
        ({"worker", "disk", "indexes"}, "degraded"),
        ({"last_write"}, "failing"),
        ({"database", "model"}, "failing"),
    ],
)
def test_only_what_is_vital_makes_it_fail(bad: set[str], status: str) -> None:
    names = ("database", "last_write", "indexes", "model", "worker", "disk")
    assert status_of({name: HealthCheck(name not in bad, "") for name in names}) == status
