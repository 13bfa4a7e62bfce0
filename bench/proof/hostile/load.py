"""Recalls of one client while others store texts that are meant to stop it."""

import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.proof.client import Client
from bench.proof.home import Home, make_home
from bench.proof.proof import REPOSITORY, Finding, Workshop
from bench.proof.server import Server, both_web_processes, running

LIMIT_RECALL = 3.0  # times the idle p95
LIMIT_MEMORY = 1.2  # times the memory before
LOAD_S, IDLE_S, LEAST_S, QUICK_S = 60, 20, 3, 1
CLIENTS, FEW_CLIENTS = 16, 3
PACE_S = 0.05  # between two questions
CALL_S = 120
LIMITS = {"LOCI_ACCESS_WRITES_PER_MINUTE": "1200"}  # the default; other proofs have no limit
GROUP = "harbour"
FACTS = (
    "The harbour service listens on port 8443.",
    "Anna owns the ledger.",
    "The night job runs at three.",
    "Deploys need a review and a ticket.",
)
QUESTIONS = ("Which port does the harbour use?", "Who owns the ledger?", "When does the night job run?")


@dataclass(frozen=True)
class Asker:
    """The client that others try to stop, and a token of another person; it goes on for `least_s` when they have ended."""

    server: Server
    client: Client
    other: str
    least_s: float

    def ask(self) -> float:
        """Recall one question that was not asked before; seconds until the answer."""
        answer = self.client.recall(f"{random.choice(QUESTIONS)} {random.randrange(10**9)}", GROUP)
        answer.must(200)
        time.sleep(PACE_S)
        return answer.seconds

    def ask_for(self, seconds: float) -> list[float]:
        """Recall for so long, and twice at least, which a percentile needs."""
        end, times = time.monotonic() + seconds, list[float]()
        while time.monotonic() < end or len(times) < 2:
            times.append(self.ask())
        return times

    def ask_beside(
        self, clients: int, seconds: float, *, question: str = "", least_s: float | None = None
    ) -> tuple[list[float], dict[str, Any]]:
        """Recall until an attack has ended, and a little longer: the seconds, and what the attackers were answered."""
        words = [str(self.server.port), str(seconds), str(clients), *([question] if question else [])]
        command = [sys.executable, "-m", "bench.proof.hostile.attack", *words]
        with subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as attack:
            assert attack.stdin is not None
            assert attack.stdout is not None
            attack.stdin.write(self.other)
            attack.stdin.close()
            times = self.ask_for(self.least_s if least_s is None else least_s)
            while attack.poll() is None:
                times.append(self.ask())
            load: dict[str, Any] = json.loads(attack.stdout.read())
        return times, load


@contextmanager
def asking(home: Home, log: Path, least_s: float, variables: dict[str, str] | None = None) -> Iterator[Asker]:
    """One person's client on a running `up`, the facts of its questions stored."""
    with running(home, log, supervised=True, variables=variables or {}) as server:
        other = home.witness("token", {"name": "hostile"})["secret"]
        with Client(server.port, home.secret, timeout_s=CALL_S) as client:
            for fact in FACTS:
                client.store(fact, GROUP).must(200, 201)
            yield Asker(server, client, other, least_s)


def prove_load(workshop: Workshop) -> Finding:
    """Recalls at rest, while sixteen clients store one text of marks each, and while they do so in a loop."""
    home = make_home(workshop.folder / "home-load")
    least_s = workshop.pick(LEAST_S, QUICK_S)
    with asking(home, workshop.log("load.log"), least_s, LIMITS) as asker:
        numbers = measure(asker, is_quick=workshop.is_quick)
    idle = numbers["recall p95 at rest, ms"]
    faults = [
        f"{name} took more than {LIMIT_RECALL:g} times as long as at rest"
        for name in ("recall p95 beside stores at once, ms", "recall p95 beside stores in a loop, ms")
        if numbers[name] > LIMIT_RECALL * idle
    ]
    if numbers["memory after, MB"] > LIMIT_MEMORY * numbers["memory before, MB"]:
        faults.append(f"the web processes kept more than {LIMIT_MEMORY:g} times their memory")
    if numbers["stores answered otherwise"]:
        faults.append("stores were answered by something else than 200, 201 and 429")
    return Finding(numbers, tuple(faults))


def measure(asker: Asker, *, is_quick: bool) -> dict[str, Any]:
    """The numbers, after the server has done everything once; in small, times do not count."""
    if not is_quick:
        asker.ask_beside(CLIENTS, 0)
    before = memory_mb(asker.server)
    idle = asker.ask_for(QUICK_S if is_quick else IDLE_S)
    once = idle if is_quick else asker.ask_beside(CLIENTS, 0)[0]
    clients, seconds = (FEW_CLIENTS, QUICK_S) if is_quick else (CLIENTS, LOAD_S)
    loop, load = asker.ask_beside(clients, seconds)
    statuses: dict[str, int] = load["statuses"]
    known = {status: statuses.pop(status, 0) for status in ("200", "201", "429")}
    return {
        "recall p95 at rest, ms": p95_ms(idle),
        "recall p95 beside stores at once, ms": p95_ms(once),
        "recall p95 beside stores in a loop, ms": p95_ms(loop),
        "recalls beside the loop": len(loop),
        "longest of them, ms": round(max(loop) * 1000, 1),
        "stores accepted": known["201"] + known["200"],
        "stores answered with 429": known["429"],
        "stores answered otherwise": sum(statuses.values()),
        "longest store, s": round(load["longest_s"], 2),
        "memory before, MB": before,
        "memory after, MB": memory_mb(asker.server),
    }


def p95_ms(times: list[float]) -> float:
    """The 95th percentile in milliseconds."""
    return round(statistics.quantiles(times, n=100)[94] * 1000, 1)


def memory_mb(up: Server) -> float:
    """Memory of the two web processes below an `up` at rest, each shared page counted once (PSS), in MB."""
    pids = both_web_processes(up)
    texts = [Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii") for pid in pids]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("Pss:")]
    return round(sum(int(line.split()[1]) for line in lines) / 1024, 1)
