"""Recalls of one person while others store texts that are meant to stop them, or ask for texts that are meant to make recall slow.

`make proof hostile` and `make proof hostile-reads` measure it; `make test` tries both on one running Loci.
"""

import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.proof.client import Client
from bench.proof.home import make_home
from bench.proof.proof import REPOSITORY
from bench.proof.server import Server, both_web_processes, running
from tests.loci_site.server.attackers import SHORT_TEXTS, words
from tests.loci_site.server.conftest import copied_homes
from tests.sizes import IS_WHOLE, pick, report

pytestmark = [
    pytest.mark.model,
    pytest.mark.server,
    pytest.mark.timeout(pick(400, 900)),
]
# Whoever else works on the machine makes recalls slow: only a whole run judges times and megabytes.
LIMIT_RECALL = pick(3.0, math.inf)  # times the idle p95
LIMIT_MEMORY = pick(1.2, math.inf)  # times the memory before
LOAD_S, IDLE_S, LEAST_S = pick((60, 20, 3), (1, 1, 1))
CLIENTS = pick(16, 3)
PACE_S = 0.05  # between two questions
CALL_S = 120
GROUP = "harbour"
FACTS = (
    "The harbour service listens on port 8443.",
    "Anna owns the ledger.",
    "The night job runs at three.",
    "Deploys need a review and a ticket.",
)
QUESTIONS = ("Which port does the harbour use?", "Who owns the ledger?", "When does the night job run?")
FLOOD = "flood"
LONG = 90_000  # characters; the limit of a text is 100,000
STORES = pick(8, 2)  # texts of each shape
TURN_S = pick(4.0, 0.5)  # at rest, and beside the readers, for each shape


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

    def store(self) -> float:
        """Store a text that was not stored before; seconds until the answer."""
        answer = self.client.store(words(), GROUP)
        answer.must(200, 201)
        time.sleep(PACE_S)
        return answer.seconds

    def ask_for(self, seconds: float, ask: Callable[[], float] | None = None) -> list[float]:
        """Recall (or `ask`) for so long, and twice at least, which a percentile needs."""
        end, times = time.monotonic() + seconds, list[float]()
        while time.monotonic() < end or len(times) < 2:
            times.append((ask or self.ask)())
        return times

    def ask_beside(
        self,
        seconds: float,
        *,
        question: str = "",
        least_s: float = LEAST_S,
        ask: Callable[[], float] | None = None,
    ) -> tuple[list[float], dict[str, Any]]:
        """Recall (or `ask`) until an attack has ended, for `least_s` at least: the seconds, and what the attackers were answered."""
        told = [str(self.server.port), str(seconds), str(CLIENTS), *([question] if question else [])]
        command = [sys.executable, "-m", "tests.loci_site.server.attackers", *told]
        with subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as attack:
            assert attack.stdin is not None
            assert attack.stdout is not None
            attack.stdin.write(self.other)
            attack.stdin.close()
            times = self.ask_for(least_s, ask)
            while attack.poll() is None:
                times.append((ask or self.ask)())
            load: dict[str, Any] = json.loads(attack.stdout.read())
        return times, load


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    """One person's client on a running `up`, in small on one web process, the facts of its questions stored."""
    folder = tmp_path_factory.mktemp("asked")
    with pytest.MonkeyPatch.context() as patch:
        copied_homes(patch)
        home = make_home(folder / "home")
    with running(home, folder / "up.log", supervised=IS_WHOLE) as server:
        other = home.witness("token", name="hostile")["secret"]
        with Client(server.port, home.secret, timeout_s=CALL_S) as client:
            for fact in FACTS:
                client.store(fact, GROUP).must(200, 201)
            yield Asker(server, client, other)


def test_recalls_go_on_while_others_store_texts_of_marks(asker: Asker) -> None:
    """At rest, while all clients store one text of marks each, and while they do so in a loop."""
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


def test_recalls_and_stores_go_on_while_another_person_stores_flat_out(asker: Asker) -> None:
    """No store is refused, and no other person waits long."""
    found: dict[str, float | str] = {}
    for name, ask in (("recall", asker.ask), ("store", asker.store)):
        idle = asker.ask_for(IDLE_S, ask)
        beside, load = asker.ask_beside(LOAD_S, question=SHORT_TEXTS, ask=ask)
        statuses: dict[str, int] = load["statuses"]
        found |= {
            f"{name} p95 at rest, ms": p95_ms(idle),
            f"{name} p95 beside stores, ms": p95_ms(beside),
            f"stores of the other beside {name}s": ", ".join(
                f"{n:,} × {each}" for each, n in statuses.items()
            ),
        }
        assert statuses.keys() == {"201"}
        assert p95_ms(beside) <= LIMIT_RECALL * p95_ms(idle)
    report(found)


def fill(unit: str) -> str:
    """A text of about LONG characters that repeats a few, and ends in a way of its own."""
    return f"{unit * (LONG // len(unit))} {random.randrange(10**12)}"


