"""Proofs that run files of the suite with more cases or examples than `make test`: lists, properties, apart, withdrawn."""

import json
import os
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from bench.proof.proof import Finding, ProofError, Workshop, run_tests

LISTS = {
    "rights: REST and MCP": "tests/access/test_matrix.py",
    "rights: programs that a person let in": "tests/access/test_matrix_oauth.py",
    "rights: pages": "tests/access/test_matrix_pages.py",
    "what stops being right": "tests/acceptance/test_contradiction_matrix.py",
    "what deletes a memory": "tests/acceptance/test_deletion_protocol.py",
    "what REST answers to anything": "tests/loci_site/api/test_openapi.py",
    "what no file and no answer has": "tests/guard/test_every_face.py",
    "pages and forms, by axe": "tests/browser/test_memory_page.py",
    "pages in other languages, by axe": "tests/browser/test_language.py",
}
PROPERTIES = {"what is visible, by three searches": "tests/memories/queries/test_visibility_property.py"}
_APART = "tests/acceptance/test_groups_apart.py::test"
APART = {
    "answers on REST, MCP, commands and pages": f"{_APART}_rows_of_other_groups_change_no_answer",
    "neighbours by vector": f"{_APART}_vectors_of_other_groups_change_no_neighbour",
}
WITHDRAWN = "tests/memories/store/test_withdrawn_lists.py"
VERBS, OUTCOMES = ("reject", "retract", "purge"), ("live", "queued", "refused")
_PASSED = re.compile(r"(\d+) passed")
_CASES = re.compile(r"- (\d+) passing\b")


def prove_lists(workshop: Workshop) -> Finding:
    """Run each file with its whole list, or with `--quick` as `make test` does."""

    def run(file: str) -> dict[str, Any]:
        is_whole = str(int(not workshop.is_quick))
        holds, said = run_tests(file, LOCI_TEST_WHOLE=is_whole, LOCI_TEST_NO_SKIP="1")
        passed = _PASSED.search(said)
        if not passed:
            raise ProofError(f"{file} could not be run:\n{said[-2000:]}")
        return {"numbers": {"tests passed": int(passed[1])}, "faults": [] if holds else [said[-3000:]]}

    return Finding.of(workshop.steps({name: partial(run, file) for name, file in LISTS.items()}))


def prove_properties(workshop: Workshop) -> Finding:
    """Try with three seeds, twenty times as many examples as in `make test`."""
    return try_files(workshop, PROPERTIES, *workshop.pick(((1, 2, 3), 20), ((1,), 1)))


def prove_apart(workshop: Workshop) -> Finding:
    """Try what other groups may change: nothing. Two examples each in `make test`, 2,016 here in parts of a few minutes."""
    return try_files(workshop, APART, *workshop.pick((range(1, 9), 126), ((1,), 1)))


def try_files(workshop: Workshop, files: dict[str, str], seeds: Sequence[int], times: int) -> Finding:
    """Try each file's properties with each seed; a failure shows its smallest example."""
    steps = {
        f"{what} · {seed}": partial(tried, file, seed=seed, times=times)
        for what, file in files.items()
        for seed in seeds
    }
    found = workshop.steps(steps, at_once=os.cpu_count() or 1)
    counts = {
        f"{what}: examples": sum(found[f"{what} · {seed}"]["examples"] for seed in seeds) for what in files
    }
    return Finding.of(found, counts)


def tried(file: str, *, seed: int, times: int) -> dict[str, Any]:
    """How many examples of a file's properties passed, and what failed. Raises ProofError where nothing was tried."""
    options = ("--hypothesis-show-statistics", f"--hypothesis-seed={seed}")
    holds, said = run_tests(file, *options, LOCI_TEST_EXAMPLES=str(times))
    examples = sum(map(int, _CASES.findall(said)))
    if holds and not examples:  # a proof that looked at nothing shows nothing
        raise ProofError(f"{file} tried no example, or says so in other words now:\n{said[-2000:]}")
    return {"examples": examples, "faults": [] if holds else [f"{file}, seed {seed}: {said[-3000:]}"]}


def prove_withdrawn(workshop: Workshop) -> Finding:
    """Try both lists with every verb and face, or with `--quick` the sample of `make test`."""
    report = workshop.folder / "withdrawn.jsonl"
    report.unlink(missing_ok=True)
    sample = {"LOCI_TEST_WITHDRAWN_SAMPLE": "1"} if workshop.is_quick else {}
    holds, said = run_tests(WITHDRAWN, LOCI_TEST_WITHDRAWN_REPORT=str(report), **sample)
    if not report.exists():
        raise ProofError(f"{WITHDRAWN} could not be run:\n{said[-2000:]}")
    found = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    counts = {part["name"]: part["counts"] for part in found}
    numbers: dict[str, Any] = {
        f"{name}, {verb}: live, waiting, refused": ", ".join(
            f"{own.get(f'{verb}: {outcome}', 0):,}" for outcome in OUTCOMES
        )
        for name, own in counts.items()
        for verb in VERBS
    }
    return Finding(numbers | share_queued(counts), () if holds else (said[-3000:],))


def share_queued(counts: dict[str, dict[str, int]]) -> dict[str, Any]:
    """How many of the pairs of different facts wait: of all, and without those that differ in dress alone."""
    pairs = {name: own for name, own in counts.items() if "pairs" in name}
    technical = {name for name in pairs if "technical" in name}
    dressed = {name for name in pairs if "alone" in name} - technical
    left_out: dict[str, set[str]] = {
        "different facts that wait, of all pairs": set(),
        "of those that differ in more than dress, or in technical signs": dressed,
        "of those that differ in more than dress": dressed | technical,
    }
    shares = {}
    for label, names in left_out.items():
        own = [item for name, some in pairs.items() if name not in names for item in some.items()]
        queued = sum(count for name, count in own if name.endswith("queued"))
        shares[label] = f"{queued / sum(count for _, count in own):.1%}"
    return shares
