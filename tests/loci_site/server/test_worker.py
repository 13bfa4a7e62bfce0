"""A worker of its own, as `python -m loci_site.worker jobs` starts it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from storage.sqlite.base import connect_to_copy
from tests.fresh_homes import with_tables
from tests.settings import REPOSITORY

LONGEST_S = 200


@pytest.mark.server
def test_it_does_what_is_asked_and_ends_with_a_signal(tmp_path: Path) -> None:
    home = with_tables(tmp_path / "home")
    (home / "queue").mkdir()  # of an earlier version
    environment = {**os.environ, "LOCI_HOME": str(home), "DJANGO_SETTINGS_MODULE": "loci_site.settings"}
    database = connect_to_copy(home / "memory.db")
    database.execute(
        "INSERT INTO maintenance_joblock (name, holder, asked_at, asked_by, paused_by, expected_since, last_error, failures)"
        " VALUES ('guard_scan', '', datetime('now'), 'alice', '', datetime('now'), '', 0)"
    )
    database.commit()
    command = [sys.executable, "-m", "loci_site.worker", "jobs"]
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
    assert not (home / "queue").exists()


def finished(database: object) -> list[tuple[str]]:
    """Which of the two jobs succeeded: the one asked for in its row, and the heartbeat."""
    return database.execute(  # type: ignore[attr-defined,no-any-return]
        "SELECT name FROM maintenance_joblock WHERE last_finished IS NOT NULL AND name IN ('heartbeat', 'guard_scan')"
    ).fetchall()
