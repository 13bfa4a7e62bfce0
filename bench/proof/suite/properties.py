"""Proof: what each caller may see, by three searches and beside other groups; the suite's property tests on many more examples."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from tqdm import tqdm

from bench.proof.proof import REPOSITORY, Finding, ProofError, Workshop

FILES = {
    "what is visible, by three searches": "tests/memories/queries/test_visibility_property.py",
}
APART = {
    "answers on REST, MCP, commands and pages": "tests/acceptance/test_groups_apart.py::test_rows_of_other_groups_change_no_answer",
    "neighbours by vector": "tests/acceptance/test_groups_apart.py::test_vectors_of_other_groups_change_no_neighbour",
}
# Two examples each in `make test`: 2,016 in all, in parts of a few minutes.
APART_TIMES = 126
APART_SEEDS = range(1, 9)
TIMES = 20  # as many examples as in `make test`
SEEDS = (1, 2, 3)
_CASES = re.compile(r"- (\d+) passing\b")


def prove_properties(workshop: Workshop) -> Finding:
    """Try each property with several seeds; a failure is told with its smallest example."""
    seeds, times = workshop.pick((SEEDS, TIMES), (SEEDS[:1], 1))
    return try_files(workshop, FILES, seeds=seeds, times=times)


def prove_apart(workshop: Workshop) -> Finding:
    """Try what other groups may change: nothing."""
    seeds, times = workshop.pick((APART_SEEDS, APART_TIMES), (SEEDS[:1], 1))
    return try_files(workshop, APART, seeds=seeds, times=times)


def try_files(workshop: Workshop, files: dict[str, str], *, seeds: Sequence[int], times: int) -> Finding:
    """Try each file's properties with each seed, going on where an earlier run stopped."""
    found = workshop.done()
    steps = {f"{what} · {seed}": (file, seed) for what, file in files.items() for seed in seeds}
    with (
        ThreadPoolExecutor(os.cpu_count()) as pool,
        tqdm(total=len(steps), initial=len(found), desc="properties", unit="part") as bar,
    ):
        parts = {
            pool.submit(tried, file, seed=seed, times=times): step
            for step, (file, seed) in steps.items()
            if step not in found
        }
        for part in as_completed(parts):
            found[parts[part]] = part.result()
            workshop.note(parts[part], found[parts[part]])
            bar.update()
    numbers = {
        f"{what}: examples": sum(found[f"{what} · {seed}"]["examples"] for seed in seeds) for what in files
    }
    return Finding(numbers, tuple(fault for seen in found.values() for fault in seen["faults"]))


def tried(file: str, *, seed: int, times: int) -> dict[str, Any]:
    """Run a file's properties; give how many examples passed, and what failed.

    Raises ProofError where it could not be run, or nothing was tried.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "timeout=0", file]
    asked = ["--hypothesis-show-statistics", f"--hypothesis-seed={seed}"]
    done = subprocess.run(
        [*command, *asked],
        cwd=REPOSITORY,
        env=os.environ | {"LOCI_TEST_EXAMPLES": str(times)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise ProofError(f"{file} could not be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    examples = sum(map(int, _CASES.findall(done.stdout)))
    if not (examples or done.returncode):  # a proof that looked at nothing shows nothing
        raise ProofError(f"{file} tried no example, or says so in other words now:\n{done.stdout[-2000:]}")
    faults = [f"{file}, seed {seed}: {done.stdout[-3000:]}"] if done.returncode else []
    return {"examples": examples, "faults": faults}
