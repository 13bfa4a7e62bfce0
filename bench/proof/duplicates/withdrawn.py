"""Proof: what dresses a withdrawn text does not come back live, and what states another fact is not refused."""

import json
import os
import subprocess
import sys
from typing import Any

from bench.proof.proof import REPOSITORY, Finding, ProofError, Workshop

FILE = "tests/memories/store/test_withdrawn_lists.py"


def prove_withdrawn(workshop: Workshop) -> Finding:
    """Try both lists with every verb and face, or with `--quick` the sample of `make test`."""
    report = workshop.folder / "withdrawn.jsonl"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "timeout=0", FILE]
    environment = os.environ | {"LOCI_WITHDRAWN_REPORT": str(report)}
    if workshop.is_quick:
        environment["LOCI_WITHDRAWN_SAMPLE"] = "1"
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1) or not report.exists():
        raise ProofError(f"{FILE} could not be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    numbers: dict[str, Any] = {}
    for line in report.read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        numbers |= {f"{found['name']}: {name}": count for name, count in found["counts"].items()}
    return Finding(numbers, (done.stdout[-3000:],) if done.returncode else ())
