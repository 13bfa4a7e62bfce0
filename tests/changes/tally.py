"""Many histories, counted: what they did, and for each kind of fault how often, the first seed and the smallest history."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.changes.histories import make_history, minimise, run_history

WHOLE_EVERY: Final = 10  # histories of which one is looked at by real recalls and the doctor
SEEDS_VARIABLE: Final = "LOCI_TEST_CHANGES"  # "0:50": the seeds that a run of the test tries
REPORT_VARIABLE: Final = "LOCI_TEST_CHANGES_REPORT"  # the file that gets the tally, instead of a failure


@dataclass
class Tally:
    """What histories did; `pairs` counts what agents did after each other, `faults` has an entry for each kind."""

    histories: int = 0
    steps: int = 0
    refused: int = 0
    undone: int = 0
    pairs: Counter[str] = field(default_factory=Counter)
    faults: dict[str, dict[str, Any]] = field(default_factory=dict)

    def as_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(vars(self), indent=1)


def seeds_to_try() -> range:
    """The seeds that the environment names; twenty-five without a word."""
    first, _, end = os.environ.get(SEEDS_VARIABLE, "0:25").partition(":")
    return range(int(first), int(end))


def report_path() -> Path | None:
    """Where the proof wants the tally; None in the suite."""
    path = os.environ.get(REPORT_VARIABLE)
    return Path(path) if path else None


def try_seeds(seeds: Iterable[int], *, known: Callable[[str], bool] = lambda kind: False) -> Tally:
    """Run the histories of these seeds; minimise the first of each kind of fault that is not known."""
    tally = Tally()
    for seed in seeds:
        history, is_whole = make_history(seed), seed % WHOLE_EVERY == 0
        run = run_history(history, is_whole=is_whole)
        tally.histories += 1
        tally.steps += run.steps
        tally.refused += run.refused
        tally.undone += run.undone
        tally.pairs += Counter({f"{one}, {other}": count for (one, other), count in run.pairs.items()})
        if (fault := run.fault) is not None:
            if fault.kind not in tally.faults:
                smallest = history if known(fault.kind) else minimise(history, fault.kind, is_whole=is_whole)
                tally.faults[fault.kind] = {
                    "count": 0, "seed": seed, "detail": fault.detail, "history": smallest.as_test()
                }  # fmt: skip
            tally.faults[fault.kind]["count"] += 1
    return tally
