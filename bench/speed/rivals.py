"""Loci next to another memory server, with the same texts, questions and clients, in alternating rounds.

    python -m bench.speed.rivals --mms ~/mms --sizes 2k,10k --report docs/dev/speed.md
    python -m bench.speed.rivals --also base=../main --clients raw     two trees of Loci

All systems are loaded with the same texts. A turn of a system goes back to what was loaded, starts the server, calls it with
each client, and stops it: only one runs at a time. No question comes twice.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import psutil

from bench.proof.home import environment, installed_models, make_home
from bench.proof.proof import REPOSITORY, wait_until
from bench.proof.report import machine, put_between
from bench.proof.server import Server, free_port, spawn
from bench.speed.stores import READY_S, Timed, sizes
from bench.speed.texts import TOPICS, load_vocabulary, make_question, make_text

CLIENTS = {"sdk1": "MCP, SDK 1.x", "sdk2": "MCP, SDK 2.x", "raw": "MCP, raw HTTP", "rest": "REST"}
BEGIN, END = "<!-- rivals: written by bench.speed.rivals -->", "<!-- rivals: end -->"
AT_ONCE, WARM_UP = 8, 24
LOADED = 2_000  # stored one after another and timed, at most; what is above goes in bulk
BUSY_CORES = 0.2  # of other programs: a row measured meanwhile is marked
IDLE_CORES = 0.05
# mcp-memory-service's own way to store many at once; it has no command for that.
FILL_MMS = """
import asyncio, json, sys
from mcp_memory_service.cli.utils import get_storage
from mcp_memory_service.models.memory import Memory
from mcp_memory_service.utils.hashing import generate_content_hash as of
async def fill():
    storage = await get_storage()
    texts = [json.loads(line)["text"] for line in open(sys.argv[1])]
    for at in range(0, len(texts), 128):
        await storage.store_batch([Memory(content=text, content_hash=of(text)) for text in texts[at : at + 128]])
asyncio.run(fill())
"""
Plans = list[list[list[str]]]


@dataclass
class System:
    """A system on this machine, with its database in `data`.

    `commands` start its server, for clients of "mcp" and of "rest"; "{port}" stands for the port. `filling` stores a file of
    lines {"id", "text"} while no server runs. `unlimited` are variables that switch off its limits of writes. `told` is what
    agent.py needs: the token, the tools and paths with their arguments, and the marks of a result and of a refusal in a text.
    """

    name: str
    data: Path
    variables: dict[str, str]
    commands: dict[str, list[str]]
    filling: list[str]
    told: dict[str, Any]
    tree: Path
    unlimited: dict[str, str]

    def start(self, face: str, *, with_limits: bool) -> Server:
        """Start its server and wait until the port is open."""
        port = self.told["port"] = free_port()
        command = [word.format(port=port) for word in self.commands[face]]
        variables = self.variables | ({} if with_limits else self.unlimited)
        return spawn(command, port, self.data.with_suffix(".log"), variables, cwd=self.tree)

    def fill(self, texts: Sequence[str]) -> None:
        """Store texts in bulk."""
        file = self.data.with_suffix(".jsonl")
        rows = (json.dumps({"id": uuid4().hex, "text": text}) for text in texts)
        file.write_text("\n".join(rows), encoding="utf-8")
        command = [*self.filling, str(file)]
        subprocess.run(command, cwd=self.tree, env=self.variables, capture_output=True, check=True)

    def lay(self, source: str, target: str) -> None:
        """Keep what is stored ("", ".kept") or go back to it (".kept", "")."""
        shutil.rmtree(self.data.with_suffix(target), ignore_errors=True)
        shutil.copytree(self.data.with_suffix(source), self.data.with_suffix(target), symlinks=True)


def loci(name: str, tree: Path, folder: Path) -> System:
    """A tree of Loci with a fresh home, run by `up` with its defaults."""
    data = folder / name
    variables = environment(data) | {"PYTHONPATH": str(tree), "LOCI_HOST": "127.0.0.1"}
    if tree == REPOSITORY:
        secret = make_home(data).secret
    else:  # by its own code, which knows its tables
        data.mkdir(mode=0o700)
        (data / "models").symlink_to(installed_models())
        prepare = [sys.executable, "-m", "bench.proof.inside", "proof.witness:prepare"]
        said = subprocess.check_output(prepare, cwd=tree, env=variables, input="{}", text=True)
        secret = json.loads(said.splitlines()[-1])["secret"]
    unlimited = {"LOCI_ACCESS_CHARS_PER_DAY": "0", "LOCI_ACCESS_WRITES_PER_MINUTE": "0"}  # the former limit
    up = ["env", "LOCI_PORT={port}", sys.executable, "manage.py", "up"]
    filling = f"{sys.executable} manage.py import --from lines --group bench --as live --as-own".split()
    store, recall = {"content": "$", "group": "bench"}, {"query": "$", "group": "bench", "max_results": 10}
    told = {
        "secret": secret, "mark": r"^<memory\b", "refusal": "Degraded:",  # before the model is loaded
        "mcp": {"recall": ["recall_memory", recall], "store": ["store_memory", store]},
        "rest": {"recall": ["/api/recall", recall], "store": ["/api/memories", store]},
    }  # fmt: skip
    return System(name, data, variables, {"mcp": up, "rest": up}, filling, told, tree, unlimited)


def mms(python: str, folder: Path) -> System:
    """mcp-memory-service with its defaults: sqlite-vec, and MiniLM by ONNX from its cache in the user's home."""
    (data := folder / "mms").mkdir()
    own = {"MCP_MEMORY_BASE_DIR": str(data), "MCP_MEMORY_USE_ONNX": "1", "MCP_ALLOW_ANONYMOUS_ACCESS": "true"}
    server = [str(Path(python).with_name("memory")), "server"]
    faces = {"mcp": "--streamable-http --sse-port {port}", "rest": "--http --http-port {port}"}
    commands = {face: [*server, *words.split()] for face, words in faces.items()}
    recall, store = {"query": "$", "limit": 10}, {"content": "$"}
    told = {
        "secret": "", "mark": r"^\d+\. ", "refusal": "^Error",
        "mcp": {"recall": ["memory_search", recall], "store": ["memory_store", store]},
        "rest": {"recall": ["/api/search", {"query": "$", "n_results": 10}], "store": ["/api/memories", store]},
    }  # fmt: skip
    return System("mms", data, os.environ | own, commands, [python, "-c", FILL_MMS], told, folder, {})


