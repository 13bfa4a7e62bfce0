"""Several processes remember into one file at once: nothing is lost, nobody finds it locked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fresh_homes import with_tables
from tests.settings import REPOSITORY

PROCESSES, LINES = 4, 6


@pytest.mark.model
@pytest.mark.server
def test_four_processes_remember_into_one_file(tmp_path: Path) -> None:
    with_tables(tmp_path)
    env = {**os.environ, "LOCI_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "loci_site.settings"}
    manage = [sys.executable, "-W", "ignore", str(REPOSITORY / "manage.py")]
    running = [
        subprocess.Popen(
            [*manage, "remember", "-", "--lines", "--type", "episodic", "--group", "ledger"],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(PROCESSES)
    ]  # fmt: skip
    for number, process in enumerate(running):
        assert process.stdin is not None
        process.stdin.write("".join(f"Writer {number} saw event {line}.\n" for line in range(LINES)))
        process.stdin.close()
        process.stdin = None
    ended = [process.communicate(timeout=100) for process in running]
    assert [(process.returncode, error) for process, (_, error) in zip(running, ended, strict=True)] == [
        (0, "")
    ] * PROCESSES
    assert sum(out.count("Created") for out, _ in ended) == PROCESSES * LINES
    counted = subprocess.run(
        [*manage, "stats", "--json"], env=env, check=True, capture_output=True, text=True
    ).stdout
    assert f'"live": {PROCESSES * LINES}' in counted