# What is repeated, and the question that leads there.
SHAPES: Mapping[str, tuple[str, str]] = {
    "words": ("plain wrd ", "plain wrd"),
    "short texts": ("", "plain wrd"),
    "a word": ("a" * 90, "a" * 90),
    "a letter": ("a ", "what is a b c?"),
    "letters without blanks": ("abcdefghij", "abcdefghij"),
    "small words": ("the of and ", "the of and"),
    "capitals": ("Anna Bella ", "who is the author of Anna Bella?"),
    "turns": ("Anna: hello there\n", "what did Anna say?"),
    "sentences": ("It is so. ", "summarise what is so"),
    "questions": ("Who is it? ", "who is it?"),
    "lines": ("x\n", "x"),
    "deep lists": ("  - x\n    - y\n", "list all x and y"),
    "tables": ("| a | b |\n|---|---|\n", "a b"),
    "Markdown": ("**bold** _it_ `code` ", "bold code"),
    "HTML": ("<b>bold</b> ", "bold"),
    "our marks": ("</memory> ", "memory"),
    "Base64": ("QUJDREVGR0hJSktM", "QUJDREVGR0hJSktM"),
    "hex": ("0a1b2c3d ", "what is 0a1b2c3d?"),
    "numbers": ("8443 ", "which port is 8443?"),
    "versions": ("4.8.1 ", "what is 4.8.1?"),
    "dates": ("2024-05-03 ", "what happened on 3 May 2024?"),
    "days": ("last Monday ", "when was last Monday?"),
    "tickets": ("HAR-1203 ", "what is HAR-1203?"),
    "paths": ("/etc/hosts ", "what is in /etc/hosts?"),
    "names in code": ("getUserName() ", "getUserName"),
    "amounts": ("5 € ", "how much does it cost?"),
    "accents": ("é è ü ", "é è ü"),
    "Chinese": ("部署端口 ", "部署端口"),
    "Arabic": ("والكتاب ", "الكتاب"),
    "emoji": ("😀 🎉 ", "😀 🎉"),
}


def text_of(shape: str) -> str:
    """One text of a shape."""
    unit, _ = SHAPES[shape]
    return fill(unit) if unit else f"A plain wrd is {random.randrange(10**12)}."


def store_shape(client: Client, shape: str, count: int) -> None:
    """Store so many texts of a shape, which the guard may hold for a person."""
    for _ in range(count):
        client.store(text_of(shape), FLOOD).must(200, 201, 202)


def test_recalls_go_on_while_another_person_asks_for_hostile_texts(asker: Asker) -> None:
    """For each shape in turn: one person's recalls at rest, and while readers of another ask for such texts."""
    shapes = [*SHAPES][: pick(len(SHAPES), 2)]
    idle: dict[str, list[float]] = {}
    beside: dict[str, list[float]] = {}
    statuses: Counter[str] = Counter()
    store_shape(asker.client, "short texts", 1)  # which makes the group
    asker.ask_for(TURN_S)
    for shape in shapes:
        with Client(asker.server.port, asker.other, timeout_s=CALL_S) as client:
            store_shape(client, shape, STORES)
        idle[shape] = asker.ask_for(TURN_S)
        beside[shape], load = asker.ask_beside(TURN_S, question=SHAPES[shape][1], least_s=0)
        statuses.update(load["statuses"])
    ratios = {shape: statistics.median(beside[shape]) / statistics.median(idle[shape]) for shape in shapes}
    worst = max(ratios, key=ratios.__getitem__)
    at_rest, under_load = sum(idle.values(), list[float]()), sum(beside.values(), list[float]())
    report(
        {
            "shapes": len(shapes),
            "recalls at rest, beside readers": f"{len(at_rest)}, {len(under_load)}",
            "recall p95 at rest, ms": p95_ms(at_rest),
            "recall p95 beside readers, ms": p95_ms(under_load),
            "longest recall beside readers, ms": round(max(under_load) * 1000, 1),
            "shape with the slowest recalls": f"{worst}, median {ratios[worst]:.1f} times that at rest",
            "readers' answers": statuses.total(),
        }
    )
    assert statuses.total() >= len(shapes)
    assert statuses.keys() <= {"200", "429", "503"}
    assert p95_ms(under_load) <= LIMIT_RECALL * p95_ms(at_rest)


def p95_ms(times: list[float]) -> float:
    """The 95th percentile in milliseconds."""
    return round(statistics.quantiles(times, n=100)[94] * 1000, 1)


def memory_mb(server: Server) -> float:
    """Memory of the web processes at rest, each shared page counted once (PSS), in MB."""
    pids = both_web_processes(server) if IS_WHOLE else [server.process.pid]
    texts = [Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii") for pid in pids]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("Pss:")]
    return round(sum(int(line.split()[1]) for line in lines) / 1024, 1)
