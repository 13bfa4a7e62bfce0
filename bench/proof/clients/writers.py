"""Proof: many writers on one store lose nothing and are never told that it is locked."""

import json
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tqdm import tqdm

from bench.proof.clients.ledger import Ledger
from bench.proof.clients.sentences import GROUPS, TYPES, Job, jobs
from bench.proof.clients.traffic import store_all
from bench.proof.home import COMMAND_S, Home, make_home
from bench.proof.proof import Finding, Workshop
from bench.proof.server import bad_lines, running

CLIENTS = 16
READERS = 4
PROCESSES = 4


def prove_writers(workshop: Workshop) -> Finding:
    """Four runs, each in a fresh home: over HTTP, over HTTP with readers, by commands that store lines, by single ones."""
    amount, lines, commands = workshop.pick((1200, 100, 10), (60, 10, 2))
    steps: dict[str, Callable[[Any], dict[str, Any]]] = {
        "HTTP": lambda bar: over_http(workshop, "http", amount, readers=0, bar=bar),
        "HTTP, 4 recalling": lambda bar: over_http(
            workshop, "http-reading", amount, readers=READERS, bar=bar
        ),
        "4 × `remember --lines`": lambda bar: by_process(workshop, lines, bar=bar),
        "4 shells, `remember`": lambda bar: by_command(workshop, commands, bar=bar),
    }
    found = workshop.done()
    total = 2 * amount + PROCESSES * (lines + commands)
    with tqdm(total=total, desc="writers", unit="write") as bar:
        for name, step in steps.items():
            if name in found:
                bar.update(found[name]["sent"])
                continue
            found[name] = step(bar)
            workshop.note(name, found[name])
    numbers = {f"{name}: {key}": n for name in steps for key, n in found[name]["numbers"].items()}
    return Finding(numbers, tuple(f"{name}: {fault}" for name in steps for fault in found[name]["faults"]))


def over_http(
    workshop: Workshop, name: str, amount: int, *, readers: int, bar: Any, clients: int = CLIENTS
) -> dict[str, Any]:
    """Let `clients` agents store `amount` memories in one server, then ask the database."""
    home, ledger = _begin(workshop, name)
    log = workshop.folder / f"{name}.log"
    log.unlink(missing_ok=True)
    with running(home, log) as server:
        work = jobs(amount)
        traffic = store_all(
            server, home.secret, work, ledger, writers=clients, readers=readers, progress=bar.update
        )
    faults = [*traffic.refusals, *bad_lines(log)]
    if readers and not traffic.recalls:
        faults.append("no recall was answered")
    return _end(home, ledger, traffic.numbers(), faults)


def by_command(workshop: Workshop, each: int, *, bar: Any, processes: int = PROCESSES) -> dict[str, Any]:
    """Let `processes` shells run `manage.py remember` at once, each `each` times, on one file."""
    home, ledger = _begin(workshop, "commands")

    def remember(job: Job) -> str:
        ledger.send(job.content)
        options = {name: value for name, value in job.arguments().items() if name != "content"}
        flags = [word for name, value in options.items() for word in (f"--{name}", value)]
        process = home.start(
            "remember", job.content, *flags, "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        said, complaint = process.communicate(timeout=COMMAND_S)
        bar.update()
        if process.returncode != 0:
            return f"ended with {process.returncode}: {complaint.strip()[-300:]}"
        ledger.acknowledge(job.content, json.loads(said))
        return complaint if "locked" in complaint else ""

    start = time.perf_counter()
    with ThreadPoolExecutor(processes) as shells:
        complaints = [text for text in shells.map(remember, jobs(processes * each)) if text]
    return _end(home, ledger, _pace(ledger, time.perf_counter() - start), complaints)


def by_process(workshop: Workshop, each: int, *, bar: Any, processes: int = PROCESSES) -> dict[str, Any]:
    """Let `processes` processes of `remember --lines` store `each` memories at once, all in one thread of one file."""
    home, ledger = _begin(workshop, "processes")
    work = jobs(processes * each)

    def remember(number: int) -> str:
        texts = [job.content for job in work[number::processes]]
        for text in texts:
            ledger.send(text)
        flags = ("--lines", "--json", "--group", GROUPS[0], "--scope", "group", "--thread", "talk")
        process = home.start(
            *("remember", "-", *flags, "--type", TYPES[number % len(TYPES)]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        said, complaint = process.communicate("\n".join(texts), timeout=COMMAND_S)
        for text, line in zip(texts, said.splitlines(), strict=False):
            ledger.acknowledge(text, json.loads(line))
            bar.update()
        if process.returncode != 0:
            return f"ended with {process.returncode}: {complaint.strip()[-300:]}"
        return complaint if "locked" in complaint else ""

    start = time.perf_counter()
    with ThreadPoolExecutor(processes) as shells:
        complaints = [text for text in shells.map(remember, range(processes)) if text]
    return _end(home, ledger, _pace(ledger, time.perf_counter() - start), complaints)


def _begin(workshop: Workshop, name: str) -> tuple[Home, Ledger]:
    file = workshop.folder / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    return make_home(workshop.folder / f"home-{name}", workshop.database(name)), Ledger(file)


def _end(home: Home, ledger: Ledger, numbers: dict[str, Any], faults: list[str]) -> dict[str, Any]:
    seen = home.check(ledger.as_json())
    lost = len(ledger.sent) - len(ledger.acknowledged)
    if lost:
        faults.append(f"{lost} of {len(ledger.sent)} writes were not acknowledged")
    faults = [*faults, *ledger.odd_outcomes[:5], *seen["faults"]]
    told = {"memories there": seen["memories"], "lost": len(ledger.sent) - seen["memories"]}
    if seen["owed"]:
        told["vectors made later"] = seen["owed"]
    return {"sent": len(ledger.sent), "numbers": numbers | told, "faults": faults}


def _pace(ledger: Ledger, seconds: float) -> dict[str, Any]:
    done = len(ledger.acknowledged)
    return {"writes acknowledged": done, "writes/s": round(done / seconds, 1)}
