"""Proof: the protocol's own conformance suite, installed from npm, finds every required scenario of a fixture server green."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.proof.proof import FOLDER, Finding, ProofError, Workshop
from bench.proof.server import free_port, spawn
from bench.scripts import npm

REVISION = "2026-07-28"
REQUIRED = "required"
HERE = Path(__file__).resolve().parent
CACHE = FOLDER / "conformance"
SUITE = CACHE / "node_modules" / "@modelcontextprotocol" / "conformance"
SUITE_RUN_S = 300


@dataclass(frozen=True)
class ScenarioResult:
    """What the suite found in one scenario: how many checks passed, and each failed one's id and words.

    `note` is "required", or why the scenario does not count: "extension", "pending" or "added-after-release".
    """

    name: str
    note: str
    passed: int
    failures: tuple[str, ...]

    @property
    def is_green(self) -> bool:
        """A scenario that checked nothing has shown nothing."""
        return not self.failures and self.passed > 0


def prove_conformance(workshop: Workshop) -> Finding:
    """Run all server scenarios through Loci's bridge; there is no small form, and it takes seconds."""
    install()
    wanted = parse_requirements((SUITE / "requirements" / f"{REVISION}.yaml").read_text(encoding="utf-8"))
    output = CACHE / "results" / REVISION
    shutil.rmtree(output, ignore_errors=True)
    port = free_port()
    options = ["--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    command = [sys.executable, "-m", "uvicorn", "bench.conformance.asgi:application", *options]
    server = spawn(command, port, CACHE / "server.log", os.environ | {"LOCI_HOME": str(CACHE / "home")})
    try:
        target = ["--url", f"{server.url}/mcp", "--requirements", REVISION, "-o", str(output)]
        suite = [str(node()), str(SUITE / "dist" / "index.js"), "server", *target]
        with (CACHE / "suite.log").open("w", encoding="utf-8") as log:
            # Its exit code is not asked: the result files say more.
            subprocess.run(suite, cwd=CACHE, stdout=log, stderr=log, timeout=SUITE_RUN_S, check=False)
    finally:
        server.stop()
    return judge([read_result(output, name, note) for name, note in wanted.items()])


def judge(results: list[ScenarioResult]) -> Finding:
    """Only required scenarios count; each failed check of one is a fault."""
    required = [result for result in results if result.note == REQUIRED]
    others = [result for result in results if result.note != REQUIRED]
    faults = [
        f"{result.name}: {text}"
        for result in required
        for text in result.failures or ("nothing was checked",)
        if not result.is_green
    ]
    numbers: dict[str, Any] = {
        "requirement set": REVISION,
        "required scenarios": len(required),
        "of these green": sum(result.is_green for result in required),
        "checks passed in them": sum(result.passed for result in required),
        "scenarios not scored": len(others),
        "not scored and green": sum(result.is_green for result in others),
    }
    return Finding(numbers, (*faults, *([] if required else ["the suite has no required scenario"])))


def install() -> None:
    """Put the locked packages into the cache folder, unless they are there already."""
    digest = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    stamp = CACHE / "installed"
    if stamp.is_file() and stamp.read_text() == digest:
        return
    npm.install(HERE, CACHE)
    stamp.write_text(digest)


def parse_requirements(text: str) -> dict[str, str]:
    """The server's scenarios of a `requirements/<revision>.yaml`, in the order in which the suite runs them, with their notes."""
    read = yaml.safe_load(text)
    others = {entry["scenario"]: entry["reason"] for entry in read["not_scored"] if entry["leg"] == "server"}
    return dict.fromkeys(read["server"], REQUIRED) | others


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


def read_result(output: Path, name: str, note: str) -> ScenarioResult:
    """Count the checks of one scenario; one without a result file has no passed check, so is not green."""
    # The folder's name is the scenario's with a time behind it: server-<name>-2026-07-28T…
    start = f"server-{name}-"
    folders = [path for path in output.glob(f"{start}*") if path.name[len(start)].isdigit()]
    checks = [check for path in folders for check in json.loads((path / "checks.json").read_text("utf-8"))]
    failures = [
        f"{check['id']}: {check.get('errorMessage', '')}" for check in checks if check["status"] == "FAILURE"
    ]
    passed = sum(check["status"] == "SUCCESS" for check in checks)
    return ScenarioResult(name, note, passed, tuple(failures))
