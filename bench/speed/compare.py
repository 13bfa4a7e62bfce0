"""Two or more checkouts against each other in one run: `python -m bench.speed.compare base=/path/one new=/path/two [--size 10k]`.

Each checkout serves a copy of the same store with one web process of its own code. Blocks of the same questions are
asked in turn, so that whatever slows the machine slows all of them; then each stores the same number of new texts, and
`--load-s` seconds of eight recalling and two storing clients follow. The table gives times in ms and, for each checkout
after the first, its ratio to the first.
"""

import argparse
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import mean
from typing import Any

from bench.proof.home import environment
from bench.proof.server import is_open
from bench.sizes import size
from bench.speed.build import BUILT, build
from bench.speed.calls import Agent, Timed, cpu_ms, resident_mb
from bench.speed.load import Load, run_load
from bench.speed.serving import until_ready

BLOCK = 20  # calls of one checkout before the next one's turn


class Side:
    """One checkout, serving its copy of the store."""

    def __init__(self, name: str, checkout: Path, home: Path, facts: dict[str, Any]) -> None:
        self.name, self.checkout, self.home, self.facts = name, checkout, home, facts
        self.recalls: list[float] = []
        self.stores: list[float] = []
        self.recall_cpu_ms = self.store_cpu_ms = 0.0
        self.loads: list[Load] = []

    @contextmanager
    def served(self) -> Iterator[None]:
        """Migrate the copy and start a web process."""
        env = {**environment(self.home), "PYTHONPATH": str(self.checkout)}
        migrate = [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"]
        subprocess.run(migrate, cwd=self.checkout, env=env, check=True)
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.set_inheritable(True)
        self.port = int(listener.getsockname()[1])
        module = (
            "loci_site.server.web" if (self.checkout / "loci_site/server").is_dir() else "loci_site.server"
        )
        env |= {"LOCI_HOST": "127.0.0.1", "LOCI_PORT": str(self.port)}
        with (self.home / "bench.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", module, "--fd", str(listener.fileno())],
                cwd=self.checkout, env=env, stdout=log, stderr=log, pass_fds=[listener.fileno()],
            )  # fmt: skip
        try:
            while not is_open(self.port):
                if process.poll() is not None:
                    raise RuntimeError((self.home / "bench.log").read_text())
                time.sleep(0.05)
            self.pid = process.pid
            self.agent = Agent(self.port, self.facts["secret"])
            until_ready(self.agent, self.facts, self.pid)
            yield
        finally:
            process.terminate()
            process.wait(timeout=60)
            listener.close()

    def ask(self, questions: list[str], *, is_timed: bool = True) -> None:
        """Ask a block of questions."""
        before = cpu_ms(self.pid)
        for question in questions:
            began = time.perf_counter()
            self.agent.recall(question, "main")
            if is_timed:
                self.recalls.append((time.perf_counter() - began) * 1000)
        self.recall_cpu_ms += (cpu_ms(self.pid) - before) * is_timed

    def store(self, texts: list[str]) -> None:
        """Store a block of texts."""
        before = cpu_ms(self.pid)
        for text in texts:
            began = time.perf_counter()
            self.agent.store(text, "four")
            self.stores.append((time.perf_counter() - began) * 1000)
        self.store_cpu_ms += cpu_ms(self.pid) - before

    def load_for(self, seconds: float, questions: list[str]) -> None:
        """Ten clients at once."""
        self.loads.append(run_load([self], self.facts, questions, seconds))

    def figures(self) -> dict[str, float]:
        """What was measured, by row."""
        recalls, stores = Timed(tuple(self.recalls), 0.0), Timed(tuple(self.stores), 0.0)
        found = {
            "recall p50": recalls.at(0.5),
            "recall p95": recalls.at(0.95),
            "recall CPU": self.recall_cpu_ms / len(self.recalls),
            "store p50": stores.at(0.5),
            "store CPU": self.store_cpu_ms / len(self.stores),
            "RSS, MB": resident_mb(self.pid),
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


def main(arguments: Sequence[str]) -> None:
    """Measure and print the table."""
    options = parse_options(arguments)
    built = Path(options.store) if options.store else build(options.size)
    facts = json.loads((built / BUILT).read_text(encoding="utf-8"))
    with ExitStack() as stack:
        sides = []
        for name, _, checkout in (pair.partition("=") for pair in options.checkouts):
            home = built.with_name(f"{built.name}.{name}")
            shutil.rmtree(home, ignore_errors=True)
            shutil.copytree(built, home, symlinks=True)
            stack.callback(shutil.rmtree, home, ignore_errors=True)
            side = Side(name, Path(checkout).absolute(), home, facts)
            stack.enter_context(side.served())
            sides.append(side)
        run(sides, facts, calls=options.calls, load_s=options.load_s)
        print_table(sides)


def run(sides: list[Side], facts: dict[str, Any], *, calls: int, load_s: float) -> None:
    """Blocks in turn, each time beginning with another side."""
    questions, dice = facts["questions"]["main"], random.Random()
    for side in sides:
        side.ask(questions[:BLOCK], is_timed=False)
    asked = questions[BLOCK : BLOCK + calls]
    for turn, at in enumerate(range(0, len(asked), BLOCK)):
        for side in turned(sides, turn):
            side.ask(asked[at : at + BLOCK])
    for turn in range(max(calls // BLOCK // 2, 1)):
        for side in turned(sides, turn):
            side.store(
                [f"{dice.choice(facts['fresh'])} Noted as {dice.random():.12f}." for _ in range(BLOCK)]
            )
    if load_s:
        for turn in range(2):
            for side in turned(sides, turn):
                side.load_for(load_s / 2, questions)


def turned(sides: list[Side], turn: int) -> list[Side]:
    """The sides in order, beginning with another one each turn."""
    start = turn % len(sides)
    return sides[start:] + sides[:start]


def print_table(sides: list[Side]) -> None:
    """A row a figure, a column a side."""
    first, *others = sides
    base = first.figures()
    print("| | " + " | ".join([first.name, *(f"{s.name} | ×" for s in others)]) + " |")
    print("|" + "---|" * (2 + 2 * len(others)))
    figures = [side.figures() for side in others]
    for name, value in base.items():
        cells = [f"{value:.2f}"]
        for found in figures:
            cells += [f"{found[name]:.2f}", f"{found[name] / value:.3f}" if value else "–"]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.speed.compare", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "checkouts", nargs="+", metavar="NAME=FOLDER", help="checkouts, the first is the base"
    )
    parser.add_argument("--size", type=size, default="10k", help="memories in the store, such as 10k or 100k")
    parser.add_argument(
        "--store", help="a built store to use instead, such as one that the base's code built"
    )
    parser.add_argument("--calls", type=int, default=200, help="questions for each checkout")
    parser.add_argument("--load-s", type=float, default=0, help="seconds of ten clients at once; 0 for none")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    main(sys.argv[1:])
