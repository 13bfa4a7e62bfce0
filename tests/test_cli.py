"""The `loci` command on a machine where nothing has been prepared."""

import os
import subprocess
import sys
from pathlib import Path

from django.test import Client

from loci_site import __version__
from tests.settings import REPOSITORY


def loci(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, over a home of its own."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=REPOSITORY,
        env=os.environ | {"LOCI_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_version_is_locis_own(tmp_path: Path) -> None:
    assert loci(tmp_path, "--version").stdout == f"Loci {__version__}\n"


def test_a_command_that_serves_nobody_does_not_load_what_serves(tmp_path: Path) -> None:
    code = "import django, sys; django.setup(); print(sorted({'ninja', 'pydantic', 'mcp'} & {*sys.modules}))"
    environment = {"LOCI_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "loci_site.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_a_first_command_makes_the_database(tmp_path: Path) -> None:
    done = loci(tmp_path, "remember", "The deploy port is 8081.", "--group", "ledger")
    assert done.returncode == 0, done.stderr
    assert "Made a new database" in done.stderr
    again = loci(tmp_path, "stats", "--group", "ledger", "--json")
    assert '"live": 1' in again.stdout
    assert "Made a new database" not in again.stderr


def test_an_older_database_is_named_in_one_sentence(tmp_path: Path) -> None:
    loci(tmp_path, "migrate", "memories", "zero")
    done = loci(tmp_path, "stats", "--group", "ledger")
    assert done.returncode == 1
    assert "Run 'loci migrate'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_root_leads_to_the_browser_pages(client: Client) -> None:
    assert client.get("/").headers["Location"] == "/login/"
