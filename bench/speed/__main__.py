"""How fast recall and store are, end to end over HTTP MCP, beside what the machine allows: `python -m bench.speed`.

    python -m bench.speed --sizes 10k,100k --report docs/dev/speed.md

For each size a store of made-up memories is built once and kept under .proof/speed (see stores.py), copied, and
served by a real server, on SQLite or PostgreSQL. One client asks on one connection; then eight clients recall while two store.

Two bounds are measured in the same run, since a busy machine moves both sides: one forward of the encoder over a question
(`encoder`), and one reading of all sign bits from memory (`bits`). The server's CPU time per call is given beside the
time on the clock: where others work on the machine, it says more.
"""

import argparse
import os
import random
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import fmean, median
from urllib.parse import quote

import numpy as np

from bench.proof.client import Client
from bench.proof.home import Home
from bench.proof.postgres.server import PostgresServer
from bench.proof.report import machine, put_between
from bench.proof.server import resident_mb, running
from bench.speed.load import Load, loads_on, store_new
from bench.speed.stores import LOG, Facts, Timed, ask, copied, postgres_server, sizes, timed, until_ready
from bench.speed.texts import typed_words

CALLS, WARM_UP = 200, 20
LAG_STORES = 40
# What must hold, by size, and what is aimed at; of calls, milliseconds at the median.
Asked = dict[int, tuple[float, float]]
ASKED: dict[str, Asked] = {
    "recall, whole store": {10_000: (10, 8), 100_000: (14, 11), 1_000_000: (45, 30)},
    "recall, group of 4 %": {10_000: (9, 7), 100_000: (10, 8), 1_000_000: (28, 18)},
    "recall again, whole store": {10_000: (6, 4.5), 100_000: (9, 7), 1_000_000: (25, 18)},
    "typing: the beginning of a word": {100_000: (10, 10)},
    "typing: a mistyped word": {100_000: (10, 10)},
    "store": {10_000: (20, 14), 100_000: (20, 14), 1_000_000: (25, 16)},
}
START_S: Asked = {10_000: (2, 1.5), 100_000: (2.5, 2), 1_000_000: (5, 4)}
RESIDENT_MB: Asked = {10_000: (400, 300), 100_000: (430, 330), 1_000_000: (550, 430)}
BEGIN, END = "<!-- measured: written by bench.speed -->", "<!-- measured: end -->"


def main() -> None:
    """Measure the sizes asked for, print the tables, write the report where asked."""
    options = _options()
    parts = [f"Machine: {machine()}; load average {os.getloadavg()[0]:.1f}.\n"]
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server()) if options.postgresql else None
        for size in options.sizes:
            parts.append(measure(size, calls=options.calls, load_s=options.load_s, postgres=postgres))
            print(parts[-1], flush=True)
    if options.report:
        put_between(Path(options.report), BEGIN, END, "\n".join(parts))


def measure(size: int, *, calls: int, load_s: float, postgres: PostgresServer | None) -> str:
    """Serve a copy of a store of this size and time the calls; the tables."""
    with copied(size, postgres=postgres) as (home, facts):
        encoder_ms = home.ask("speed.store:encoder_ms", questions=facts["questions"]["main"][-40:])
        bits_ms = _bits_ms(size)
        with running(home, LOG) as server, Client(server.port, home.secret) as client:
            ask(client, facts["questions"]["main"][0], "main")
            start_s = time.perf_counter() - server.began
            until_ready(client, facts, server.pid)
            timings = _timings(client, facts, server.pid, calls)
            lag = _lag(client, home, facts)
            held_mb = resident_mb(server.pid)
            loads = loads_on(server, home, facts, load_s) if load_s else []
    rows = [
        f"| {name} | {call.at(0.5):.1f} | {call.at(0.95):.1f} | {_asked(ASKED.get(name, {}), size)} "
        f"| {call.cpu_ms:.1f} | {call.cpu_ms / encoder_ms:.1f} | {call.cpu_ms / bits_ms:.0f} |"
        for name, call in timings.items()
    ]
    lines = [
        f"### {size:,} memories\n",
        f"One forward of the encoder {encoder_ms:.2f} ms, all sign bits {bits_ms:.3f} ms.\n",
        "| call | p50 ms | p95 ms | must hold → aim (p50) | cpu ms | × encoder | × bits |",
        "|---|---|---|---|---|---|---|",
        *rows,
        f"\nProcess start to first recall: {start_s:.2f} s ({_asked(START_S, size)}). "
        f"Memory of the web process: {held_mb:.0f} MB ({_asked(RESIDENT_MB, size)}).\n",
        lag,
        *_load_table(loads, alone_ms=timings["recall, whole store"].at(0.5)),
    ]
    return "\n".join(lines)


