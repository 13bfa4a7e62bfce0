"""Proof: whatever agents, people, imports and jobs change, in any order, an undo that is offered restores what was there."""

import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bench.proof.proof import REPOSITORY, Finding, ProofError, Workshop

TEST = "tests/memories/test_changes.py"
DATABASES = ("sqlite", "postgres")
HISTORIES, AT_ONCE = 10_000, 250
PAIR_AT_LEAST = 20  # of each two verbs that agents carry out after each other


def prove_changes(workshop: Workshop) -> Finding:
    """Run the histories on both databases, part by part, going on where an earlier run stopped."""
    histories, at_once = workshop.pick((HISTORIES, AT_ONCE), (40, 20))
    parts = {
        f"{database} {start}": (database, start, start + at_once)
        for database in DATABASES
        for start in range(0, histories, at_once)
    }
    found = workshop.done()
    with (
        ThreadPoolExecutor(os.cpu_count()) as pool,
        tqdm(total=len(parts), initial=len(found), desc="changes", unit="part") as bar,
    ):
        tried = {
            pool.submit(try_part, workshop.folder, *part): name
            for name, part in parts.items()
            if name not in found
        }
        for part in as_completed(tried):
            found[tried[part]] = part.result()
            workshop.note(tried[part], found[tried[part]])
            bar.update()
    return tell(found, is_quick=workshop.is_quick)


def try_part(folder: Path, database: str, first: int, end: int) -> dict[str, Any]:
    """The tally of the histories of these seeds on a database. Raises ProofError if they could not be run."""
    report = folder / f"tally-{database}-{first}.json"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "timeout=0", TEST],
        cwd=REPOSITORY,
        env=os.environ
        | {
            "LOCI_TEST_CHANGES": f"{first}:{end}",
            "LOCI_TEST_CHANGES_REPORT": str(report),
            "LOCI_TEST_DB": database,
            "LOCI_TEST_NO_SKIP": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not report.exists():
        raise ProofError(
            f"{TEST} could not be run on {database}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    tally: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    report.unlink()
    return tally


def tell(found: dict[str, Any], *, is_quick: bool) -> Finding:
    """The numbers of each database, and each kind of fault with its first seed and its smallest history."""
    numbers: dict[str, Any] = {}
    faults: list[str] = []
    for database in DATABASES:
        tallies = [tally for name, tally in found.items() if name.startswith(f"{database} ")]
        for what in ("histories", "steps", "refused", "undone"):
            numbers[f"{database}: {what}"] = sum(tally[what] for tally in tallies)
        pairs = sum((Counter(tally["pairs"]) for tally in tallies), Counter[str]())
        rarest = min(pairs, key=lambda pair: pairs[pair], default="")
        numbers[f"{database}: pairs of agents' verbs"] = len(pairs)
        numbers[f"{database}: the rarest pair ({rarest})"] = pairs[rarest]
        if not is_quick and pairs[rarest] < PAIR_AT_LEAST:
            faults.append(f"{database}: {rarest} met {pairs[rarest]} times, wanted are {PAIR_AT_LEAST}")
        seen = faults_by_kind(tallies)
        numbers[f"{database}: histories with a fault"] = sum(fault["count"] for fault in seen.values())
        faults += [
            f"{database}: {kind}, {fault['count']} times, first in seed {fault['seed']}: {fault['detail']}\n\n"
            f"```python\n{fault['history']}\n```"
            for kind, fault in sorted(seen.items(), key=lambda item: -item[1]["count"])
        ]
    return Finding(numbers, tuple(faults))


def faults_by_kind(tallies: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The faults of all parts, each kind with the history of its lowest seed."""
    seen: dict[str, dict[str, Any]] = {}
    for tally in tallies:
        for kind, fault in tally["faults"].items():
            known = seen.get(kind, {"count": 0, "seed": fault["seed"]})
            first = fault if fault["seed"] <= known["seed"] else known
            seen[kind] = {**first, "count": known["count"] + fault["count"]}
    return seen
