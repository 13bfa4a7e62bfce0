"""Two or more checkouts against each other in one run: `python -m bench.speed.compare base=/path/one new=/path/two [--size 10k]`.

Each checkout serves a copy of the same store with one web process of its own code. Blocks of the same questions are
asked in turn, so that whatever slows the machine slows all of them; then each stores the same number of new texts, and
`--load-s` seconds of eight recalling and two storing clients follow. The table shows times in ms and, for each checkout
after the first, its ratio to the first.
"""

import argparse
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from bench.proof.client import Client
from bench.proof.home import Home
from bench.proof.server import Server, resident_mb, running
from bench.speed.load import Load, run_load, store_new
from bench.speed.stores import LOG, Facts, Timed, ask, copied, size, timed, until_ready

BLOCK = 20  # calls of one checkout before the next one's turn


@dataclass
class Side:
    """One checkout, serving its copy of the store, and what was timed: recalls and stores."""

    name: str
    home: Home
    facts: Facts
    server: Server
    client: Client
    recalls: list[Timed] = field(default_factory=list)
    stores: list[Timed] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)

    def ask(self, questions: list[str]) -> None:
        """Ask a block of questions."""
        calls = [partial(ask, self.client, question, "main") for question in questions]
        self.recalls.append(timed(calls, pid=self.server.pid))

    def store(self, texts: list[str]) -> None:
        """Store a block of texts."""
        calls = [partial(store_new, self.client, text) for text in texts]
        self.stores.append(timed(calls, pid=self.server.pid))

    def load(self, seconds: float) -> None:
        """Ten clients at once."""
        questions = self.facts["questions"]["main"]
        pids = [self.server.pid]
        self.loads.append(run_load(self.server.port, pids, self.home, self.facts, questions, seconds))

    def figures(self) -> dict[str, float]:
        """What was measured, by row."""
        recalls, stores = _all(self.recalls[1:]), _all(self.stores)  # the first block warms up
        found = {
            "recall p50": recalls.at(0.5),
            "recall p95": recalls.at(0.95),
            "recall CPU": recalls.cpu_ms,
            "store p50": stores.at(0.5),
            "store CPU": stores.cpu_ms,
            "RSS, MB": resident_mb(self.server.pid),
        }
        if self.loads:
            seconds = sum(load.seconds for load in self.loads)
            found |= {
                "10 clients, recalls/s": sum(load.recalls for load in self.loads) / seconds,
                "10 clients, stores/s": sum(load.stores for load in self.loads) / seconds,
                "10 clients, p95": mean(load.p95_ms for load in self.loads),
                "10 clients, errors": sum(load.errors for load in self.loads),
            }
        return found


def _all(blocks: list[Timed]) -> Timed:
    times = tuple(time_ms for block in blocks for time_ms in block.times_ms)
    return Timed(times, mean(block.cpu_ms for block in blocks))


@contextmanager
def side(name: str, checkout: Path, count: int) -> Iterator[Side]:
    """A copy of the store, migrated and served by the code of a checkout."""
    with copied(count, name) as (home, facts):
        own = {"PYTHONPATH": str(checkout)}
        migrate = [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"]
        subprocess.run(migrate, cwd=checkout, env=home.environment | own, check=True)
        with (
            running(home, LOG, checkout=checkout, variables=own) as server,
            Client(server.port, home.secret) as client,
        ):
            until_ready(client, facts, server.pid)
            yield Side(name, home, facts, server, client)


def main(arguments: Sequence[str]) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.speed.compare", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "checkouts", nargs="+", metavar="NAME=FOLDER", help="checkouts, the first is the base"
    )
    parser.add_argument("--size", type=size, default="10k", help="memories in the store, such as 10k or 100k")
    parser.add_argument("--calls", type=int, default=200, help="questions for each checkout")
    parser.add_argument("--load-s", type=float, default=0, help="seconds of ten clients at once; 0 for none")
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        named = (pair.partition("=") for pair in options.checkouts)
        sides = [stack.enter_context(side(name, Path(at).absolute(), options.size)) for name, _, at in named]
        measure(sides, calls=options.calls, load_s=options.load_s)
        print_table(sides)


def measure(sides: list[Side], *, calls: int, load_s: float) -> None:
    """Blocks in turn, each time beginning with another side."""
    facts = sides[0].facts
    questions = facts["questions"]["main"][: BLOCK + calls]
    turns: list[tuple[Any, Any]] = [
        (Side.ask, questions[at : at + BLOCK]) for at in range(0, len(questions), BLOCK)
    ]
    turns += [
        (Side.store, random.choices(facts["fresh"], k=BLOCK)) for _ in range(max(calls // BLOCK // 2, 1))
    ]
    turns += [(Side.load, load_s / 2)] * (2 if load_s else 0)
    for turn, (work, what) in enumerate(turns):
        start = turn % len(sides)
        for each in sides[start:] + sides[:start]:
            work(each, what)


def print_table(sides: list[Side]) -> None:
    """A row a figure, a column a side."""
    first, *others = sides
    base, figures = first.figures(), [side.figures() for side in others]
    print("| | " + " | ".join([first.name, *(f"{s.name} | ×" for s in others)]) + " |")
    print("|" + "---|" * (2 + 2 * len(others)))
    for name, value in base.items():
        cells = [f"{value:.2f}"]
        for found in figures:
            cells += [f"{found[name]:.2f}", f"{found[name] / value:.3f}" if value else "–"]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