def _timings(client: Client, facts: Facts, pid: int, calls: int) -> dict[str, Timed]:
    found: dict[str, Timed] = {}
    for group, name in (("main", "whole store"), ("four", "group of 4 %")):
        questions = facts["questions"][group][: WARM_UP + calls]
        timed((partial(ask, client, q, group) for q in questions[:WARM_UP]), pid=pid)
        for again in ("", " again"):
            recalls = (partial(ask, client, q, group) for q in questions[WARM_UP:])
            found[f"recall{again}, {name}"] = timed(recalls, pid=pid)
    # Each after one memory was stored, which is not timed.
    each: list[Timed] = []
    for question, text in zip(facts["questions"]["main"][WARM_UP:], facts["fresh"][:calls:3], strict=False):
        store_new(client, text)
        each.append(timed([partial(ask, client, question, "main")], pid=pid))
    times = tuple(time_ms for timing in each for time_ms in timing.times_ms)
    found["recall again, after a store"] = Timed(times, fmean(timing.cpu_ms for timing in each))
    found["store"] = timed((partial(store_new, client, text) for text in facts["fresh"][:calls]), pid=pid)
    for name, typed in typed_words(facts["fresh"], calls).items():
        asked = [f"/api/suggest?q={quote(part)}" for part in typed]
        found[name] = timed((lambda path=path: client.get(path).must(200) for path in asked), pid=pid)  # type: ignore[misc]
    return found


def _lag(client: Client, home: Home, facts: Facts) -> str:
    """Store through one process and ask in a second one until it is found: how soon that is."""
    dice, times, first = random.Random(), list[float](), 0
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
                found = f"<memory id={stored[-8:]} " in answer
            times.append((time.perf_counter() - began) * 1000)
            first += asked == 1
    lag = Timed(tuple(times))
    return (
        f"Stored through one process and asked for in another: found by the first question in {first} of "
        f"{LAG_STORES}; from the store's answer to the answer that has it {lag.at(0.5):.0f} ms p50, "
        f"{lag.at(0.95):.0f} ms p95, the question itself included.\n"
    )


def _bits_ms(size: int) -> float:
    """One reading of all sign bits, 48 bytes each, in ms of CPU time."""
    words = np.ones((6, size), dtype=np.uint64)
    times = []
    for _ in range(30):
        began = time.thread_time()
        words.sum()
        times.append((time.thread_time() - began) * 1000)
    return median(times)


def _load_table(loads: list[Load], *, alone_ms: float) -> list[str]:
    if not loads:
        return []
    head = ("web processes", "recalls/s", "stores/s", "recall p50 ms", "p95 ms", "p95 / p50 of one client", "errors",
            "cores in use", "memory, MB")  # fmt: skip
    rows = [
        f"| {load.processes} | {load.recalls / load.seconds:.0f} | {load.stores / load.seconds:.0f} | {load.p50_ms:.0f} "
        f"| {load.p95_ms:.0f} | {load.p95_ms / alone_ms:.1f} | {load.errors} | {load.cores:.2f} "
        f"| {' + '.join(f'{mb:.0f}' for mb in load.resident_mb)} |"
        for load in loads
    ]
    said = f"Eight clients that recall and two that store at once, {loads[0].seconds:.0f} s:\n"
    return [said, f"| {' | '.join(head)} |", "|" + "---|" * len(head), *rows, ""]


def _asked(asked: Asked, count: int) -> str:
    return "{:g} → {:g}".format(*asked[count]) if count in asked else "–"


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
