"""Several clients at once: eight that recall and two that store, on one web process and on the two of an `up`."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bench.proof.client import GONE, Client, Refused
from bench.proof.clients.traffic import together
from bench.proof.home import Home
from bench.proof.server import Server, both_web_processes, cpu_ms, resident_mb, running
from bench.speed.stores import LOG, Facts, Timed, ask, until_idle

READERS, WRITERS = 8, 2
WARM_S = 3.0


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


def loads_on(server: Server, home: Home, facts: Facts, seconds: float) -> list[Load]:
    """Measure with the process alone, and with the two web processes of an `up`."""
    questions = facts["questions"]["main"]
    half = len(questions) // 2  # each measurement has its own: what was asked before is known
    alone = run_load(server.port, [server.pid], home, facts, questions[:half], seconds)
    server.stop()
    with running(home, LOG, supervised=True) as up:
        pids = both_web_processes(up)
        run_load(up.port, pids, home, facts, facts["questions"]["four"], WARM_S)
        for pid in pids:
            until_idle(pid)
        return [alone, run_load(up.port, pids, home, facts, questions[half:], seconds)]


def run_load(
    port: int, pids: Sequence[int], home: Home, facts: Facts, questions: list[str], seconds: float
) -> Load:
    """Ten clients at once for so many seconds."""
    until = time.perf_counter() + seconds
    times: dict[bool, list[float]] = {True: [], False: []}
    errors: list[str] = []

    def work(is_reader: bool) -> None:
        dice = random.Random()
        with Client(port, home.secret) as client:
            while time.perf_counter() < until:
                began = time.perf_counter()
                try:
                    if is_reader:
                        ask(client, dice.choice(questions), "main")
                    else:
                        store_new(client, dice.choice(facts["fresh"]))
                except (Refused, *GONE) as error:
                    errors.append(str(error))
                times[is_reader].append((time.perf_counter() - began) * 1000)

    before = sum(map(cpu_ms, pids))
    errors += together([*[partial(work, True)] * READERS, *[partial(work, False)] * WRITERS])
    used = sum(map(cpu_ms, pids)) - before
    recalls = Timed(tuple(times[True]))
    return Load(
        processes=len(pids),
        seconds=seconds,
        recalls=len(times[True]),
        stores=len(times[False]),
        p50_ms=recalls.at(0.5),
        p95_ms=recalls.at(0.95),
        errors=len(errors),
        cores=used / 1000 / seconds,
        resident_mb=tuple(map(resident_mb, pids)),
    )


def store_new(client: Client, text: str) -> str:
    """Store a text that was never stored: one that is there would only be confirmed. Its id."""
    said = f"{text} Noted as {random.random():.12f}."
    return str(client.call("store_memory", content=said, group="four")["id"])
