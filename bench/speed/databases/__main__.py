"""Measure both databases in turn: `python -m bench.speed.databases --sizes 10k,100k --report docs/speed.md`.

With `--only PostgreSQL --near 0` that database alone. Built stores are kept under .proof/databases; on PostgreSQL a million memories take about
5.5 GB, and are filled by COPY (filling.py). Both databases answer the same questions in blocks in turn, in one process
each, without HTTP: what differs is the database. Times are on the clock.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bench.proof.home import Home, make_home, open_home
from bench.proof.postgres.server import PostgresServer
from bench.proof.proof import FOLDER, REPOSITORY
from bench.sizes import size as parse_size
from bench.sizes import sizes
from bench.speed.databases.groups import sizes_of_groups
from bench.speed.databases.report import as_tables, put_tables

CACHE = FOLDER / "databases"
ROUNDS, BLOCK = 5, 20  # blocks of questions for each group and database, and questions in each
STORES, CLIENTS_S, ROWS = 60, 10.0, 512
DATABASES = ("SQLite", "PostgreSQL")
# m, ef_construction, ef_search of an approximate index.
PARAMETERS = ((16, 64, 100), (24, 128, 40), (24, 128, 100), (24, 128, 200))
COMPARED = 200  # questions
Found = dict[str, Any]


class Worker:
    """One of the two processes that take orders."""

    def __init__(self, home: Home, size: int) -> None:
        command = [sys.executable, "-m", "bench.speed.databases.work", str(size), str(CACHE / "seeds.npy")]
        self._process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=home.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, do: str, **order: Any) -> Found:
        """Give an order and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **order}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"The measuring process ended with {self._process.wait()}.")
        found: Found = json.loads(line)
        return found

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


def main() -> None:
    """Measure the sizes asked for and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.speed.databases", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--sizes", type=sizes, default="10k,100k", help="memories in the store")
    parser.add_argument(
        "--near",
        type=lambda word: 0 if word == "0" else parse_size(word),
        default="50k",
        help="vectors in one group for the approximate index; 0 for none",
    )
    parser.add_argument("--only", choices=DATABASES, help="measure one database")
    parser.add_argument("--report", type=Path, help="put the tables between the marks of this page")
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    server = PostgresServer(CACHE / "server")
    server.start() if (server.data / "PG_VERSION").exists() else server.make()
    try:
        largest = max(options.sizes)
        names = [options.only] if options.only else DATABASES
        measured = {
            size: measure(size, server, names, near=options.near if size == largest else 0)
            for size in options.sizes
        }
    finally:
        server.stop()
    tables = as_tables(measured)
    print(tables)
    if options.report:
        put_tables(options.report, tables)


def measure(size: int, server: PostgresServer, names: Sequence[str], *, near: int) -> Found:
    """Fill the stores, then ask them in turn; `near` vectors are compared with and without an approximate index."""
    homes = {name: _home(size, server if name == "PostgreSQL" else None) for name in names}
    found: dict[str, Found] = {name: {"recall": {}} for name in homes}
    groups = [name for name, count in sizes_of_groups(size).items() if not name.startswith("small")]
    with ExitStack() as stack, tqdm(desc=f"{size:,} memories", unit="order") as bar:
        workers = {name: Worker(home, size) for name, home in homes.items()}

        def ask(name: str, do: str, **order: Any) -> Found:
            bar.set_postfix_str(f"{name}: {do}")
            answer = workers[name].ask(do, **order)
            bar.update()
            return answer

        for name, worker in workers.items():
            stack.callback(worker.close)
            found[name]["fill"] = ask(name, "fill")
            ask(name, "recall", group=groups[0], start=ROUNDS * BLOCK, count=BLOCK)
        for group in groups:
            for number in range(ROUNDS):
                for name in workers:
                    times = ask(name, "recall", group=group, start=number * BLOCK, count=BLOCK)["ms"]
                    found[name]["recall"].setdefault(group, []).extend(times)
        for name in workers:
            found[name]["store"] = ask(name, "store", group=groups[-1], count=STORES)["ms"]
            found[name]["clients"] = {
                n: ask(name, "clients", count=n, seconds=CLIENTS_S)["rate"] for n in (1, 8)
            }
            found[name]["import"] = ask(name, "bring", rows=ROWS)["rate"]
        if near and "PostgreSQL" in workers:
            ask("PostgreSQL", "load_near", rows=near)
            found["PostgreSQL"]["near"] = [
                {**_near(ask, *parameters), "rows": near, "parameters": parameters}
                for parameters in PARAMETERS
            ]
    return found


def _near(ask: Any, m: int, built: int, searched: int) -> Found:
    answer: Found = ask("PostgreSQL", "near", m=m, built=built, searched=searched, count=COMPARED)
    if (m, built, searched) not in {(24, 128, other) for other in (40, 100)}:
        ask("PostgreSQL", "drop", index=f"bench_near_{m}_{built}")
    return answer


def _home(size: int, server: PostgresServer | None) -> Home:
    """The home of a store of this size; one that was filled is used again."""
    path = CACHE / f"{'sqlite' if server is None else 'postgresql'}-{size}"
    if (path / "databases.json").exists():
        return open_home(path)
    return make_home(path, server.new_database(f"bench_{size}", empty=True) if server else {})


if __name__ == "__main__":
    main()
