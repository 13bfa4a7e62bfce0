"""Recalls of one client while others store texts that are meant to stop it: `make proof hostile` measures it, `make test` tries it."""

import json
import math
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

import pytest

from bench.proof.client import Client
from bench.proof.home import Home, make_home
from bench.proof.proof import REPOSITORY
from bench.proof.server import Server, both_web_processes, running
from tests.sizes import IS_WHOLE, pick, report

pytestmark = [
    pytest.mark.model,
    pytest.mark.server,
    pytest.mark.timeout(400),
    pytest.mark.usefixtures("prepared_home"),
]
# Whoever else works on the machine makes recalls slow: only a whole run judges times and megabytes.
LIMIT_RECALL = pick(3.0, math.inf)  # times the idle p95
LIMIT_MEMORY = pick(1.2, math.inf)  # times the memory before
LOAD_S, IDLE_S, LEAST_S = pick((60, 20, 3), (1, 1, 1))
CLIENTS = pick(16, 3)
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
    """The client that others try to stop, and a token of another person."""

    server: Server
    client: Client
    other: str

    def ask(self) -> float:
        """Recall one question that was not asked before; seconds until the answer."""
        answer = self.client.recall(f"{random.choice(QUESTIONS)} {random.randrange(10**9)}", GROUP)
        answer.must(200)
        time.sleep(PACE_S)
        return answer.seconds

    def ask_for(self, seconds: float) -> list[float]:
        """Recall for so long."""
        end, times = time.monotonic() + seconds, list[float]()
        while time.monotonic() < end:
            times.append(self.ask())
        return times

    def ask_beside(
        self, seconds: float, *, question: str = "", least_s: float = LEAST_S
    ) -> tuple[list[float], dict[str, Any]]:
        """Recall until an attack has ended, for `least_s` at least: the seconds, and what the attackers were answered."""
        words = [str(self.server.port), str(seconds), str(CLIENTS), *([question] if question else [])]
        command = [sys.executable, "-m", "tests.loci_site.server.attackers", *words]
        with subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as attack:
            assert attack.stdin is not None
            assert attack.stdout is not None
            attack.stdin.write(self.other)
            attack.stdin.close()
            times = self.ask_for(least_s)
            while attack.poll() is None:
                times.append(self.ask())
            load: dict[str, Any] = json.loads(attack.stdout.read())
        return times, load


@contextmanager
def asking(home: Home, log: Path, variables: dict[str, str] | None = None) -> Iterator[Asker]:
    """One person's client on a running `up`, the facts of its questions stored."""
    with running(home, log, supervised=True, variables=variables or {}) as server:
        other = home.witness("token", name="hostile")["secret"]
        with Client(server.port, home.secret, timeout_s=CALL_S) as client:
            for fact in FACTS:
                client.store(fact, GROUP).must(200, 201)
            yield Asker(server, client, other)


def test_recalls_go_on_while_others_store_texts_of_marks(tmp_path: Path) -> None:
    """At rest, while all clients store one text of marks each, and while they do so in a loop."""
    with asking(make_home(tmp_path / "home"), tmp_path / "server.log", LIMITS) as asker:
        if IS_WHOLE:
            asker.ask_beside(0)  # then the server has done everything once
        before = memory_mb(asker.server)
        idle = asker.ask_for(IDLE_S)
        once = asker.ask_beside(0)[0] if IS_WHOLE else idle
        loop, load = asker.ask_beside(LOAD_S)
        after = memory_mb(asker.server)
    statuses: dict[str, int] = load["statuses"]
    report(
        {
            "recall p95 at rest, ms": p95_ms(idle),
            "recall p95 beside stores at once, ms": p95_ms(once),
            "recall p95 beside stores in a loop, ms": p95_ms(loop),
            "recalls beside the loop": len(loop),
            "longest of them, ms": round(max(loop) * 1000, 1),
            "stores by their answers": ", ".join(
                f"{count:,} × {status}" for status, count in statuses.items()
            ),
            "longest store, s": round(load["longest_s"], 2),
            "memory before, MB": before,
            "memory after, MB": after,
        }
    )
    assert statuses.keys() <= {"200", "201", "429"}
    assert len(loop) >= 4
    assert statuses.get("200", 0) + statuses.get("201", 0) >= 3
    assert p95_ms(once) <= LIMIT_RECALL * p95_ms(idle)
    assert p95_ms(loop) <= LIMIT_RECALL * p95_ms(idle)
    assert after <= LIMIT_MEMORY * before


def p95_ms(times: list[float]) -> float:
    """The 95th percentile in milliseconds."""
    return round(statistics.quantiles(times, n=100)[94] * 1000, 1)


def memory_mb(up: Server) -> float:
    """Memory of the two web processes below an `up` at rest, each shared page counted once (PSS), in MB."""
    pids = both_web_processes(up)
    texts = [Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii") for pid in pids]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("Pss:")]
    return round(sum(int(line.split()[1]) for line in lines) / 1024, 1)