class Agent(psutil.Popen):
    """A client program (agent.py) that calls a running server."""

    def __init__(self, python: str, kind: str, system: System, server: Server) -> None:
        self.server, pipe = server.pid, subprocess.PIPE
        command = [python, str(Path(__file__).with_name("agent.py")), kind, json.dumps(system.told)]
        variables = os.environ | {"PYTHONPATH": "" if kind == "sdk" else str(REPOSITORY)}
        super().__init__(command, stdin=pipe, stdout=pipe, text=True, env=variables)

    def ask(self, order: object) -> str:
        """What it answers to a line of JSON."""
        self.stdin.write(f"{json.dumps(order)}\n")
        self.stdin.flush()
        return str(self.stdout.readline())

    def run(self, plans: Plans) -> dict[str, Any]:
        """Run the plans, each in a client, at the same time; with the server's CPU time and the cores that other programs used."""
        self.ask(plans)
        before, began = self._spent_s(), time.perf_counter()
        answer: dict[str, Any] = json.loads(self.ask(None))
        total, server, own = (now - then for now, then in zip(self._spent_s(), before, strict=True))
        others = (total - server - own) / (time.perf_counter() - began)
        return answer | {"cpu_ms": server * 1000, "others": max(others, 0.0)}

    def _spent_s(self) -> tuple[float, float, float]:
        now = psutil.cpu_times()
        return now.user + now.nice + now.system + now.irq + now.softirq, _cpu_s(self.server), _cpu_s(self.pid)


def _tree(pid: int) -> list[psutil.Process]:
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def _cpu_s(pid: int) -> float:
    spent = 0.0
    for each in _tree(pid):
        with suppress(psutil.NoSuchProcess):  # its time is its parent's now
            spent += sum(each.cpu_times()[:4])
    return spent


def _endless(files: Sequence[Path], stored: list[str] | None = None) -> Iterator[str]:
    """Texts of files in a random order, then made-up ones; with `stored`, questions about these."""
    dice, vocabulary = random.Random(11), load_vocabulary(next(installed_models().glob("*/tokenizer.json")))
    rows = [json.loads(line)["text"] for file in files for line in file.open(encoding="utf-8")]
    found = [row for row in dict.fromkeys(rows) if len(row) < 1_000]
    yield from dice.sample(found, len(found))
    while True:
        topic, about = dice.randrange(TOPICS), dice.choice(stored or [""])
        yield make_text(vocabulary, dice, topic) if stored is None else make_question(vocabulary, dice, about)


