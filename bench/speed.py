"""How fast recall and store are, end to end over HTTP MCP, beside what the machine allows: `python -m bench.speed`.

    python -m bench.speed --sizes 10k,100k --report docs/speed.md

For each size a store of made-up memories is built once and kept under .proof/speed (see speed_store.py), copied, and
served by a real server. One client asks on one connection; then eight clients recall while two store.

Two bounds are measured in the same run, since a busy machine moves both sides: one forward of the encoder over a question
(`encoder`), and one reading of all sign bits from memory (`bits`). The server's CPU time per call is given beside the
time on the clock: where others work on the machine, it says more.
"""

import argparse
import json
import math
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.proof.home import Home, environment, installed_models
from bench.proof.proof import FOLDER, REPOSITORY
from bench.proof.server import Server, free_port, is_open
from bench.speed_calls import Agent, Timed, cpu_ms, resident_mb, timed
from bench.speed_report import put_into, report
from bench.speed_texts import typed_words

CACHE = FOLDER / "speed"
BUILT = "built.json"
RECIPE = 3  # counts changes of what is built: an older store is built anew
CALLS, WARM_UP = 200, 20
READERS, WRITERS = 8, 2
LAG_STORES = 40
START_S = 120
IDLE_MS = 30  # of CPU time in half a second: less, and nothing is at work
ENCODER = """
import json, sys, time, django; django.setup()
from memories.embedding import get_encoder
encoder, times = get_encoder(timeout_s=60), []
for question in json.load(sys.stdin):
    began = time.process_time(); encoder.encode_query(question); times.append((time.process_time() - began) * 1000)
print(sorted(times)[len(times) // 2])
"""


@dataclass(frozen=True)
class Load:
    """What several clients at once got: recalls in a second, their times in ms, and how many calls failed."""

    seconds: float
    recalls: int
    stores: int
    p50_ms: float
    p95_ms: float
    errors: int


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
    load: Load | None = None


def main() -> None:
    """Measure the sizes asked for, print the tables, write the report where asked."""
    options = _options()
    sizes = [_size(word) for word in options.sizes.split(",")]
    measured: list[dict[str, Any]] = []
    for size in sizes:
        measured.append(asdict(measure(size, calls=options.calls, load_s=options.load_s)))
        print(report(measured[-1:]), flush=True)
    if options.report:
        tables = report(measured)
        put_into(Path(options.report), tables)


def measure(size: int, *, calls: int, load_s: float) -> Measured:
    """Serve a copy of a store of this size and time the calls."""
    built = build(size)
    facts = json.loads((built / BUILT).read_text(encoding="utf-8"))
    with _copied(built) as home:
        encoder_ms = _encoder_ms(home, facts["questions"]["main"][-40:])
        with _served(home) as (server, began):
            pid = server.process.pid
            agent = Agent(server.port, facts["secret"])
            agent.recall(facts["questions"]["main"][0], "main")
            start_s = time.perf_counter() - began
            _until_ready(agent, facts, pid)
            timings = _timings(agent, facts, pid, calls)
            lag = _lag(server.port, home, facts)
            load = _load(server.port, facts, load_s) if load_s else None
            return Measured(
                memories=size,
                encoder_ms=encoder_ms,
                bits_ms=_bits_ms(size),
                start_s=start_s,
                resident_mb=resident_mb(pid),
                calls={name: _figures(timing) for name, timing in timings.items()},
                lag=lag,
                load=load,
            )


def build(size: int) -> Path:
    """Give the folder of a store of this size, built where there is none of this recipe."""
    folder = CACHE / f"{size}-{RECIPE}"
    if (folder / BUILT).exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    (folder / "models").symlink_to(installed_models())
    command = [sys.executable, "-m", "bench.speed_store", str(size), str(CACHE / f"seeds-{RECIPE}.npy")]
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment(folder), stdout=subprocess.PIPE, check=True
    )
    (folder / BUILT).write_bytes(done.stdout)
    return folder


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
    with _served(home) as (second, _):
        other = Agent(second.port, facts["secret"])
        _until_ready(other, facts, second.process.pid)
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


