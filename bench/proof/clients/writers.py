"""Proof: many writers on one store lose nothing and are never told that it is locked."""

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from bench.proof.clients.ledger import Ledger, open_round
from bench.proof.clients.sentences import GROUPS, TYPES, Job, jobs
from bench.proof.clients.traffic import run_traffic, together
from bench.proof.home import Home
from bench.proof.proof import Finding, Workshop
from bench.proof.server import bad_lines, running

CLIENTS = 16
READERS = 4
PROCESSES = 4


def prove_writers(workshop: Workshop) -> Finding:
    """Four runs, each in a fresh home: over HTTP, over HTTP with readers, by commands that store lines, by single ones."""
    amount, lines, commands = workshop.pick((1200, 100, 10), (60, 10, 2))
    steps: dict[str, Callable[[], dict[str, Any]]] = {
        "HTTP": partial(over_http, workshop, "http", amount),
        "HTTP, 4 recalling": partial(over_http, workshop, "http-reading", amount, readers=READERS),
        "4 × `remember --lines`": partial(by_process, workshop, lines),
        "4 shells, `remember`": partial(by_command, workshop, commands),
    }
    return Finding.of(workshop.steps(steps))


def over_http(
    workshop: Workshop, name: str, amount: int, *, readers: int = 0, clients: int = CLIENTS
) -> dict[str, Any]:
    """Let `clients` agents store `amount` memories in one server, then ask the database."""
    home, ledger, log = open_round(workshop, name)
    with running(home, log) as server:
        traffic = run_traffic(server, home.secret, jobs(amount), ledger, writers=clients, readers=readers)
    faults = [*traffic.refusals, *bad_lines(log)]
    if readers and not traffic.recalls:
        faults.append("no recall was answered")
    return _end(home, ledger, traffic.numbers(), faults)


def by_command(workshop: Workshop, each: int, *, processes: int = PROCESSES) -> dict[str, Any]:
    """Let `processes` shells run `manage.py remember` at once, each `each` times, on one file."""
    home, ledger, _ = open_round(workshop, "commands")
    work = jobs(processes * each)

    def remember(job: Job) -> None:
        options = {name: value for name, value in job.arguments().items() if name != "content"}
        flags = [word for name, value in options.items() for word in (f"--{name}", value)]
        ledger.send(job.content)
        ledger.acknowledge(job.content, json.loads(home.manage("remember", job.content, *flags, "--json")))

    def shell(number: int) -> None:
        for job in work[number::processes]:
            remember(job)

    return _at_once(home, ledger, [partial(shell, number) for number in range(processes)])


def by_process(workshop: Workshop, each: int, *, processes: int = PROCESSES) -> dict[str, Any]:
    """Let `processes` processes of `remember --lines` store `each` memories at once, all in one thread of one file."""
    home, ledger, _ = open_round(workshop, "processes")
    work = jobs(processes * each)

    def remember(number: int) -> None:
        texts = [job.content for job in work[number::processes]]
        for text in texts:
            ledger.send(text)
        flags = ("--lines", "--json", "--group", GROUPS[0], "--scope", "group", "--thread", "talk")
        said = home.manage(
            "remember", "-", *flags, "--type", TYPES[number % len(TYPES)], sent="\n".join(texts)
        )
        for text, line in zip(texts, said.splitlines(), strict=False):
            ledger.acknowledge(text, json.loads(line))

    return _at_once(home, ledger, [partial(remember, number) for number in range(processes)])


def _at_once(home: Home, ledger: Ledger, works: Sequence[Callable[[], None]]) -> dict[str, Any]:
    start = time.perf_counter()
    faults = together(works)
    done = len(ledger.acknowledged)
    pace = {"writes acknowledged": done, "writes/s": round(done / (time.perf_counter() - start), 1)}
    return _end(home, ledger, pace, faults)


def _end(home: Home, ledger: Ledger, numbers: dict[str, Any], faults: list[str]) -> dict[str, Any]:
    seen = home.check(ledger.as_json())
    lost = len(ledger.sent) - len(ledger.acknowledged)
    if lost:
        faults.append(f"{lost} of {len(ledger.sent)} writes were not acknowledged")
    told = {"memories there": seen["memories"], "lost": len(ledger.sent) - seen["memories"]}
    if seen["owed"]:
        told["vectors made later"] = seen["owed"]
    return {"numbers": numbers | told, "faults": [*faults, *ledger.odd_outcomes[:5], *seen["faults"]]}