class Rivals:
    """Systems, clients by name with their Python, and what was measured: by row and system each round's value."""

    def __init__(
        self, compared: list[System], clients: dict[str, str], texts: Path | None, calls: int
    ) -> None:
        self.systems, self.clients, self.calls = compared, clients, calls
        self.stored: list[str] = []
        files = [sorted(texts.rglob(f"{kind}*.jsonl")) if texts else [] for kind in ("corpus", "queries")]
        self.words = {"store": _endless(files[0]), "recall": _endless(files[1], self.stored)}

    def measure(self, size: int, rounds: int) -> dict[str, Any]:
        """Load every system up to this size and measure the rounds."""
        self.values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self.others: dict[str, float] = defaultdict(float)
        plan = self._plan("store", size - len(self.stored))
        self.stored += [text for _, text in plan]
        for system in self.systems:
            self._load(system, plan)
        for _ in range(rounds):
            orders = {client: self._orders() for client in self.clients}
            for system in self.systems:
                self._take_turn(system, orders)
        return {"memories": size, "values": self.values, "other cores": self.others}

    def table(self) -> str:
        """Each row's median, with the lowest and highest round in brackets, and its ratio to the first system's."""
        first, *more = [system.name for system in self.systems]
        head = ["", first, *more, *(f"{name} ÷ {first}" for name in more), "other programs, cores"]
        lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        for row, by_name in self.values.items():
            base, others = median(by_name[first]), self.others[row]
            cells = [row, *(_cell(by_name[name]) for name in (first, *more))]
            cells += [f"{median(by_name[name]) / base:.2f}" if base else "–" for name in more]
            cells.append(f"{others:.2f}{' *' if others > BUSY_CORES else ''}" if others else "–")
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join(lines)

    def _add(self, system: System, row: str, value: float, others: float = 0.0) -> None:
        print(f"{system.name}, {row}: {value:.1f}", file=sys.stderr)
        self.values[row][system.name].append(value)
        self.others[row] = max(self.others[row], others)

    def _plan(self, what: str, number: int) -> list[list[str]]:
        return [[what, words] for words in islice(self.words[what], number)]

    def _load(self, system: System, plan: list[list[str]]) -> None:
        """Store these texts: in bulk, then one after another, with its limits on."""
        if bulk := [text for _, text in plan[:-LOADED]]:
            system.fill(bulk)
        with self._serving(system, "mcp", with_limits=True) as (_, agent):
            run = agent.run([plan[-LOADED:]])
        calls = zip(plan[-LOADED:], run["calls"], strict=True)
        if lost := [text for (_, text), (_, refused, *_) in calls if refused]:
            system.fill(lost)  # so that all hold the same
        rate = (len(run["calls"]) - len(lost)) / run["seconds"]
        self._add(system, "loading by one client, limits on: stores/s", rate, run["others"])
        self._add(system, f"… refused of {len(run['calls']):,}", len(lost))
        size = sum(file.stat().st_size for file in system.data.glob("*.db*"))
        self._add(system, "disk, kB a memory", size / 1000 / len(self.stored))
        system.lay("", ".kept")

    @contextmanager
    def _serving(
        self, system: System, face: str, *, with_limits: bool = False
    ) -> Iterator[tuple[Server, Agent]]:
        """Its server, which has answered a question and is idle, and the client that asked."""
        server = system.start(face, with_limits=with_limits)
        question = [["recall", "What is it?" if with_limits else next(self.words["recall"])]]

        def is_idle() -> bool:
            before = _cpu_s(server.pid)
            time.sleep(1)
            return _cpu_s(server.pid) - before < IDLE_CORES

        try:
            with Agent(sys.executable, "rest" if face == "rest" else "raw", system, server) as agent:
                fault = f"{system.name} does not answer, or is never idle; see {server.log}."
                wait_until(lambda: not agent.run([question])["calls"][0][1], fault, seconds=READY_S)
                if not with_limits and face == "mcp":
                    self._add(system, "start to the first recall, s", time.perf_counter() - server.began)
                wait_until(is_idle, fault, seconds=READY_S)
                yield server, agent
        finally:
            server.stop()

    def _orders(self) -> dict[str, Plans]:
        """The plans of a client for a round."""
        plan, every, mixed = self._plan, range(AT_ONCE), range(max(self.calls // 30, 1))
        both = [[call for _ in mixed for call in plan("store", 1) + plan("recall", 4)] for _ in every]
        return {
            "warm up": [plan("recall", WARM_UP // AT_ONCE) for _ in every],
            "recall": [plan("recall", self.calls)],
            "store": [plan("store", self.calls)],
            "stores/s": [plan("store", max(self.calls // 6, 1)) for _ in every],
            "calls/s, one store to four recalls": both,
        }

    def _take_turn(self, system: System, orders: dict[str, dict[str, Plans]]) -> None:
        system.lay(".kept", "")
        with self._serving(system, "mcp") as (server, agent):
            self._add_memory(system, server, "just started")
            tools = json.loads(agent.ask([]))["tools"]
            self._add(system, "list of tools, characters", len(json.dumps(tools, separators=(",", ":"))))
            for client in [client for client in self.clients if client != "rest"]:
                self._call(system, server, client, orders[client])
            self._add_memory(system, server, "after its turn")
        if "rest" in self.clients:
            with self._serving(system, "rest") as (server, _):
                self._call(system, server, "rest", orders["rest"])
        system.lay(".kept", "")

    def _call(self, system: System, server: Server, client: str, orders: dict[str, Plans]) -> None:
        with Agent(self.clients[client], client.rstrip("12"), system, server) as agent:
            for what, plans in orders.items():
                run = agent.run(plans)
                calls, found = run["calls"], dict[str, float]()
                if "/s" in what:
                    done = sum(not refused for _, refused, *_ in calls)
                    found[f"{AT_ONCE} clients, {what}"] = done / run["seconds"]
                elif what != "warm up":
                    times = Timed(tuple(ms for ms, *_ in calls))
                    found[f"{what} p50, ms"], found[f"{what} p95, ms"] = times.at(0.5), times.at(0.95)
                    found[f"server CPU of a {what}, ms"] = run["cpu_ms"] / len(calls)
                if what == "recall":
                    found["results of an answer"] = fmean(results for *_, results, _ in calls)
                    found["characters of an answer"] = fmean(size for *_, size in calls)
                for row, value in found.items():
                    self._add(system, f"{CLIENTS[client]}: {row}", value, run["others"])

    def _add_memory(self, system: System, server: Server, when: str) -> None:
        held = [each.memory_full_info() for each in _tree(server.pid)]
        for kind in ("rss", "pss"):
            total = sum(getattr(each, kind) for each in held) / 2**20
            self._add(system, f"{when}: {kind.upper()}, MB", total)


def _cell(values: list[float]) -> str:
    shown = [f"{each:,.{0 if each >= 100 else 1}f}" for each in (median(values), min(values), max(values))]
    return shown[0] if len(set(shown)) == 1 else "{} ({}–{})".format(*shown)


def _python_of(place: str | Path) -> str:
    """The Python of a virtual environment, named by its folder or by a program in it."""
    path = Path(place).expanduser().absolute()
    return str(path / "bin" / "python" if path.is_dir() else path.with_name("python"))


def main(arguments: Sequence[str]) -> None:
    """Measure the sizes asked for, print the tables, write them where asked."""
    options = _options(arguments)
    with TemporaryDirectory(prefix="loci-rivals-") as name:
        folder, clients = Path(name), dict.fromkeys(options.clients.split(","), sys.executable)
        if "sdk1" in clients and not options.sdk1:
            subprocess.run([sys.executable, "-m", "venv", folder / "sdk1"], check=True)
            subprocess.run([folder / "sdk1/bin/pip", "install", "--quiet", "mcp<2"], check=True)
        if "sdk1" in clients:
            clients["sdk1"] = _python_of(options.sdk1 or folder / "sdk1")
        compared = [loci(tree, Path(at).absolute(), folder) for tree, _, at in options.trees]
        if options.mms and options.mms != "none":
            compared.append(mms(_python_of(options.mms), folder))
        else:
            print("mcp-memory-service is left out: --mms does not name it, and it is not on PATH.")
        rivals = Rivals(compared, clients, options.texts, options.calls)
        rows, parts = [], [f"{machine()}; rounds: {options.rounds}.\n"]
        for size in sorted(options.sizes):
            rows.append(rivals.measure(size, options.rounds))
            parts += [f"### {size:,} memories\n", f"{rivals.table()}\n"]
            print(*parts[-2:], sep="\n", flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")
            if options.report:
                put_between(options.report, BEGIN, END, "\n".join(parts))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m bench.speed.rivals", description=about)
    add, trees = parser.add_argument, [("Loci", "=", str(REPOSITORY))]
    also = {"dest": "trees", "action": "append", "default": trees, "metavar": "NAME=FOLDER"}
    add("--sizes", type=sizes, default="2k", help="memories in the store, such as 2k,10k,100k")
    add("--rounds", type=int, default=3, help="turns of each system")
    add("--calls", type=int, default=150, help="recalls, and stores, of one client in a round")
    add("--clients", default=",".join(CLIENTS), help="default: %(default)s")
    add("--also", type=lambda pair: pair.partition("="), help="another tree of Loci", **also)  # type: ignore[arg-type]
    add("--mms", default=shutil.which("mcp-memory-server"), help="environment of mcp-memory-service, or none")
    add("--sdk1", help="environment with the MCP SDK 1.x; default: a temporary one")
    add("--texts", type=Path, help="folder of corpus*.jsonl and queries*.jsonl, a text in each line")
    add("--report", type=Path, metavar="PAGE", help="put the tables between the marks of this page")
    add("--json", type=Path, metavar="FILE", help="write the value of each round")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
