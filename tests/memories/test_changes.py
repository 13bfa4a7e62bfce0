"""Random histories of every verb and every undo keep every promise (`make proof changes` runs thousands)."""

import os
import time
from collections import Counter

import pytest

from tests.changes.histories import make_history, run_history

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def test_explore() -> None:
    first, count = map(int, os.environ.get("SEEDS", "0:50").split(":"))
    kinds: dict[str, list] = {}
    steps = 0
    began = time.process_time()
    total = Counter()
    for seed in range(first, first + count):
        run = run_history(make_history(seed), is_whole=seed % 10 == 0)
        total["steps"] += run.steps; total["refused"] += run.refused; total["undone"] += run.undone
        if run.fault:
            kinds.setdefault(run.fault.kind, []).append((seed, run.fault.detail))
    print(dict(total), time.process_time() - began)
    for kind, found in sorted(kinds.items(), key=lambda each: -len(each[1])):
        print(len(found), kind, found[0])
