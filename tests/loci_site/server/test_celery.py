"""The real worker, with its own memory and with Redis: jobs run on time, once, and what is killed or lost heals."""

import json
import math
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from bench.proof.proof import ProofError
from tests.fresh_homes import with_tables
from tests.loci_site.server.ticking import LEAST_GAP_S, Ticking, kill, ticking
from tests.loci_site.server.ticking_worker import BUSY, WORK_S
from tests.loci_site.server.whole_celery import found_in, gaps_in
from tests.redis_broker import RedisBroker, redis_server

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found by Linux's means"),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with its tables, and nothing in them; a worker of another test would do the jobs of this one."""
    return with_tables(tmp_path / "home")


@pytest.fixture(scope="module", params=["memory", "redis"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ticking]:
    """A worker that ticks every 2 s; all tests of a broker use the same."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "redis" and shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    broker = RedisBroker(folder) if request.param == "redis" else None
    with ticking(with_tables(folder / "home"), broker, folder / "ticks") as started:
        started.wait_until_whole()
        started.wait_for("ready", since=0)
        yield started


def test_the_job_runs_at_once_and_then_on_time(run: Ticking) -> None:
    ready = run.wait_for("ready", since=0)
    run.wait_for(times=3, since=ready - 1)
    # Each 2 s give or take half a tick; a busy machine may cost ticks, but not all of them.
    run.wait_until(lambda: run.shortest_gap_s() < 3, "two runs that were 2 s apart")
    assert run.shortest_gap_s() >= LEAST_GAP_S


@pytest.mark.parametrize("run", ["redis"], indirect=True)
def test_what_was_lost_is_made_up_at_the_next_tick(run: Ticking) -> None:
    assert run.broker is not None
    worker = run.wait_until_whole()
    run.send(5, expires_s=60)
    os.kill(worker, signal.SIGSTOP)
    try:
        run.send(5, expires_s=60)
        assert run.broker.lose() > 0
        went_on = time.time()
    finally:
        os.kill(worker, signal.SIGCONT)
    run.wait_for(since=went_on)


def test_a_killed_worker_is_started_again(run: Ticking) -> None:
    worker = run.wait_until_whole()
    killed = time.time()
    kill(worker)
    stale = run.send(20, expires_s=0.01) if run.broker else []
    ready = run.wait_for("ready", since=killed)
    run.wait_for(since=ready)
    assert {event.id for event in run.events("message", since=killed)}.isdisjoint(stale)
    assert run.wait_until_whole() != worker
    assert run.shortest_gap_s() >= LEAST_GAP_S


def test_long_jobs_in_all_threads_leave_the_heartbeat_alone(home: Path, tmp_path: Path) -> None:
    with ticking(home, None, tmp_path / "ticks", **{BUSY: "3"}) as run:
        busy = run.wait_for("busy", times=2, since=0)
        run.wait_for("beat", times=3, since=busy)
        assert len(run.events("busy")) == 2  # the pool's threads; the third job waits
        assert run.events("ran", since=busy + 0.5) == []
    assert "Traceback" not in run.log.read_text()


@pytest.mark.timeout(400)
def test_a_due_job_is_a_row_that_no_kill_loses(home: Path, tmp_path: Path) -> None:
    """Two workers on one SQLite file; whichever begins a run is killed at a random moment of it, or soon after."""
    chance, ends = random.Random(11), dict[int, float]()
    file, work = tmp_path / "ticks", {WORK_S: "1.0"}
    with ticking(home, None, file, **work) as run, ticking(home, None, file, **work) as other:
        run.wait_for("ready", times=2, since=0)
        for _ in range(5):
            run.wait_until(lambda: run.worker and other.worker, "both workers")
            begun = run.wait_for(since=time.time())
            time.sleep(chance.uniform(0.0, 1.4))
            worker = run.events(since=begun)[-1].pid
            kill(worker)
            ends[worker] = time.time()
            run.wait_for("done", since=ends[worker])
        runs, done = run.events(), run.events("done")
    assert len(done) < len(runs) - 1  # some were killed in the middle of a run
    for first, second in pairwise(runs):
        finished = [event.at for event in done if event.pid == first.pid and event.at >= first.at]
        assert second.at >= min([*finished, ends.get(first.pid, math.inf)])


@pytest.mark.parametrize("run", ["redis"], indirect=True)
def test_redis_may_be_killed_and_come_back(run: Ticking) -> None:
    assert run.broker is not None
    worker = run.wait_until_whole()
    run.broker.kill()
    run.broker.start()
    back = time.time()
    run.wait_for(times=2, since=back)
    assert run.wait_until_whole() == worker
    assert run.shortest_gap_s() >= LEAST_GAP_S
    assert "CPendingDeprecationWarning" not in run.log.read_text()


def test_without_redis_the_proof_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(ProofError, match="apt-get install redis-server"):
        redis_server()


def ticked(tmp_path: Path, *moments: float) -> Ticking:
    """What a proof reads of runs at these times."""
    file = tmp_path / "ticks"
    file.write_text("".join(json.dumps({"what": "ran", "at": at, "pid": 1}) + "\n" for at in moments))
    return Ticking(NOTHING, None, file, tmp_path / "log")  # type: ignore[arg-type]


@dataclass
class Nothing:
    """A process that was never started."""

    pid: int = 0


NOTHING = Nothing()


@pytest.mark.parametrize(
    ("moments", "healing", "fault"),
    [
        ((0, 2, 4, 6), 3.0, ""),
        ((0, 2, 3, 6), 3.0, "two runs were 1.00 s apart; at least 1.25 were due"),
        ((0, 2, 6.5), 3.0, "no run for 4.50 s while nothing was broken; at most 4.00 allowed"),
        ((0, 1.8), 3.0, "no run for 5.20 s while nothing was broken"),
        ((0, 2, 4, 6), 21.0, "the first run came 21.0 s after everything was there again"),
    ],
)
def test_the_proof_notices_what_ran_twice_late_or_not_at_all(
    tmp_path: Path, moments: tuple[float, ...], healing: float, fault: str
) -> None:
    found = found_in(ticked(tmp_path, *moments), [(0, 7)], [healing], order=["kill_worker"])
    assert bool(found["faults"]) is bool(fault)
    assert fault in "".join(found["faults"])
    assert found["numbers"]["worker killed"] == 1


def test_what_happens_while_something_is_broken_counts_for_no_gap() -> None:
    assert gaps_in([0, 2, 9, 11], 0, 3) == [2, 1]
    assert gaps_in([0, 2, 9, 11], 9, 12) == [2, 1]
    assert gaps_in([], 0, 3) == [3]
