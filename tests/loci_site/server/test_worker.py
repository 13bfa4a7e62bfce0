"""The worker that `celery -A loci_site worker` starts, without Redis and without a queue on the disk."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loci_site.worker import broker_settings
from storage.sqlite.base import connect_to_copy
from tests.fresh_homes import with_tables
from tests.settings import REPOSITORY

LONGEST_S = 200


def test_redis_is_taken_where_it_is_set() -> None:
    assert broker_settings("redis://localhost:6379/0") == {"broker_url": "redis://localhost:6379/0"}
    assert broker_settings("")["broker_url"] == "memory://localhost"


@pytest.mark.server
def test_celery_starts_the_worker_by_the_name_of_the_site(tmp_path: Path) -> None:
    home = with_tables(tmp_path / "home")
    (home / "queue").mkdir()  # of an earlier version
    environment = {**os.environ, "LOCI_HOME": str(home), "DJANGO_SETTINGS_MODULE": "loci_site.settings"}
    database = connect_to_copy(home / "memory.db")
    database.execute(
        "INSERT INTO maintenance_joblock (name, holder, asked_at, asked_by, paused_by, expected_since, last_error, failures)"
        " VALUES ('guard_scan', '', datetime('now'), 'alice', '', datetime('now'), '', 0)"
    )
    database.commit()
    command = [sys.executable, "-m", "celery", "-A", "loci_site", "worker"]
    with subprocess.Popen(command, cwd=REPOSITORY, env=environment, stderr=subprocess.DEVNULL) as worker:
        try:
            deadline = time.monotonic() + LONGEST_S
            while len(finished(database)) < 2:
                assert time.monotonic() < deadline, finished(database)
                assert worker.poll() is None
                time.sleep(0.2)
            assert os.getpriority(os.PRIO_PROCESS, worker.pid) == 10
        finally:
            worker.terminate()
    database.close()
    assert worker.returncode == 0


def finished(database: object) -> list[tuple[str]]:
    """Which of the two jobs succeeded: the one asked for in its row, and the heartbeat."""
    return database.execute(  # type: ignore[attr-defined,no-any-return]
        "SELECT name FROM maintenance_joblock WHERE last_finished IS NOT NULL AND name IN ('heartbeat', 'guard_scan')"
    ).fetchall()
