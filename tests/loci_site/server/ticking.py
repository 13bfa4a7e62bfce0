"""A worker that ticks under a supervisor, and means to watch it and to break it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
from celery import Celery

from bench.proof.home import environment
from bench.proof.proof import REPOSITORY, ProofError, wait_until
from bench.proof.server import Server
from loci_site.worker import QUEUE, broker_settings
from tests.loci_site.server.ticking_worker import EVERY, JOB, TICK, TICKS
from tests.redis_broker import RedisBroker

PATIENCE_S = 60
# The work notes its moment after the lock is taken, by another clock than the row's.
SLACK_S = 0.25
LEAST_GAP_S = (EVERY - TICK / 2).total_seconds() - SLACK_S


@dataclass(frozen=True)
class Event:
    """What a worker noted: ready, message, ran or done; when (Unix seconds), and in which process."""

    what: str
    at: float
    pid: int
    id: str = ""


@dataclass
class Ticking:
    """The supervisor over the worker, the broker, and the file in which the worker notes what happens."""

    process: subprocess.Popen[bytes]
    broker: RedisBroker | None  # None: the worker's memory
    file: Path
    log: Path

    def events(self, what: str = "ran", *, since: float = 0.0) -> list[Event]:
        """What was noted, in order; a line that is being written is left out."""
        if not self.file.exists():
            return []
        lines = self.file.read_text(encoding="utf-8").splitlines(keepends=True)
        events = [Event(**json.loads(line)) for line in lines if line.endswith("\n")]
        return [event for event in events if event.what == what and event.at >= since]

    def wait_for(self, what: str = "ran", *, times: int = 1, since: float) -> float:
        """Wait until something was noted so often since then; give the moment of the last."""
        self.wait_until(lambda: len(self.events(what, since=since)) >= times, f"{times} × {what}")
        return self.events(what, since=since)[times - 1].at

    def wait_until(self, holds: Callable[[], Any], what: str) -> None:
        """Wait until something holds, however slow the machine. Raises ProofError where it does not."""
        try:
            wait_until(holds, f"{what} did not come within {PATIENCE_S} s.", seconds=PATIENCE_S)
        except ProofError as fault:
            noted = self.file.read_text(encoding="utf-8").splitlines()[-30:] if self.file.exists() else []
            raise ProofError("\n".join([str(fault), *noted, self.log.read_text()[-3000:]])) from None

    @property
    def worker(self) -> int:
        """The process id of the worker; 0 while there is none."""
        try:
            children = psutil.Process(self.process.pid).children()
            return next((child.pid for child in children if child.status() != psutil.STATUS_ZOMBIE), 0)
        except psutil.NoSuchProcess:  # it ended meanwhile
            return 0

    def wait_until_whole(self) -> int:
        """Wait until the worker is there; give its id."""
        self.wait_until(lambda: self.worker, "a worker")
        return self.worker

    def send(self, amount: int, *, expires_s: float) -> list[str]:
        """Put messages into Redis, as the clock does; give their ids."""
        assert self.broker is not None
        app = Celery("proof", set_as_current=False)
        app.conf.update(**broker_settings(self.broker.redis_url), task_default_queue=QUEUE)
        options = {"args": [JOB], "expires": expires_s, "ignore_result": True}
        with app.connection_for_write() as connection:
            sent = [app.send_task("loci.run", connection=connection, **options) for _ in range(amount)]
        app.close()
        return [result.id for result in sent]

    def shortest_gap_s(self, *, since: float = 0.0) -> float:
        """The shortest time between two runs; infinite where there were fewer than two."""
        at = [event.at for event in self.events(since=since)]
        return min((b - a for a, b in pairwise(at)), default=float("inf"))


@contextmanager
def ticking(home: Path, broker: RedisBroker | None, file: Path, **more: str) -> Iterator[Ticking]:
    """Start the supervisor in a migrated home; end it and the broker in any case."""
    env = environment(home) | {TICKS: str(file)} | more
    if broker is not None:
        env["REDIS_URL"] = broker.redis_url
    log = file.with_suffix(".log")
    with log.open("ab") as words:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.loci_site.server.ticking_worker", "keep"],
            cwd=REPOSITORY,
            env=env,
            stdout=words,
            stderr=words,
        )
    try:
        yield Ticking(process, broker, file, log)
    finally:
        Server(process, 0, log).stop()
        if broker is not None:
            broker.close()


def kill(pid: int) -> None:
    """End a process at once."""
    os.kill(pid, signal.SIGKILL)
