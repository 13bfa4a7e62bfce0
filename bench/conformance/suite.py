"""Install the conformance suite, run it against a fixture server of our own, read what it found."""

import hashlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.conformance.requirements import RequirementSet, parse_requirements

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
CACHE = REPOSITORY / ".proof" / "conformance"
SUITE = Path("node_modules", "@modelcontextprotocol", "conformance")
SCENARIO_LINE = "=== Running scenario: "
SERVER_START_S = 30
SUITE_RUN_S = 300


class SuiteError(Exception):
    """The suite could not be run; the text says what to do."""


@dataclass(frozen=True)
class ScenarioResult:
    """What the suite found in one scenario."""

    name: str
    note: str
    """ "required", or why the scenario does not count."""
    passed: int
    warnings: int
    failures: tuple[str, ...]
    """Each failed check: its id and the suite's words."""

    @property
    def is_required(self) -> bool:
        return self.note == "required"

    @property
    def is_green(self) -> bool:
        """A scenario that checked nothing has shown nothing."""
        return not self.failures and self.passed > 0


def run_suite(revision: str, *, progress: Callable[[str], None]) -> list[ScenarioResult]:
    """Run all server scenarios of `revision` through Loci's bridge; `progress` is told what happens.

    Raises SuiteError when npm, the suite or the server cannot be run.
    """
    progress("installing the suite")
    install()
    wanted = requirement_set(revision)
    output = CACHE / "results" / revision
    shutil.rmtree(output, ignore_errors=True)
    with fixture_server() as url:
        arguments = ["server", "--url", url, "--requirements", revision, "-o", str(output)]
        _run_scenarios(arguments, len(wanted.scenarios), progress)
    return [_read_result(output, name, wanted.not_scored.get(name, "required")) for name in wanted.scenarios]


def install() -> None:
    """Put the locked packages into the cache folder, unless they are there already."""
    lock = (HERE / "package-lock.json").read_bytes()
    stamp = CACHE / "installed"
    digest = hashlib.sha256(lock).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SuiteError("npm was not found. Install Node.js (any version with npm 9 or later).")
    CACHE.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(HERE / name, CACHE / name)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        raise SuiteError("\n".join(["npm could not install the suite:", *errors]))
    stamp.write_text(digest)


def requirement_set(revision: str) -> RequirementSet:
    """The installed suite's list for `revision`."""
    folder = CACHE / SUITE / "requirements"
    file = folder / f"{revision}.yaml"
    if not file.is_file():
        known = ", ".join(sorted(path.stem for path in folder.glob("*.yaml")))
        raise SuiteError(f"The suite has no requirement set {revision!r}. It has: {known}.")
    return parse_requirements(file.read_text(encoding="utf-8").splitlines())


def node() -> Path:
    """The Node.js that came with the suite; what the machine has may be too old."""
    system = {"linux": "linux", "darwin": "darwin", "win32": "win"}.get(sys.platform, sys.platform)
    chip = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(
        platform.machine().lower(), platform.machine()
    )
    for package in (f"node-{system}-{chip}", f"node-bin-{system}-{chip}"):
        for name in ("node", "node.exe"):
            if (file := CACHE / "node_modules" / package / "bin" / name).is_file():
                return file
    raise SuiteError(f"No Node.js 24 package for {system}-{chip} is installed in {CACHE.name}.")


@contextmanager
def fixture_server() -> Iterator[str]:
    """The fixture server in a process of its own on a free port; gives the URL of its endpoint."""
    port = _free_port()
    command = [sys.executable, "-m", "uvicorn", "bench.conformance.asgi:application"]
    options = ["--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "bench.conformance.settings"}
    process = subprocess.Popen([*command, *options], cwd=REPOSITORY, env=environment)
    try:
        _wait_until_open(process, port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(timeout=SERVER_START_S)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_open(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + SERVER_START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SuiteError(f"The fixture server ended with code {process.returncode}; its words are above.")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SuiteError(f"The fixture server did not open its port within {SERVER_START_S} s.")


def _run_scenarios(arguments: list[str], total: int, progress: Callable[[str], None]) -> None:
    """Run the suite to its end. Its exit code is not asked: the result files say more."""
    script = CACHE / SUITE / "dist" / "index.js"
    command = [str(node()), str(script), *arguments]
    log = CACHE / "suite.log"
    with (
        log.open("w", encoding="utf-8") as record,
        subprocess.Popen(
            command,
            cwd=CACHE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        ) as process,
    ):
        assert process.stdout is not None
        deadline = time.monotonic() + SUITE_RUN_S
        number = 0
        for line in process.stdout:
            record.write(line)
            if line.startswith(SCENARIO_LINE):
                number += 1
                name = line.removeprefix(SCENARIO_LINE).rstrip("= \n")
                progress(f"{number}/{total} {name}")
            if time.monotonic() > deadline:
                process.kill()
                raise SuiteError(f"The suite ran longer than {SUITE_RUN_S} s; see {log.name}.")


def _read_result(output: Path, name: str, note: str) -> ScenarioResult:
    """Count the checks of one scenario; one without a result file has no passed check, so is not green."""
    # The folder's name is the scenario's with a time behind it: server-<name>-2026-07-28T…
    folders = [
        path for path in output.glob(f"server-{name}-*") if path.name[len(f"server-{name}-")].isdigit()
    ]
    checks = [check for path in folders for check in json.loads((path / "checks.json").read_text("utf-8"))]
    statuses = [check["status"] for check in checks]
    failures = tuple(
        f"{check['id']}: {check.get('errorMessage', '')}" for check in checks if check["status"] == "FAILURE"
    )
    return ScenarioResult(name, note, statuses.count("SUCCESS"), statuses.count("WARNING"), failures)
