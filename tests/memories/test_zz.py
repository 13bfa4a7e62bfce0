import os, time, pytest
from collections import Counter
from tests.changes.histories import *
pytestmark = [pytest.mark.django_db, pytest.mark.model]
def test_explore() -> None:
    a, count = map(int, os.environ.get("SEEDS", "0:50").split(":"))
    kinds = {}
    began = time.process_time()
    total = Counter(); pairs=Counter()
    for seed in range(a, a + count):
        run = run_history(make_history(seed), is_whole=seed % 10 == 0)
        pairs+=run.pairs
        total["steps"] += run.steps; total["refused"] += run.refused; total["undone"] += run.undone
        if run.fault:
            kinds.setdefault(run.fault.kind, []).append((seed, run.fault.detail))
    print(dict(total), time.process_time() - began, len(pairs), min(pairs.values()))
    for kind, found in sorted(kinds.items(), key=lambda each: -len(each[1])):
        print(len(found), kind, found[0])
