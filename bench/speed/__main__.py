"""How fast recall and store are, end to end over HTTP MCP, beside what the machine allows: `python -m bench.speed`.

    python -m bench.speed --sizes 10k,100k --report docs/speed.md

For each size a store of made-up memories is built once and kept under .proof/speed (see stores.py), copied, and
served by a real server, on SQLite or PostgreSQL. One client asks on one connection; then eight clients recall while two store.

Two bounds are measured in the same run, since a busy machine moves both sides: one forward of the encoder over a question
(`encoder`), and one reading of all sign bits from memory (`bits`). The server's CPU time per call is given beside the
time on the clock: where others work on the machine, it says more.
"""

import argparse
import json
import random
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

import numpy as np

from bench.proof.client import Client
from bench.proof.home import Home, run
from bench.proof.postgres.server import PostgresServer
from bench.proof.report import put_between
from bench.proof.server import resident_mb, running
from bench.speed.load import Load, loads_on, store_new
from bench.speed.report import BEGIN, END, report
from bench.speed.stores import (
    LOG,
    Facts,
    Timed,
    ask,
    copied,
    postgres_server,
    sizes,
    timed,
    until_ready,
)
from bench.speed.texts import typed_words

CALLS, WARM_UP = 200, 20
LAG_STORES = 40
ENCODER = """
import json, sys, time, django; django.setup()
from memories.embedding import get_encoder
encoder, times = get_encoder(timeout_s=60), []
for question in json.load(sys.stdin):
    began = time.process_time(); encoder.encode_query(question); times.append((time.process_time() - began) * 1000)
print(sorted(times)[len(times) // 2])
"""


@dataclass(frozen=True)
class Lag:
    """How soon another process finds what was stored: in ms, and how many of them by its first question."""

    stored: int
    first: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True)
class Measured:
    """One size's figures; times in ms, `cpu` the server's for one call."""

    memories: int
    encoder_ms: float
    bits_ms: float
    start_s: float
    resident_mb: float
    calls: dict[str, dict[str, float]] = field(default_factory=dict)
    lag: Lag | None = None
    loads: list[Load] = field(default_factory=list)


def main() -> None:
    """Measure the sizes asked for, print the tables, write the report where asked."""
    options = _options()
    measured: list[dict[str, Any]] = []
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server()) if options.postgresql else None
        for size in options.sizes:
            figures = measure(size, calls=options.calls, load_s=options.load_s, postgres=postgres)
            measured.append(asdict(figures))
            print(report(measured[-1:]), flush=True)
    if options.report:
        put_between(Path(options.report), BEGIN, END, report(measured))


def measure(size: int, *, calls: int, load_s: float, postgres: PostgresServer | None) -> Measured:
    """Serve a copy of a store of this size and time the calls."""
    with copied(size, postgres=postgres) as (home, facts):
        questions = json.dumps(facts["questions"]["main"][-40:])
        encoder_ms = float(run([sys.executable, "-c", ENCODER], home.path, sent=questions))
        with running(home, LOG) as server, Client(server.port, home.secret) as client:
            ask(client, facts["questions"]["main"][0], "main")
            start_s = time.perf_counter() - server.began
            until_ready(client, facts, server.pid)
            timings = _timings(client, facts, server.pid, calls)
            lag = _lag(client, home, facts)
            held_mb = resident_mb(server.pid)
            return Measured(
                memories=size,
                encoder_ms=encoder_ms,
                bits_ms=_bits_ms(size),
                start_s=start_s,
                resident_mb=held_mb,
                calls={name: _figures(timing) for name, timing in timings.items()},
                lag=lag,
                loads=loads_on(server, home, facts, load_s) if load_s else [],
            )


def _timings(client: Client, facts: Facts, pid: int, calls: int) -> dict[str, Timed]:
    found: dict[str, Timed] = {}
    for group, name in (("main", "whole store"), ("four", "group of 4 %")):
        warm, asked = (
            facts["questions"][group][:WARM_UP],
            facts["questions"][group][WARM_UP : WARM_UP + calls],
        )
        timed((partial(ask, client, q, group) for q in warm), pid=pid)
        found[f"recall, {name}"] = timed((partial(ask, client, q, group) for q in asked), pid=pid)
        found[f"recall again, {name}"] = timed((partial(ask, client, q, group) for q in asked), pid=pid)
    # Each after one memory was stored, which is not timed.
    each: list[Timed] = []
    for question, text in zip(facts["questions"]["main"][WARM_UP:], facts["fresh"][:calls:3], strict=False):
        store_new(client, text)
        each.append(timed([partial(ask, client, question, "main")], pid=pid))
    times = tuple(time_ms for timing in each for time_ms in timing.times_ms)
    found["recall again, after a store"] = Timed(times, sum(timing.cpu_ms for timing in each) / len(each))
    found["store"] = timed((partial(store_new, client, text) for text in facts["fresh"][:calls]), pid=pid)
    for name, typed in typed_words(facts["fresh"], calls).items():
        asked = [f"/api/suggest?q={quote(part)}" for part in typed]
        found[name] = timed((lambda path=path: client.get(path).must(200) for path in asked), pid=pid)  # type: ignore[misc]
    return found


def _lag(client: Client, home: Home, facts: Facts) -> Lag:
    """Store through one process and ask in a second one until it is found."""
    dice, times, first = random.Random(), [], 0
    with running(home, LOG) as second, Client(second.port, home.secret) as other:
        until_ready(other, facts, second.pid)
        for _ in range(LAG_STORES):
            word = f"zq{dice.getrandbits(60):x}"
            text = f"The new code word for the harbour gate is {word}."
            stored = client.call("store_memory", content=text, group="four")["id"]
            began, asked, found = time.perf_counter(), 0, False
            while not found:
                asked += 1
                answer = ask(other, f"Which code word has the harbour gate, is it {word}?", "four")
                found = stored in {result["id"] for result in answer["results"]}
            times.append((time.perf_counter() - began) * 1000)
            first += asked == 1
    all_ = Timed(tuple(times))
    return Lag(LAG_STORES, first, all_.at(0.5), all_.at(0.95))


def _bits_ms(size: int) -> float:
    """One reading of all sign bits, 48 bytes each, in ms of CPU time."""
    words = np.ones((6, size), dtype=np.uint64)
    times = []
    for _ in range(30):
        began = time.thread_time()
        words.sum()
        times.append((time.thread_time() - began) * 1000)
    return median(times)


def _figures(timing: Timed) -> dict[str, float]:
    return {"p50": timing.at(0.5), "p95": timing.at(0.95), "cpu": timing.cpu_ms}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--sizes", type=sizes, default="10k,100k", help="memories in the store, such as 10k,100k,1m"
    )
    parser.add_argument("--calls", type=int, default=CALLS, help="calls of each kind; at most 500")
    parser.add_argument("--load-s", type=float, default=60, help="seconds of ten clients at once; 0 for none")
    parser.add_argument(
        "--postgresql", action="store_true", help="on a PostgreSQL of the wheel, not on SQLite"
    )
    parser.add_argument("--report", help="put the tables between the marks of this page")
    return parser.parse_args()


if __name__ == "__main__":
    main()
