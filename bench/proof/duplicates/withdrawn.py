"""Proof: what dresses a withdrawn text does not come back live, and what states another fact is not refused."""

import json
import os
import subprocess
import sys
from typing import Any

from bench.proof.proof import REPOSITORY, Finding, ProofError, Workshop

VERBS = ("reject", "retract", "purge")
OUTCOMES = ("live", "queued", "refused")
FILE = "tests/memories/store/test_withdrawn_lists.py"


def prove_withdrawn(workshop: Workshop) -> Finding:
    """Try both lists with every verb and face, or with `--quick` the sample of `make test`."""
    report = workshop.folder / "withdrawn.jsonl"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "timeout=0", FILE]
    environment = os.environ | {"LOCI_TEST_WITHDRAWN_REPORT": str(report)}
    if workshop.is_quick:
        environment["LOCI_TEST_WITHDRAWN_SAMPLE"] = "1"
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1) or not report.exists():
        raise ProofError(f"{FILE} could not be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    found = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    numbers = as_rows(found) | share_queued(found)
    return Finding(numbers, (done.stdout[-3000:],) if done.returncode else ())


def as_rows(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Live, waiting and refused by list and verb."""
    return {
        f"{part['name']}, {verb}: live, waiting, refused": ", ".join(
            f"{part['counts'].get(f'{verb}: {outcome}', 0):,}" for outcome in OUTCOMES
        )
        for part in found
        for verb in VERBS
    }


def share_queued(found: list[dict[str, Any]]) -> dict[str, Any]:
    """How many of the pairs of different facts wait: of all, and without those that differ in dress alone."""
    counts = {part["name"]: part["counts"] for part in found if "pairs" in part["name"]}
    dressed = [name for name in counts if "alone" in name and "technical" not in name]
    technical = [name for name in counts if "technical" in name]
    left_out = {
        "different facts that wait, of all pairs": [],
        "of those that differ in more than dress, or in technical signs": dressed,
        "of those that differ in more than dress": [*dressed, *technical],
    }
    return {
        label: f"{share([counts[name] for name in counts if name not in names]):.1%}"
        for label, names in left_out.items()
    }


def share(counts: list[dict[str, int]]) -> float:
    """The share of what waits, over some lists."""
    outcomes = [(name, count) for some in counts for name, count in some.items()]
    return sum(count for name, count in outcomes if name.endswith("queued")) / sum(
        count for _, count in outcomes
    )
