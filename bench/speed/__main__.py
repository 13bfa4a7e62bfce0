"""How fast recall and store are, end to end over HTTP MCP, beside what the machine allows: `python -m bench.speed`.

    python -m bench.speed --sizes 10k,100k --report docs/speed.md

For each size a store of made-up memories is built once and kept under .proof/speed (see store.py), copied, and
served by a real server. One client asks on one connection; then eight clients recall while two store.

Two bounds are measured in the same run, since a busy machine moves both sides: one forward of the encoder over a question
(`encoder`), and one reading of all sign bits from memory (`bits`). The server's CPU time per call is given beside the
time on the clock: where others work on the machine, it says more.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.proof.home import Home
from bench.proof.proof import REPOSITORY
from bench.sizes import sizes
from bench.speed.build import BUILT, build
from bench.speed.calls import Agent, Timed, resident_mb, timed
from bench.speed.load import Load, loads_on
from bench.speed.report import put_into, report
from bench.speed.serving import copied, served, until_ready
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
    for size in options.sizes:
        measured.append(asdict(measure(size, calls=options.calls, load_s=options.load_s)))
        print(report(measured[-1:]), flush=True)
    if options.report:
        tables = report(measured)
        put_into(Path(options.report), tables)


def measure(size: int, *, calls: int, load_s: float) -> Measured:
    """Serve a copy of a store of this size and time the calls."""
    built = build(size)
    facts = json.loads((built / BUILT).read_text(encoding="utf-8"))
    with copied(built) as home:
        encoder_ms = _encoder_ms(home, facts["questions"]["main"][-40:])
        with served(home) as server:
            agent = Agent(server.port, facts["secret"])
            agent.recall(facts["questions"]["main"][0], "main")
            start_s = time.perf_counter() - server.began
            until_ready(agent, facts, server.pid)
            timings = _timings(agent, facts, server.pid, calls)
            lag = _lag(server.port, home, facts)
            loads = loads_on(server, facts, load_s) if load_s else []
            return Measured(
                memories=size,
                encoder_ms=encoder_ms,
                bits_ms=_bits_ms(size),
                start_s=start_s,
                resident_mb=resident_mb(server.pid),
                calls={name: _figures(timing) for name, timing in timings.items()},
                lag=lag,
                loads=loads,
            )


def _timings(agent: Agent, facts: dict[str, Any], pid: int, calls: int) -> dict[str, Timed]:
    found: dict[str, Timed] = {}
    for group, name in (("main", "whole store"), ("four", "group of 4 %")):
        questions = facts["questions"][group][WARM_UP : WARM_UP + calls]
        timed((_asking(agent, q, group) for q in facts["questions"][group][:WARM_UP]), pid=pid)
        found[f"recall, {name}"] = timed((_asking(agent, q, group) for q in questions), pid=pid)
        found[f"recall again, {name}"] = timed((_asking(agent, q, group) for q in questions), pid=pid)
    dice = random.Random()  # a text that is stored already would only be confirmed
    texts = [f"{text} Noted as {dice.random():.12f}." for text in facts["fresh"][:calls]]
    found["recall again, after a store"] = _after_stores(
        agent, facts["questions"]["main"][WARM_UP:], [f"{text} Beforehand." for text in texts[::3]], pid
    )
    found["store"] = timed((_storing(agent, text) for text in texts), pid=pid)
    for name, typed in typed_words(facts["fresh"], calls).items():
        found[name] = timed((_typing(agent, part) for part in typed), pid=pid)
    return found


def _after_stores(agent: Agent, questions: list[str], texts: list[str], pid: int) -> Timed:
    """Time questions that were asked before, each after one memory was stored, which is not timed."""
    each: list[Timed] = []
    for question, text in zip(questions, texts, strict=False):
        agent.store(text, "four")
        each.append(timed([_asking(agent, question, "main")], pid=pid))
    times = tuple(time_ms for timing in each for time_ms in timing.times_ms)
    return Timed(times, sum(timing.cpu_ms for timing in each) / len(each))


def _asking(agent: Agent, question: str, group: str) -> Callable[[], object]:
    return lambda: agent.recall(question, group)


def _typing(agent: Agent, typed: str) -> Callable[[], object]:
    return lambda: agent.suggest(typed)


def _storing(agent: Agent, text: str) -> Callable[[], object]:
    return lambda: agent.store(text, "four")


def _lag(port: int, home: Home, facts: dict[str, Any]) -> Lag:
    """Store through one process and ask in a second one until it is found."""
    dice, times, first = random.Random(), [], 0
    with served(home) as second:
        other = Agent(second.port, facts["secret"])
        until_ready(other, facts, second.pid)
        agent = Agent(port, facts["secret"])  # the server has closed a connection that was idle so long
        for _ in range(LAG_STORES):
            word = f"zq{dice.getrandbits(60):x}"
            stored = agent.store(f"The new code word for the harbour gate is {word}.", "four")["id"]
            began, asked, found = time.perf_counter(), 0, False
            while not found:
                asked += 1
                answer = other.recall(f"Which code word has the harbour gate, is it {word}?", "four")
                found = stored in {result["id"] for result in answer["results"]}
            times.append((time.perf_counter() - began) * 1000)
            first += asked == 1
    all_ = Timed(tuple(times), 0.0)
    return Lag(LAG_STORES, first, all_.at(0.5), all_.at(0.95))


def _encoder_ms(home: Home, questions: list[str]) -> float:
    """One forward of the encoder over a question, in ms of CPU time."""
    command = [sys.executable, "-c", ENCODER]
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env=home.environment,
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


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
    parser.add_argument("--report", help="put the tables between the marks of this page")
    return parser.parse_args()


if __name__ == "__main__":
    main()
