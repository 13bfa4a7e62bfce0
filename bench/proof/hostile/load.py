"""Recalls of one client while others store texts that are meant to stop it."""

import json
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from bench.proof.home import Home, make_home
from bench.proof.proof import REPOSITORY, Finding, ProofError, Workshop
from bench.proof.server import Server, running, web_processes

LIMIT_RECALL = 3.0  # times the idle p95
LIMIT_MEMORY = 1.2  # times the memory before
LOAD_S, IDLE_S, LEAST_S, QUICK_S = 60, 20, 3, 1
CLIENTS, FEW_CLIENTS = 16, 3
PACE_S = 0.05  # between two questions
CALL_S = 120
QUIET_S = 300
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
    """The client that others try to stop; it goes on for `least_s` when they have ended."""

    http: httpx2.Client
    least_s: float

    def fill(self) -> None:
        """Store the facts that the questions ask for."""
        for fact in FACTS:
            body = {"content": fact, "group": GROUP, "scope": "group"}
            answer = self.http.post("/api/memories", json=body)
            if answer.status_code not in (200, 201):
                raise ProofError(f"A fact could not be stored: {answer.status_code} {answer.text[:300]}")

    def ask(self) -> float:
        """Recall one question that was not asked before; seconds until the answer."""
        question = f"{random.choice(QUESTIONS)} {random.randrange(10**9)}"
        start = time.perf_counter()
        answer = self.http.post("/api/recall", json={"query": question, "group": GROUP})
        seconds = time.perf_counter() - start
        if answer.status_code != 200:
            raise ProofError(f"A recall got {answer.status_code}: {answer.text[:300]}")
        time.sleep(PACE_S)
        return seconds

    def ask_for(self, seconds: float) -> list[float]:
        """Recall for so long."""
        end, times = time.monotonic() + seconds, list[float]()
        while time.monotonic() < end:
            times.append(self.ask())
        return times

    def ask_during(self, attack: "subprocess.Popen[str]") -> list[float]:
        """Recall until the attack has ended, and a little longer."""
        times = self.ask_for(self.least_s)
        while attack.poll() is None:
            times.append(self.ask())
        return times


def prove_load(workshop: Workshop) -> Finding:
    """Recalls at rest, while sixteen clients store one text of marks each, and while they do so in a loop."""
    home = make_home(workshop.folder / "home-load")
    log = workshop.folder / "load.log"
    log.unlink(missing_ok=True)
    seconds = workshop.pick(LOAD_S, QUICK_S)
    with running(home, log, supervised=True, variables=LIMITS) as server:
        numbers = measure(
            home,
            server,
            seconds,
            idle_s=workshop.pick(IDLE_S, QUICK_S),
            least_s=workshop.pick(LEAST_S, QUICK_S),
        )
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


def measure(home: Home, server: Server, seconds: float, *, idle_s: float, least_s: float) -> dict[str, Any]:
    """The numbers, after the server has done everything once."""
    secret: str = home.witness("token", {"name": "hostile"})["secret"]
    headers = {"authorization": f"Bearer {home.secret}"}
    with httpx2.Client(base_url=server.url, headers=headers, timeout=CALL_S, trust_env=False) as http:
        asker = Asker(http, least_s)
        asker.fill()
        if least_s > QUICK_S:  # in small, times do not count
            with start_attack(server, secret, 0, CLIENTS) as attack:
                asker.ask_during(attack)
        before = memory_mb(server.process.pid)
        idle = asker.ask_for(idle_s)
        once = idle
        if least_s > QUICK_S:
            with start_attack(server, secret, 0, CLIENTS) as attack:
                once = asker.ask_during(attack)
        with start_attack(server, secret, seconds, CLIENTS if least_s > QUICK_S else FEW_CLIENTS) as attack:
            loop = asker.ask_during(attack)
            load = json.loads(attack.communicate()[0])
    statuses: dict[str, int] = load["statuses"]
    return {
        "recall p95 at rest, ms": p95_ms(idle),
        "recall p95 beside stores at once, ms": p95_ms(once),
        "recall p95 beside stores in a loop, ms": p95_ms(loop),
        "recalls beside the loop": len(loop),
        "longest of them, ms": round(max(loop) * 1000, 1),
        "stores accepted": statuses.get("201", 0) + statuses.get("200", 0),
        "stores answered with 429": statuses.get("429", 0),
        "stores answered otherwise": sum(
            n for code, n in statuses.items() if code not in ("200", "201", "429")
        ),
        "longest store, s": round(load["longest_s"], 2),
        "memory before, MB": before,
        "memory after, MB": memory_mb(server.process.pid),
    }


def start_attack(
    server: Server, secret: str, seconds: float, clients: int, *, question: str = ""
) -> "subprocess.Popen[str]":
    """Start the clients, in a loop for so long or with one store each; with a question they recall it instead."""
    attack = [server.url, str(seconds), str(clients), *([question] if question else [])]
    command = [sys.executable, "-m", "bench.proof.hostile.attack", *attack]
    process = subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    process.stdin.write(secret)
    process.stdin.close()
    process.stdin = None
    return process


def p95_ms(times: list[float]) -> float:
    """The 95th percentile in milliseconds."""
    return round(statistics.quantiles(times, n=100)[94] * 1000, 1)


def memory_mb(up: int) -> float:
    """Memory of the two web processes below an `up` at rest, each shared page counted once (PSS), in MB."""
    deadline = time.monotonic() + QUIET_S
    while len(found := web_processes(up)) < 2:
        if time.monotonic() > deadline:
            raise ProofError("The web processes did not come to rest.")
    texts = [Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii") for pid in found]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("Pss:")]
    return round(sum(int(line.split()[1]) for line in lines) / 1024, 1)
