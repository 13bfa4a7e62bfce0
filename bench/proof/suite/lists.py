"""Proof: the long lists of cases of which `make test` takes a part, each of them whole."""

import os
import re
import subprocess
import sys
from typing import Any

from tqdm import tqdm

from bench.proof.proof import REPOSITORY, Finding, ProofError, Workshop

FILES = {
    "rights: REST and MCP": "tests/access/test_matrix.py",
    "rights: programs that a person let in": "tests/access/test_matrix_oauth.py",
    "rights: pages": "tests/access/test_matrix_pages.py",
    "what stops being right": "tests/acceptance/test_contradiction_matrix.py",
    "what deletes a memory": "tests/acceptance/test_deletion_protocol.py",
    "what REST answers to anything": "tests/loci_site/api/test_openapi.py",
    "pages and forms, by axe": "tests/browser/test_memory_page.py",
    "pages in other languages, by axe": "tests/browser/test_language.py",
}
_PASSED = re.compile(r"(\d+) passed")


def prove_lists(workshop: Workshop) -> Finding:
    """Run each file with its whole list, or with `--quick` as `make test` does; goes on where it was stopped."""
    found: dict[str, Any] = workshop.done()
    for name, file in tqdm(FILES.items(), desc="lists", unit="list"):
        if name not in found:
            found[name] = run_file(file, is_whole=not workshop.is_quick)
            workshop.note(name, found[name])
    numbers = {f"{name}: tests passed": part["passed"] for name, part in found.items()}
    return Finding(numbers, tuple(fault for part in found.values() for fault in part["faults"]))


def run_file(file: str, *, is_whole: bool) -> dict[str, Any]:
    """How many tests of a file passed, and what pytest said of the others.

    Raises ProofError where it could not be run.
    """
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "timeout=0", file],
        cwd=REPOSITORY,
        env=os.environ | {"LOCI_TEST_WHOLE": str(int(is_whole)), "LOCI_TEST_NO_SKIP": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    passed = _PASSED.search(done.stdout)
    if done.returncode not in (0, 1) or not passed:
        raise ProofError(f"{file} could not be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return {"passed": int(passed[1]), "faults": [done.stdout[-3000:]] if done.returncode else []}
