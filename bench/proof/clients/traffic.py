"""Many agents at once: writers that store a list of memories between them, readers that recall meanwhile."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any

from bench.proof.client import GONE, Client, Refused
from bench.proof.clients.ledger import Ledger
from bench.proof.clients.sentences import DEEDS, GROUPS, PEOPLE, THINGS, Job
from bench.proof.server import Server

PAUSE_S = 0.2  # after a refusal, before the same agent writes on
PATIENCE_S = 120


def together(works: Sequence[Callable[[], object]]) -> list[str]:
    """Do all of it at once, each in a thread of its own; what they raised, in words."""
    faults: list[str] = []

    def work_on(work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:
            faults.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=work_on, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return faults


@dataclass(frozen=True)
class Killing:
    """What is killed how long after the first acknowledgement, and how long the others go on then."""

    after_s: float
    kill: Callable[[], object]
    further_s: float = 0.0


@dataclass
class Traffic:
    """What the agents of one run saw; times are in seconds."""

    port: int
    secret: str
    ledger: Ledger
    waiting: list[Job]
    progress: Callable[[], object] = lambda: None
    writes: list[float] = field(default_factory=list)
    recalls: list[float] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    broken: int = 0
    """Calls that got no answer, as when the server is killed."""
    in_flight: int = 0
    """Writes that had no answer yet when the signal was sent."""
    afterwards: int = 0
    """Writes that were acknowledged after the kill, by what lived on."""
    seconds: float = 0.0
    groups: set[str] = field(default_factory=set)
    """Groups that exist, since something was stored in them."""
    begun: threading.Event = field(default_factory=threading.Event)
    is_over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _flying: int = 0

    def numbers(self) -> dict[str, Any]:
        """The figures for the report."""
        rate = round(len(self.writes) / self.seconds, 1)
        told: dict[str, Any] = {"writes acknowledged": len(self.writes), "writes/s": rate}
        told |= _percentiles("write", self.writes)
        return (
            told
            | ({"recalls": len(self.recalls)} if self.recalls else {})
            | _percentiles("recall", self.recalls)
        )

    def write(self, *, again: bool) -> None:
        """Take jobs and store them, until there are none or the server is gone; `again` connects anew then."""
        with Client(self.port, self.secret) as client:
            while job := self._next():
                self.ledger.send(job.content)
                self._count(1)
                try:
                    begun = time.perf_counter()
                    answer = client.call("store_memory", **job.arguments())
                    self.writes.append(time.perf_counter() - begun)
                except Refused as refusal:
                    self.refusals.append(f"{job.content} → {refusal}")
                    time.sleep(PAUSE_S)
                    continue
                except GONE:
                    self.broken += 1
                    if not again:
                        return
                    time.sleep(PAUSE_S)
                    continue
                finally:
                    self._count(-1)
                self.ledger.acknowledge(job.content, answer)
                self.groups.add(job.group)
                self.begun.set()
                self.progress()

    def read(self, number: int) -> None:
        """Ask one question after the other until it is over, as soon as the writers have begun."""
        with Client(self.port, self.secret) as client:
            while len(self.groups) < len(GROUPS) and not self.is_over.is_set():
                time.sleep(0.01)
            while not self.is_over.is_set():
                number += 1
                words = (series[number % len(series)] for series in (PEOPLE, DEEDS, THINGS))
                begun = time.perf_counter()
                client.call(
                    "recall_memory", query=f"Has {' '.join(words)}?", group=GROUPS[number % len(GROUPS)]
                )
                self.recalls.append(time.perf_counter() - begun)

    def kill(self, killing: Killing) -> None:
        """Wait for the first acknowledgement and the moment, kill, and end the others."""
        self.begun.wait(timeout=PATIENCE_S)
        time.sleep(killing.after_s)
        with self._lock:
            met, written = self._flying, len(self.writes)
        killing.kill()
        time.sleep(killing.further_s)
        if killing.further_s:
            self.waiting.clear()
        self.is_over.wait(timeout=PATIENCE_S)
        self.in_flight, self.afterwards = met, len(self.writes) - written

    def _next(self) -> Job | None:
        with self._lock:
            return self.waiting.pop() if self.waiting else None

    def _count(self, by: int) -> None:
        with self._lock:
            self._flying += by


def run_traffic(
    server: Server,
    secret: str,
    jobs: Iterable[Job],
    ledger: Ledger,
    *,
    writers: int,
    readers: int = 0,
    killing: Killing | None = None,
    progress: Callable[[], object] = lambda: None,
) -> Traffic:
    """Store every job through `writers` agents while `readers` agents recall; or until the server is killed.

    Where the kill lets others go on, writers whose connection broke connect anew.
    """
    traffic = Traffic(server.port, secret, ledger, [*jobs][::-1], progress)
    again = killing is not None and killing.further_s > 0
    began = time.perf_counter()

    def write() -> None:
        faults = together([lambda: traffic.write(again=again)] * writers)
        traffic.seconds = time.perf_counter() - began
        traffic.refusals += faults
        traffic.begun.set()
        traffic.is_over.set()

    beside = [lambda number=number: traffic.read(number) for number in range(readers)]  # type: ignore[misc]
    beside += [lambda: traffic.kill(killing)] if killing else []
    traffic.refusals += together([write, *beside])
    return traffic


def _percentiles(what: str, seconds: list[float]) -> dict[str, float]:
    if len(seconds) < 2:
        return {}
    cuts = quantiles(seconds, n=20)
    return {f"{what} p50, ms": round(cuts[9] * 1e3, 1), f"{what} p95, ms": round(cuts[18] * 1e3, 1)}
