"""Several clients at once: eight that recall and two that store, on one web process and on as many as `up` runs."""

import random
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

from bench.speed.calls import Agent, Timed, cpu_ms, resident_mb
from bench.speed.serving import Serving, served, until_idle
from loci_site.server.capacity import count_web_processes

READERS, WRITERS = 8, 2
WARM_S = 3.0
Facts = dict[str, Any]


class Server(Protocol):
    """A web process that listens."""

    @property
    def port(self) -> int: ...

    @property
    def pid(self) -> int: ...


@dataclass(frozen=True)
class Load:
    """What several clients at once got: recalls and stores in `seconds`, the recalls' times in ms, how many calls failed.

    `processes` answered, on `cores` of this machine's, and had so much memory in the end.
    """

    processes: int
    seconds: float
    recalls: int
    stores: int
    p50_ms: float
    p95_ms: float
    errors: int
    cores: float
    resident_mb: tuple[float, ...]


def loads_on(server: Serving, facts: Facts, seconds: float) -> list[Load]:
    """Measure with the process alone, and beside as many as `up` would run here."""
    questions = facts["questions"]["main"]
    half = len(questions) // 2  # each measurement has its own: what was asked before is known
    loads = [run_load([server], facts, questions[:half], seconds)]
    with ExitStack() as stack:
        all_ = [server]
        while len(all_) < count_web_processes(0):
            all_.append(stack.enter_context(served(server.home, beside=server)))
        if len(all_) > 1:
            _warm_up(all_, facts)
            loads.append(run_load(all_, facts, questions[half:], seconds))
    return loads


def _warm_up(servers: list[Serving], facts: Facts) -> None:
    """Ask until each process has the model and the vectors; who answers is left to the socket that they share."""
    for server in servers:
        until_idle(server.pid)  # it begins when its model is there
    until = time.perf_counter() + WARM_S
    while time.perf_counter() < until:
        run_load(servers, facts, facts["questions"]["four"], 0.2)
    for server in servers:
        until_idle(server.pid)


def run_load(servers: Sequence[Server], facts: Facts, questions: list[str], seconds: float) -> Load:
    """Ten clients at once for so many seconds, on the socket of the first server."""
    until = time.perf_counter() + seconds
    times: list[float] = []
    stores: list[float] = []
    errors: list[str] = []

    def work(number: int) -> None:
        agent, dice = Agent(servers[0].port, facts["secret"]), random.Random()
        while time.perf_counter() < until:
            began = time.perf_counter()
            try:
                if number < READERS:
                    agent.recall(dice.choice(questions), "main")
                else:
                    agent.store(f"{dice.choice(facts['fresh'])} Noted as {dice.random():.12f}.", "four")
            except (RuntimeError, OSError) as error:
                errors.append(str(error))
            (times if number < READERS else stores).append((time.perf_counter() - began) * 1000)

    before = sum(cpu_ms(server.pid) for server in servers)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(READERS + WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    all_ = Timed(tuple(times), 0.0)
    used = sum(cpu_ms(server.pid) for server in servers) - before
    return Load(
        len(servers),
        seconds,
        len(times),
        len(stores),
        all_.at(0.5),
        all_.at(0.95),
        len(errors),
        used / 1000 / seconds,
        tuple(resident_mb(server.pid) for server in servers),
    )
