"""Loci runs no Python file of the folder that it is started in, whatever the file is called."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loci_site.hooks import client as hook_client
from loci_site.server.up import child_environment
from tests.fresh_homes import with_tables
from tests.loci_site.server.running import WORKER_READY, environment, running
from tests.settings import REPOSITORY

NAMES = (
    "guard",
    "storage",
    "sitecustomize",
    "access",
    "maintenance",
    "loci_site",
    "json",
    "django",
    "celery",
)
PACKAGES = ("access", "guard", "loci_site", "maintenance", "memories", "relations", "sources", "storage")
MANAGE = str(REPOSITORY / "manage.py")
LONGEST_S = 200
pytestmark = pytest.mark.server


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, in which every module leaves a file when it is run."""
    folder = tmp_path / "cloned"
    folder.mkdir()
    for name in NAMES:
        program = f"open({str(folder / 'ran')!r}, 'a').write({name!r} + ' ')"
        (folder / f"{name}.py").write_text(program)
    monkeypatch.chdir(folder)
    # An empty entry is the current folder, too.
    monkeypatch.setenv("PYTHONPATH", f"{REPOSITORY}{os.pathsep}")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return with_tables(tmp_path / "home")


def ran(folder: Path) -> str:
    """The modules of the folder that were run."""
    return (folder / "ran").read_text() if (folder / "ran").exists() else ""


def test_the_folder_is_hostile(hostile: Path) -> None:
    subprocess.run([sys.executable, "-m", "json.tool"], stdin=subprocess.DEVNULL, check=False)
    assert ran(hostile) == "sitecustomize json "


def test_web_processes_and_worker(hostile: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    with running(home, with_worker=True, web_processes=2, folder=hostile) as run:
        assert run.health()[0] == 200
        assert len(run.children("server.web")) == 2
    assert ran(hostile) == ""


def test_entries_of_pythonpath_that_mean_the_current_folder_are_left_out(hostile: Path) -> None:
    assert child_environment()["PYTHONPATH"] == f"{REPOSITORY}{os.pathsep}{REPOSITORY}"


def test_a_worker_that_celery_starts(hostile: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    # Without --workdir Celery itself looks for `loci_site` in the current folder.
    monkeypatch.setenv("LOCI_LOG_LEVEL", "DEBUG")
    words = "--workdir / -A loci_site --quiet worker"
    command = [str(Path(sys.executable).parent / "celery"), *words.split()]
    log = home / "worker.log"
    with log.open("w") as told, subprocess.Popen(command, env=environment(home), stderr=told) as worker:
        deadline = time.monotonic() + LONGEST_S
        while WORKER_READY not in log.read_text() and worker.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        worker.terminate()
    assert WORKER_READY in log.read_text()
    assert ran(hostile) == ""


def test_mcp_on_standard_input(hostile: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}  # fmt: skip
    done = subprocess.run(
        [sys.executable, MANAGE, "mcp", "--stdio"], env=environment(home), input=json.dumps(hello) + "\n",
        capture_output=True, text=True, timeout=LONGEST_S, check=False,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[0])["id"] == 1, done.stderr
    assert ran(hostile) == ""


def test_the_hook(hostile: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    hook = [sys.executable, hook_client.__file__, "claude-code", "session-start"]
    subprocess.run(hook, env=environment(home), input="{}", text=True, timeout=LONGEST_S, check=True)
    assert ran(hostile) == ""


def test_no_python_process_is_started_with_the_current_folder_in_its_path() -> None:
    sources = (path for package in PACKAGES for path in (REPOSITORY / package).rglob("*.py"))
    assert [
        path.name
        for path in sources
        if 'sys.executable, "-m"' in (text := path.read_text()) or 'sys.executable, "-c"' in text
    ] == []
