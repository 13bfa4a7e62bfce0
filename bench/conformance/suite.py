"""Install the conformance suite, run it against a fixture server of our own, read what it found."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from bench.proof.proof import FOLDER, ProofError
from bench.proof.server import free_port, spawn
from bench.scripts import npm

HERE = Path(__file__).resolve().parent
CACHE = FOLDER / "conformance"
SUITE = Path("node_modules", "@modelcontextprotocol", "conformance")
SUITE_RUN_S = 300


@dataclass(frozen=True)
class RequirementSet:
    """The server's scenarios of one revision, in the order in which the suite runs them."""

    required: tuple[str, ...]
    not_scored: dict[str, str] = field(default_factory=dict)
    """Scenario → why it does not count: "extension", "pending" or "added-after-release"."""

    @property
    def scenarios(self) -> tuple[str, ...]:
        return (*self.required, *self.not_scored)


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


def run_suite(revision: str) -> list[ScenarioResult]:
    """Run all server scenarios of `revision` through Loci's bridge.

    Raises ProofError when npm, the suite or the server cannot be run.
    """
    install()
    file = CACHE / SUITE / "requirements" / f"{revision}.yaml"
    wanted = parse_requirements(file.read_text(encoding="utf-8"))
    output = CACHE / "results" / revision
    shutil.rmtree(output, ignore_errors=True)
    port = free_port()
    options = ["--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    command = [sys.executable, "-m", "uvicorn", "bench.conformance.asgi:application", *options]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "bench.conformance.settings"}
    server = spawn(command, port, CACHE / "server.log", environment)
    try:
        script = CACHE / SUITE / "dist" / "index.js"
        target = ["--url", f"{server.url}/mcp", "--requirements", revision, "-o", str(output)]
        with (CACHE / "suite.log").open("w", encoding="utf-8") as log:
            # Its exit code is not asked: the result files say more.
            subprocess.run(
                [str(node()), str(script), "server", *target],
                cwd=CACHE, stdout=log, stderr=log, timeout=SUITE_RUN_S, check=False,
            )  # fmt: skip
    finally:
        server.stop()
    return [_read_result(output, name, wanted.not_scored.get(name, "required")) for name in wanted.scenarios]


def install() -> None:
    """Put the locked packages into the cache folder, unless they are there already."""
    digest = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    stamp = CACHE / "installed"
    if stamp.is_file() and stamp.read_text() == digest:
        return
    npm.install(HERE, CACHE)
    stamp.write_text(digest)


def parse_requirements(text: str) -> RequirementSet:
    """Read a `requirements/<revision>.yaml` of the suite."""
    read = yaml.safe_load(text)
    others = [entry for entry in read["not_scored"] if entry["leg"] == "server"]
    return RequirementSet(tuple(read["server"]), {entry["scenario"]: entry["reason"] for entry in others})


def node() -> Path:
    """The Node.js that came with the suite; what the machine has may be too old."""
    system = {"win32": "win"}.get(sys.platform, sys.platform)
    chip = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(
        platform.machine().lower(), platform.machine()
    )
    for package in (f"node-{system}-{chip}", f"node-bin-{system}-{chip}"):
        for name in ("node", "node.exe"):
            if (file := CACHE / "node_modules" / package / "bin" / name).is_file():
                return file
    raise ProofError(f"No Node.js 24 package for {system}-{chip} is installed in {CACHE.name}.")


def _read_result(output: Path, name: str, note: str) -> ScenarioResult:
    """Count the checks of one scenario; one without a result file has no passed check, so is not green."""
    # The folder's name is the scenario's with a time behind it: server-<name>-2026-07-28T…
    start = f"server-{name}-"
    folders = [path for path in output.glob(f"{start}*") if path.name[len(start)].isdigit()]
    checks = [check for path in folders for check in json.loads((path / "checks.json").read_text("utf-8"))]
    statuses = [check["status"] for check in checks]
    failed = [check for check in checks if check["status"] == "FAILURE"]
    failures = tuple(f"{check['id']}: {check.get('errorMessage', '')}" for check in failed)
    return ScenarioResult(name, note, statuses.count("SUCCESS"), statuses.count("WARNING"), failures)
