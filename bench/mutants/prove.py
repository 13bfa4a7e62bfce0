"""Proof: the tests of an area fail if its code is wrong. Each mutant is applied alone to a copy of the tree, and the tests run."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import Queue
from typing import Final
from xml.etree import ElementTree

from bench.mutants.mutants import AREAS, MUTANTS, Mutant
from bench.proof.proof import REPOSITORY, Finding, ProofError, Workshop

WANTED: Final = 0.9  # share of the mutants that the tests must kill
TIMEOUT_S: Final = 1800
SURVIVED: Final = ""
SHARED: Final = "shared"
ALL_PASSED, SOME_FAILED = 0, 1  # exit codes of pytest; others mean that the tests did not run


def prove_mutants(workshop: Workshop) -> Finding:
    """Run every mutant; in small, the first of each area."""
    check_texts(MUTANTS)
    firsts = {mutant.area: mutant for mutant in reversed(MUTANTS)}.values()
    cores = os.cpu_count() or 1
    with copies(cores) as free:
        steps = {each.name: partial(run_mutant, each, free) for each in workshop.pick(MUTANTS, firsts)}
        # The test that killed each mutant, by the mutant's name; empty for a survivor.
        killers: dict[str, str] = workshop.steps(steps, at_once=cores)
        tests = sorted(set(killers.values()) - {SURVIVED})
        # What fails without any mutant proves nothing.
        red = failed_tests(free.get(), tests, "no mutant", is_first=False) if tests else []
    return report(killers, red)


def check_texts(mutants: Sequence[Mutant]) -> None:
    """Raise ProofError unless each name is there once, and each old text once in its file."""
    counts = Counter(mutant.name for mutant in mutants)
    wrong = [f"{name} is there {count} times" for name, count in counts.items() if count > 1]
    for mutant in mutants:
        path = REPOSITORY / mutant.file
        found = path.read_text(encoding="utf-8").count(mutant.old) if path.exists() else 0
        if found != 1:
            wrong.append(f"{mutant.name}: the old text is {found} times in {mutant.file}")
    if wrong:
        raise ProofError(f"bench/mutants/mutants.py no longer fits the code: {'; '.join(wrong)}.")


@contextmanager
def copies(count: int) -> Iterator[Queue[Path]]:
    """Copies of the tree as it is now, without what git ignores; beside them the database that all test runs copy."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        made: Queue[Path] = Queue()
        for number in range(count):
            for name in filter(None, names.split("\0")):
                target = Path(folder, str(number), name)
                target.parent.mkdir(parents=True, exist_ok=True)
                if (REPOSITORY / name).is_file():
                    shutil.copyfile(REPOSITORY / name, target)
            made.put(Path(folder, str(number)))
        shared = Path(folder, SHARED)
        shared.mkdir()
        migrate = [sys.executable, "-c", "from tests.fresh_homes import migrated; migrated()"]
        subprocess.run(migrate, cwd=Path(folder, "0"), env=environment(shared), check=True)
        yield made


def environment(shared: Path) -> dict[str, str]:
    """The variables of a test run: tests find the embedding model and the migrated database, which no mutant has touched."""
    models = os.environ.get("LOCI_TEST_MODELS") or str(REPOSITORY / ".loci-test" / "models")
    return {**os.environ, "LOCI_TEST_MODELS": models, "LOCI_TEST_SHARED": str(shared)}


def run_mutant(mutant: Mutant, free: "Queue[Path]") -> str:
    """Apply a mutant to a free copy, run its area's tests until one fails, and take it back; the failed test."""
    tree = free.get()
    path = tree / mutant.file
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        for tests in AREAS[mutant.area]:
            if failed := failed_tests(tree, tests.split(), mutant.name):
                return failed[0]
        return SURVIVED
    finally:
        path.write_text(text, encoding="utf-8")
        free.put(tree)


def failed_tests(tree: Path, tests: Sequence[str], what: str, *, is_first: bool = True) -> list[str]:
    """Run tests in a copy, up to the first failure or all of them; the ids of those that failed."""
    results = tree / "results.xml"
    results.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", *(["-x"] if is_first else []), f"--junitxml={results}"]
    command += ["-o", "junit_family=xunit1", *tests]
    try:
        ran = subprocess.run(
            command,
            cwd=tree,
            env=environment(tree.parent / SHARED),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return [f"{tests[0]} (no end within {TIMEOUT_S} s)"]
    if ran.returncode == ALL_PASSED:
        return []
    cases = ElementTree.parse(results).iter("testcase") if results.exists() else ()
    failed = [
        f"{case.get('file')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    if ran.returncode != SOME_FAILED or not failed:
        raise ProofError(f"The tests did not run with '{what}': {ran.stdout[-800:]}{ran.stderr[-800:]}")
    return failed


def report(killers: dict[str, str], red: list[str]) -> Finding:
    """The table of the mutants and the tests that killed them; a fault if too few were killed, or by tests that always fail."""
    killed = sum(test != SURVIVED and test not in red for test in killers.values())
    share = killed / len(killers)
    numbers = {"mutants": len(killers), "killed": killed, "share": f"{share:.0%}"}
    by_area = Counter(mutant.area for mutant in MUTANTS if killers.get(mutant.name) == SURVIVED)
    survivors = {f"survives in {area}": count for area, count in by_area.items()}
    rows = {name: test or "survives" for name, test in killers.items()}
    faults = [f"{test} fails without any mutant" for test in red]
    if share < WANTED:
        faults.append(f"{share:.0%} of the mutants are killed, {WANTED:.0%} are wanted")
    return Finding({**numbers, **survivors, **rows}, tuple(faults))
