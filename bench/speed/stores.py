"""Stores of made-up memories, built once per size and kept under .proof/speed, and copies of them that are served."""

import argparse
import json
import math
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.proof.client import Client
from bench.proof.home import VARIABLES_FILE, Home, make_home, open_home
from bench.proof.postgres.server import PostgresServer
from bench.proof.proof import FOLDER, wait_until
from bench.proof.server import cpu_ms

CACHE = FOLDER / "speed"
LOG = CACHE / "server.log"
FACTS = "built.json"
RECIPE = 5  # counts changes of what is built: an older store is built anew
READY_S = 120
IDLE_MS = 30  # of CPU time in half a second: less, and nothing is at work
_SIZE = re.compile(r"([1-9][0-9]{0,8})([km]?)", re.I)
_FACTORS = {"": 1, "k": 1000, "m": 1_000_000}
Facts = dict[str, Any]


def size(word: str) -> int:
    """Read a size such as 500, 10k or 1m, as argparse takes a type."""
    match = _SIZE.fullmatch(word.strip())
    if match is None:
        raise argparse.ArgumentTypeError(
            f"'{word}' is not a number of memories: allowed are whole numbers from 1, such as 500, 10k or 1m"
        )
    return int(match[1]) * _FACTORS[match[2].lower()]


def sizes(text: str) -> list[int]:
    """Read several sizes with commas between."""
    return [size(word) for word in text.split(",")]


@contextmanager
def copied(
    count: int, name: str = "copy", *, postgres: PostgresServer | None = None
) -> Iterator[tuple[Home, Facts]]:
    """A copy of a store of this size that may be written to, and what a measurement needs to know of it."""
    built = _build(count, postgres)
    path = built.with_name(f"{built.name}.{name}")
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(built, path, symlinks=True)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, path, ignore_errors=True)
        if postgres:
            variables = postgres.new_database(f"speed_{count}_copy", template=f"speed_{count}")
            (path / VARIABLES_FILE).write_text(json.dumps(variables), encoding="utf-8")
        yield open_home(path), json.loads((built / FACTS).read_text(encoding="utf-8"))


def _build(count: int, postgres: PostgresServer | None) -> Path:
    folder = CACHE / f"{count}-{RECIPE}{'-postgresql' if postgres else ''}"
    if not (folder / FACTS).exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        home = make_home(folder, postgres.new_database(f"speed_{count}", empty=True) if postgres else {})
        facts = home.ask("speed.store:fill", count=count, seeds=str(CACHE / f"seeds-{RECIPE}.npy"))
        (folder / FACTS).write_text(json.dumps(facts), encoding="utf-8")
    return folder


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """The server of the measured stores on PostgreSQL."""
    server = PostgresServer(CACHE / "postgresql")
    server.start() if (server.data / "PG_VERSION").exists() else server.make()
    try:
        yield server
    finally:
        server.stop()


@dataclass(frozen=True)
class Timed:
    """What a run of calls took: each call's time as the client saw it, and the server's CPU time for a call, in ms."""

    times_ms: tuple[float, ...]
    cpu_ms: float = 0.0

    def at(self, share: float) -> float:
        """The given percentile of the calls' times, in ms."""
        ordered = sorted(self.times_ms)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def timed(calls: Iterable[Callable[[], object]], *, pid: int) -> Timed:
    """Make the calls one after another."""
    times: list[float] = []
    before = cpu_ms(pid)
    for call in calls:
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1000)
    return Timed(tuple(times), (cpu_ms(pid) - before) / max(len(times), 1))


def ask(client: Client, query: str, group: str) -> str:
    """Ask one question over MCP; the answer's text."""
    text: str = client.call("recall_memory", query=query, group=group)["text"]
    return text


def until_ready(client: Client, facts: Facts, pid: int) -> None:
    """Wait for the model, and until the vectors are read: then the process has nothing to do."""
    question = facts["questions"]["main"][1]
    fault = "The model was never there."
    wait_until(lambda: "Degraded: " not in ask(client, question, "main"), fault, seconds=READY_S, every_s=0.1)
    until_idle(pid)
    for question in facts["questions"]["four"][-10:]:
        ask(client, question, "four")


def until_idle(pid: int) -> None:
    """Wait until the process has nothing to do, two minutes at most."""
    deadline = time.monotonic() + READY_S
    before = -math.inf
    while (now := cpu_ms(pid)) - before > IDLE_MS and time.monotonic() < deadline:
        before = now
        time.sleep(0.5)
