"""A database that the settings name and that is missing is created by `up` and `migrate` alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.settings import REPOSITORY


def loci(home: Path, *words: str, database: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with LOCI_DB set."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=REPOSITORY,
        env={**os.environ, "LOCI_HOME": str(home), "LOCI_DB": str(database)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    "words",
    [("remember", "The port is 8081.", "--group", "g"), ("stats",), ("backup",), ("audit", "verify")],
    ids=lambda words: words[0],
)
def test_a_command_names_the_missing_file_and_makes_none(tmp_path: Path, words: tuple[str, ...]) -> None:
    database = tmp_path / "unmounted" / "memory.db"
    done = loci(tmp_path / "home", *words, database=database)
    assert done.returncode == 1
    assert f"There is no database at {database}" in done.stderr
    assert "loci migrate" in done.stderr
    assert "Traceback" not in done.stderr
    assert not database.exists()


def test_migrate_creates_it(tmp_path: Path) -> None:
    database = tmp_path / "disk" / "memory.db"
    assert loci(tmp_path / "home", "migrate", "-v0", database=database).returncode == 0
    done = loci(tmp_path / "home", "remember", "The port is 8081.", "--group", "g", database=database)
    assert done.returncode == 0, done.stderr


def test_the_default_path_is_created_by_any_first_command_even_if_it_is_set(tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = loci(home, "remember", "The port is 8081.", "--group", "g", database=home / "memory.db")
    assert done.returncode == 0, done.stderr
    assert "Created a new database" in done.stderr
