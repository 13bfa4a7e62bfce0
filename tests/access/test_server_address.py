"""Commands show the address of the running server, whatever their own settings are."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from access.connect import ADDRESS_FILE, base_url, publish_address, running_address
from loci_site.config import load_config
from tests.settings import REPOSITORY

URL = "http://127.0.0.1:8461"


def test_the_address_is_known_while_it_is_told(tmp_path: Path) -> None:
    assert running_address(tmp_path) is None
    with publish_address(tmp_path, URL):
        assert running_address(tmp_path) == URL
        assert running_address(tmp_path) == URL  # asking does not end it
    assert running_address(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_server_left_says_nothing_and_the_next_one_is_told(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from access.connect import publish_address\n"
        f"with publish_address(pathlib.Path(sys.argv[1]), {URL!r}): print('told', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "told\n"
        assert running_address(tmp_path) == URL
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
    assert (tmp_path / ADDRESS_FILE).read_text(encoding="utf-8") == URL
    assert running_address(tmp_path) is None
    with publish_address(tmp_path, "http://127.0.0.1:9"):
        assert running_address(tmp_path) == "http://127.0.0.1:9"


def test_the_public_address_comes_first_then_that_of_who_runs_then_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"LOCI_HOME": str(tmp_path), "LOCI_PORT": "9001"}
    monkeypatch.setattr(settings, "LOCI", load_config(own))
    assert base_url() == "http://127.0.0.1:9001"
    with publish_address(tmp_path, URL):
        assert base_url() == URL
        public = own | {"LOCI_SERVER_PUBLIC_URL": "https://memory.example.org/"}
        monkeypatch.setattr(settings, "LOCI", load_config(public))
        assert base_url() == "https://memory.example.org"