def _load(port: int, facts: dict[str, Any], seconds: float) -> Load:
    """Let eight clients recall and two store at once."""
    until = time.perf_counter() + seconds
    times: list[float] = []
    stores: list[float] = []
    errors: list[str] = []

    def work(number: int) -> None:
        agent, dice = Agent(port, facts["secret"]), random.Random(number)
        while time.perf_counter() < until:
            began = time.perf_counter()
            try:
                if number < READERS:
                    agent.recall(dice.choice(facts["questions"]["main"]), "main")
                else:
                    agent.store(f"{dice.choice(facts['fresh'])} Noted as {dice.random():.12f}.", "four")
            except (RuntimeError, OSError) as error:
                errors.append(str(error))
            (times if number < READERS else stores).append((time.perf_counter() - began) * 1000)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(READERS + WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    all_ = Timed(tuple(times), 0.0)
    return Load(seconds, len(times), len(stores), all_.at(0.5), all_.at(0.95), len(errors))


def _until_ready(agent: Agent, facts: dict[str, Any], pid: int) -> None:
    """Wait for the model, and until the vectors are read: then the process has nothing to do."""
    deadline = time.monotonic() + START_S
    while agent.recall(facts["questions"]["main"][1], "main").get("degraded"):
        if time.monotonic() > deadline:
            raise RuntimeError("The model was never there.")
        time.sleep(0.1)
    before = -math.inf
    while (now := cpu_ms(pid)) - before > IDLE_MS and time.monotonic() < deadline:
        before = now
        time.sleep(0.5)
    for question in facts["questions"]["four"][-10:]:
        agent.recall(question, "four")


@contextmanager
def _copied(built: Path) -> Iterator[Home]:
    path = built.with_name(f"{built.name}.copy")
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(built, path, symlinks=True)
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]  # it may be older than the code
    subprocess.run(migrate, cwd=REPOSITORY, env=environment(path), check=True)
    try:
        yield Home(path, "")
    finally:
        shutil.rmtree(path)


@contextmanager
def _served(home: Home) -> Iterator[tuple[Server, float]]:
    """Start the web process alone; give it and when it was started."""
    port, log = free_port(), CACHE / "server.log"
    env = home.environment | {"LOCI_HOST": "127.0.0.1", "LOCI_PORT": str(port)}
    began = time.perf_counter()
    with log.open("ab") as words:
        process = subprocess.Popen(
            [sys.executable, "-m", "loci_site.server"], cwd=REPOSITORY, env=env, stdout=words, stderr=words
        )
    server = Server(process, port, log)
    try:
        while not is_open(port):
            if process.poll() is not None or time.perf_counter() - began > START_S:
                raise RuntimeError(f"The server did not start; see {log}.")
            time.sleep(0.005)
        yield server, began
    finally:
        server.stop()


def _encoder_ms(home: Home, questions: list[str]) -> float:
    """Give one forward of the encoder over a question, in ms of CPU time."""
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
    """Give one reading of all sign bits, 48 bytes each, in ms of CPU time."""
    words = np.ones((6, size), dtype=np.uint64)
    times = []
    for _ in range(30):
        began = time.thread_time()
        words.sum()
        times.append((time.thread_time() - began) * 1000)
    return median(times)


def _figures(timing: Timed) -> dict[str, float]:
    return {"p50": timing.at(0.5), "p95": timing.at(0.95), "cpu": timing.cpu_ms}


def _size(word: str) -> int:
    factor = {"k": 1000, "m": 1_000_000}.get(word[-1].lower(), 1)
    return int(word.rstrip("kKmM")) * factor


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sizes", default="10k,100k", help="memories in the store, such as 10k,100k,1m")
    parser.add_argument("--calls", type=int, default=CALLS, help="calls of each kind; at most 500")
    parser.add_argument("--load-s", type=float, default=60, help="seconds of ten clients at once; 0 for none")
    parser.add_argument("--report", help="put the tables between the marks of this page")
    return parser.parse_args()


if __name__ == "__main__":
    main()
