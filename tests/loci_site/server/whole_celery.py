"""On both brokers the job runs on time and never twice in its period, whatever is killed: `make proof celery` runs this file."""

import random
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.fresh_homes import with_tables
from tests.loci_site.server.ticking import LEAST_GAP_S, Ticking, kill, ticking
from tests.loci_site.server.ticking_worker import EVERY, TICK
from tests.redis_broker import RedisBroker
from tests.sizes import IS_WHOLE, report

SEED = 20_260_729
# How long it ticks undisturbed before the next kill, in seconds.
QUIET_S = (8.0, 20.0)
# A Redis that is away for longer than the first tries to find it again, in seconds.
AWAY_S = (0.0, 6.0)
# Two ticks may be missed: one that was lost, and one that came while the last run was too young.
MISSED_TICKS = 2
LONGEST_GAP_S = (EVERY + MISSED_TICKS * TICK).total_seconds()
# From a worker that is connected, or a Redis that is back, to the first run. Celery looks for a lost Redis after 2, 4 and
# 6 s; a lock that a killed worker held is free after 4, and the run after that waits one tick more.
LONGEST_HEALING_S = 20.0


@pytest.mark.parametrize(("name", "whole", "quick"), [("memory", 8, 2), ("redis", 12, 3)])
def test_jobs_run_on_time_and_never_twice(tmp_path: Path, name: str, whole: int, quick: int) -> None:
    """Run the worker for minutes, kill it and Redis at seeded random moments, and count the ticks."""
    home = with_tables(tmp_path / "home")
    broker = RedisBroker(tmp_path) if name == "redis" else None
    chance = random.Random(f"{SEED}:{name}")
    breaks: list[Callable[[Ticking, random.Random], float]] = [kill_worker]
    breaks += [kill_redis] if broker is not None else []
    # The shuffle is seeded, and each kind comes equally often.
    order = [breaks[number % len(breaks)] for number in range(whole if IS_WHOLE else quick)]
    chance.shuffle(order)
    healings, spans = [], []
    with ticking(home, broker, tmp_path / "ticks") as run:
        quiet_since = run.wait_for(since=run.wait_for("ready", since=0) - 1)
        for break_it in order:
            time.sleep(chance.uniform(*QUIET_S))
            run.wait_until_whole()
            spans.append((quiet_since, time.time()))
            back = break_it(run, chance)
            quiet_since = run.wait_for(since=back)
            healings.append(quiet_since - back)
        time.sleep(QUIET_S[0])
        spans.append((quiet_since, time.time()))
    found = found_in(run, spans, healings, order=[each.__name__ for each in order])
    report({f"{name}: {what}": number for what, number in found["numbers"].items()})
    assert found["faults"] == []


def kill_worker(run: Ticking, chance: random.Random) -> float:
    """Kill the worker; give when the next one was connected."""
    worker = run.wait_until_whole()
    killed = time.time()
    kill(worker)
    return run.wait_for("ready", since=killed)


def kill_redis(run: Ticking, chance: random.Random) -> float:
    """Kill Redis and start it again after a while, empty; give when it answered."""
    assert run.broker is not None
    run.broker.kill()
    time.sleep(chance.uniform(*AWAY_S))
    run.broker.start()
    return time.time()


def found_in(
    run: Ticking, spans: list[tuple[float, float]], healings: list[float], *, order: list[str]
) -> dict[str, Any]:
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
    kills = {f"{name.removeprefix('kill_')} killed": order.count(name) for name in sorted(set(order))}
    return {
        "faults": faults,
        "numbers": {
            "minutes": round((spans[-1][1] - spans[0][0]) / 60, 1),
            **kills,
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
