"""What somebody has who installs the package: two programs, the locked versions, the docs, and a Loci that runs."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from access.connect import program_called
from bench.reference.errors import PACKAGES
from tests.loci_site.server.running import READY, WORKER_READY, Running, free_port
from tests.settings import REPOSITORY
from tests.wheel import build_wheel, install_wheel, make_environment, outside

FOREIGN = "raise SystemExit('foreign code ran')\n"
SUMMARISER = """from maintenance.cycle.compaction.summary import Extractive

class Quoting(Extractive):
    pass
"""
pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="the layout of an environment is that of Unix"),
    pytest.mark.timeout(600),  # pip fetches the build backend
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs of an environment that has the wheel; one for all tests, each start compiles less."""
    return install_wheel(tmp_path_factory.mktemp("installed") / "environment") / "bin"


def test_the_wheel_pins_what_the_tests_ran_with_and_carries_the_docs() -> None:
    with zipfile.ZipFile(build_wheel()) as wheel:
        names = wheel.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        about = Parser().parsestr(wheel.read(metadata).decode())
    lock = (REPOSITORY / "requirements.lock").read_text(encoding="utf-8")
    pins = [need.split(";")[0] for need in about.get_all("Requires-Dist") or [] if "'locked'" in need]
    assert sorted(pins) == sorted(re.findall(r"^[\w.-]+(?:\[\w+\])?==[^\s;]+", lock, re.M))
    assert {"loci_site/_docs/quickstart.md", "loci_site/_docs/reference/settings.md"} <= set(names)
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"loci_site"}


@pytest.mark.server
def test_it_runs_outside_the_checkout_and_leaves_what_has_its_names_alone(
    installed: Path, tmp_path: Path
) -> None:
    """Others install a `storage` too, and a folder may have a `guard.py`: none of Loci's programs runs them."""
    names = sorted(set(PACKAGES) - {"loci_site"})
    environment, folder, home = installed.parent, tmp_path / "folder", tmp_path / "home"
    library = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    folder.mkdir()
    for name in names:
        (folder / f"{name}.py").write_text(FOREIGN, encoding="ascii")
        (library / name).mkdir()
        (library / name / "__init__.py").write_text(FOREIGN, encoding="ascii")
    (library / "our_summaries.py").write_text(SUMMARISER, encoding="ascii")
    env = outside(home) | {"LOCI_MAINTENANCE_SUMMARISER": "our_summaries.Quoting", "LOCI_LOG_LEVEL": "DEBUG"}

    def run(program: str, *words: str, stdin: str = "") -> str:
        command = [str(environment / "bin" / program), *words]
        done = subprocess.run(
            command,
            cwd=folder,
            env=env,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "foreign code ran" not in done.stdout + done.stderr
        return done.stdout

    python = str(environment / "bin" / "python")
    celery = [python, "-P", "-m", "celery", "-A", "loci_site", "report"]
    up = [str(environment / "bin" / "loci-team-memory"), "up", "--no-model", "--port", str(free_port())]
    with subprocess.Popen(
        up, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        running = Running(process, home, int(up[-1]))
        try:
            running.read_until(READY)
            running.read_until(WORKER_READY)
            assert running.health()[0] == 200
            run("loci", "hook", "--help")
            run("loci-hook", "claude-code", "session-start", stdin="{}")
            asked = subprocess.run(
                celery, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120
            )
            assert asked.returncode == 0, asked.stderr
        finally:
            running.stop()
    assert "foreign code ran" not in running.output
    assert "manage.py" not in running.output
    # It is on no PATH here, so a hint names the place.
    assert f"{installed / 'loci-team-memory'} token create NAME" in running.output
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}  # fmt: skip
    assert '"serverInfo"' in run("loci", "mcp", "--stdio", stdin=json.dumps(call) + "\n")
    assert "memory" in run("loci", "--help")
    run("loci", "compact", "--dry-run")
    run("loci", "stats")


def test_the_loci_of_a_checkout_speaks_of_loci(tmp_path: Path) -> None:
    """`make serve` and `.venv/bin/loci` show what can be typed again, with spaces in the checkout's path too."""
    checkout = tmp_path / "my checkout"
    checkout.mkdir()
    for package in PACKAGES:
        (checkout / package).symlink_to(REPOSITORY / package)
    make_environment(checkout / ".venv")
    shutil.copy(REPOSITORY / "Makefile", checkout)
    subprocess.run(["make", ".venv/bin/loci"], cwd=checkout, check=True)
    env = outside(tmp_path / "home")
    answer = subprocess.run(
        [".venv/bin/loci", "flush"], cwd=checkout, env=env, capture_output=True, text=True, check=False
    )
    assert f"; 'LOCI_HOME={tmp_path}/home .venv/bin/loci memory purge ID'" in answer.stderr


def test_a_program_on_the_path_is_named_by_its_name_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "loci"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(program), "up"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin")
    assert program_called() == "bin/loci"
    monkeypatch.setenv("PATH", str(program.parent))
    assert program_called() == "loci"


def test_uvx_is_named_where_it_runs_loci(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prefix = tmp_path / "uv" / "archive-v0" / "Xy1"
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "argv", [str(prefix / "bin" / "loci-team-memory"), "up"])
    assert program_called() == "uvx loci-team-memory"
