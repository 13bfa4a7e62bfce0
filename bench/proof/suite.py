"""Proofs that run files of the suite with more cases, examples or histories than `make test`."""

import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
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
PROPERTIES = {
    "what is visible, by three searches": "tests/memories/queries/test_visibility_property.py",
    "what a cycle changes, whenever it runs": "tests/maintenance/cycle/test_properties.py",
}
_APART = "tests/acceptance/test_groups_apart.py::test"
APART = {
    "answers on REST, MCP, commands and pages": f"{_APART}_rows_of_other_groups_change_no_answer",
    "neighbours by vector": f"{_APART}_vectors_of_other_groups_change_no_neighbour",
}
WITHDRAWN = "tests/memories/store/test_withdrawn_lists.py"
VERBS, OUTCOMES = ("reject", "retract", "purge"), ("live", "queued", "refused")
_LOAD = "tests/loci_site/server/test_hostile_load.py::test_recalls_go_on_while"
# Tests that report numbers, by the proof.
REPORTED = {
    "duplicates": ("tests/memories/store/test_near_pairs.py",),
    "encryption": ("tests/loci_site/server/test_stolen_disk.py",),
    "extension": ("tests/browser/whole_extension.py",),
    "celery": ("tests/loci_site/server/whole_celery.py",),
    "hostile": (f"{_LOAD}_others_store_texts_of_marks", "tests/loci_site/server/test_hostile_disk.py"),
    "hostile-reads": (f"{_LOAD}_another_person_asks_for_hostile_texts",),
    "poison": ("tests/memories/recall/test_poison.py",),
}
CHANGES = "tests/memories/test_changes.py"
DATABASES = ("sqlite", "postgres")
HISTORIES, AT_ONCE = 10_000, 250
PAIR_AT_LEAST = 20  # of each two verbs that agents carry out after each other
_PASSED = re.compile(r"(\d+) passed")
_CASES = re.compile(r"- (\d+) passing\b")


def prove_lists(workshop: Workshop) -> Finding:
    """Run each file with its whole list, or with `--quick` as `make test` does."""

    def run(file: str) -> dict[str, Any]:
        holds, said = run_tests(file, **_size(workshop))
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
    lines, faults = _reported(workshop, WITHDRAWN)
    counts = {part["name"]: part["counts"] for part in lines}
    numbers: dict[str, Any] = {
        f"{name}, {verb}: live, waiting, refused": ", ".join(
            f"{own.get(f'{verb}: {outcome}', 0):,}" for outcome in OUTCOMES
        )
        for name, own in counts.items()
        for verb in VERBS
    }
    return Finding(numbers | share_queued(counts), faults)


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


def prove_reported(workshop: Workshop) -> Finding:
    """Run the proof's files whole, or with `--quick` as `make test` does; the numbers are those that they report."""
    lines, faults = _reported(workshop, *REPORTED[workshop.folder.name])
    return Finding({name: number for line in lines for name, number in line.items()}, faults)


def _reported(workshop: Workshop, *files: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """What the tests of some files wrote into their report, a JSON object a line, and what failed."""
    report = workshop.folder / "report.jsonl"
    report.unlink(missing_ok=True)
    holds, said = run_tests(*files, LOCI_TEST_REPORT=str(report), **_size(workshop))
    if not report.exists():
        raise ProofError(f"{', '.join(files)} could not be run:\n{said[-2000:]}")
    lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    return lines, () if holds else (said[-3000:],)


def _size(workshop: Workshop) -> dict[str, str]:
    return {"LOCI_TEST_WHOLE": str(int(not workshop.is_quick)), "LOCI_TEST_NO_SKIP": "1"}


def prove_changes(workshop: Workshop) -> Finding:
    """Run the histories on both databases, part by part."""
    histories, at_once = workshop.pick((HISTORIES, AT_ONCE), (40, 20))
    parts = {
        f"{database} {start}": partial(try_histories, workshop.folder, database, start, start + at_once)
        for database in DATABASES
        for start in range(0, histories, at_once)
    }
    found = workshop.steps(parts, at_once=os.cpu_count() or 1)
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
        if not workshop.is_quick and pairs[rarest] < PAIR_AT_LEAST:
            faults.append(f"{database}: {rarest} met {pairs[rarest]} times, wanted are {PAIR_AT_LEAST}")
        seen = faults_by_kind(tallies)
        numbers[f"{database}: histories with a fault"] = sum(fault["count"] for fault in seen.values())
        faults += [
            f"{database}: {kind}, {fault['count']} times, first in seed {fault['seed']}: {fault['detail']}\n\n"
            f"```python\n{fault['history']}\n```"
            for kind, fault in sorted(seen.items(), key=lambda item: -item[1]["count"])
        ]
    return Finding(numbers, tuple(faults))


def try_histories(folder: Path, database: str, first: int, end: int) -> dict[str, Any]:
    """The tally of the histories of these seeds on a database. Raises ProofError if they could not be run."""
    report = folder / f"tally-{database}-{first}.json"
    variables = {"LOCI_TEST_CHANGES": f"{first}:{end}", "LOCI_TEST_CHANGES_REPORT": str(report)}
    holds, said = run_tests(CHANGES, LOCI_TEST_DB=database, LOCI_TEST_NO_SKIP="1", **variables)
    if not holds or not report.exists():
        raise ProofError(f"{CHANGES} could not be run on {database}:\n{said[-2000:]}")
    tally: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    report.unlink()
    return tally


def faults_by_kind(tallies: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The faults of all parts, each kind with the history of its lowest seed."""
    seen: dict[str, dict[str, Any]] = {}
    for tally in tallies:
        for kind, fault in tally["faults"].items():
            known = seen.get(kind, {"count": 0, "seed": fault["seed"]})
            first = fault if fault["seed"] <= known["seed"] else known
            seen[kind] = {**first, "count": known["count"] + fault["count"]}
    return seen
