"""A job runs on time and never twice in its period, however often the worker is killed: `make proof jobs` runs this file."""

import random
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.fresh_homes import with_tables
from tests.loci_site.server.ticking import LEAST_GAP_S, Ticking, kill, ticking
from tests.loci_site.server.ticking_worker import EVERY, TICK
from tests.sizes import IS_WHOLE, report

SEED = 20_260_729
# How long it ticks undisturbed before the next kill, in seconds.
QUIET_S = (8.0, 20.0)
# Two ticks may be missed: one that was lost, and one that came while the last run was too young.
MISSED_TICKS = 2
LONGEST_GAP_S = (EVERY + MISSED_TICKS * TICK).total_seconds()
# From a worker that is ready to the first run. A lock that a killed worker held is free after 4 s, and the run after that
# waits one tick more.
LONGEST_HEALING_S = 20.0


def test_jobs_run_on_time_and_never_twice(tmp_path: Path) -> None:
    """Let it tick for minutes, kill the worker at seeded random moments, and count the ticks."""
    home, chance = with_tables(tmp_path / "home"), random.Random(SEED)
    healings, spans = [], []
    with ticking(home, tmp_path / "ticks") as run:
        quiet_since = run.wait_for(since=run.wait_for("ready", since=0) - 1)
        for _ in range(12 if IS_WHOLE else 3):
            time.sleep(chance.uniform(*QUIET_S))
            worker = run.wait_until_whole()
            spans.append((quiet_since, time.time()))
            killed = time.time()
            kill(worker)
            back = run.wait_for("ready", since=killed)
            quiet_since = run.wait_for(since=back)
            healings.append(quiet_since - back)
        time.sleep(QUIET_S[0])
        spans.append((quiet_since, time.time()))
    found = found_in(run, spans, healings)
    report(found["numbers"])
    assert found["faults"] == []


def found_in(run: Ticking, spans: list[tuple[float, float]], healings: list[float]) -> dict[str, Any]:
    """Judge a whole run: `spans` are the times in which nothing was broken, from its first run on."""
    runs = [event.at for event in run.events()]
    gaps = [gap for span in spans for gap in gaps_in(runs, *span)]
    shortest, longest = run.shortest_gap_s(), max(gaps)
    faults = []
    if shortest < LEAST_GAP_S:
        faults.append(f"two runs were {shortest:.2f} s apart; at least {LEAST_GAP_S:.2f} were due")
    if longest > LONGEST_GAP_S:
        faults.append(
            f"no run for {longest:.2f} s while nothing was broken; at most {LONGEST_GAP_S:.2f} allowed"
        )
    if max(healings) > LONGEST_HEALING_S:
        faults.append(f"the first run came {max(healings):.1f} s after everything was there again")
    return {
        "faults": faults,
        "numbers": {
            "minutes": round((spans[-1][1] - spans[0][0]) / 60, 1),
            "worker killed": len(healings),
            "runs": len(runs),
            "period, s": EVERY.total_seconds(),
            "shortest time between two runs, s": round(shortest, 2),
            "longest while nothing was broken, s": round(longest, 2),
            "longest from healed to the first run, s": round(max(healings), 2),
        },
    }


def gaps_in(runs: list[float], begin: float, end: float) -> list[float]:
    """The times between runs within a span, the one up to its end included."""
    inside = [begin, *(at for at in runs if begin < at < end), end]
    return [b - a for a, b in pairwise(inside)]
