"""Two sites on one database, and a replica: what is stored through one is found through the other, and nothing is lost."""

import random
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bench.proof.client import GONE, Client, Refused
from bench.proof.clients.ledger import Ledger, open_round
from bench.proof.clients.sentences import GROUPS, Job, jobs
from bench.proof.clients.traffic import together
from bench.proof.home import Home, open_home
from bench.proof.postgres.server import PostgresServer
from bench.proof.proof import Workshop, wait_until
from bench.proof.server import Server, bad_lines, running, start, web_processes

WRITERS = 8
WORDS, QUICK_WORDS = 40, 5  # stored through one site and looked for through the other
RESTARTS, QUICK_RESTARTS = 4, 2
BETWEEN_S = 3.0
PAUSE_S = 0.1
READY_S = 120
REPLICA_WORDS, QUICK_REPLICA_WORDS = 40, 10
LATER_S = 2.5  # after the last write; then the replica answers
RECALLS = 20


@dataclass
class CodeWords:
    """What was stored is in the ledger."""

    ledger: Ledger
    dice: random.Random = field(default_factory=lambda: random.Random(7))

    def store(self, client: Client) -> tuple[str, str]:
        """A new word and the id of its memory."""
        word = f"zq{self.dice.getrandbits(48):x}"
        text = f"The new code word for the harbour gate is {word}."
        self.ledger.send(text)
        answer = client.call("store_memory", content=text, group=GROUPS[0], scope="group")
        self.ledger.acknowledge(text, answer)
        return word, str(answer["id"])


def finds(client: Client, word: str, id_: str) -> bool:
    """Whether a question about the word gets its memory."""
    question = f"Is {word} the code word of the harbour gate?"
    answer = client.call("recall_memory", query=question, group=GROUPS[0])
    return f"<memory id={id_[-8:]} " in answer["text"]


def two_sites(workshop: Workshop) -> dict[str, Any]:
    """Start `up` twice in two homes on one database; look, restart one after the other under writers, look again."""
    home, ledger, log = open_round(workshop, "sites")
    homes = [home, _second_home(home, workshop)]
    sites = list[Server]()
    with ExitStack() as stack:
        stack.callback(lambda: [site.stop() for site in sites])
        sites += [start(each, log, supervised=True) for each in homes]
        words = _words(sites, home.secret, ledger, workshop.pick(WORDS, QUICK_WORDS))
        rolled = _rolling(sites, homes, log, ledger, workshop.pick(RESTARTS, QUICK_RESTARTS))
    seen = home.check(ledger.as_json())
    faults = [*words["faults"], *rolled["faults"], *ledger.odd_outcomes[:5], *seen["faults"], *bad_lines(log)]
    lost = len(ledger.sent) - len(ledger.acknowledged)
    if lost:
        faults.append(f"{lost} writes were never acknowledged")
    numbers = {**words["numbers"], **rolled["numbers"], "writes acknowledged": len(ledger.acknowledged)}
    return {"numbers": numbers | {"writes lost": lost}, "faults": faults}


def _second_home(home: Home, workshop: Workshop) -> Home:
    """A home on the same database, with the same keys, as a second machine has it."""
    path = workshop.folder / "home-sites-2"
    shutil.rmtree(path, ignore_errors=True)
    left_out = shutil.ignore_patterns("queue", "backups", "*.sock")
    shutil.copytree(home.path, path, symlinks=True, ignore=left_out)
    return open_home(path)


def _words(sites: list[Server], secret: str, ledger: Ledger, count: int) -> dict[str, Any]:
    """Store a word through each site in turn and ask the other one at once."""
    words, first, faults = CodeWords(ledger), 0, list[str]()
    with Client(sites[0].port, secret) as one, Client(sites[1].port, secret) as two:
        for client in (one, two):
            wait_until(partial(_is_ready, client), "A site was never ready.", seconds=READY_S, every_s=0.5)
        for number in range(count):
            here, there = (one, two) if number % 2 == 0 else (two, one)
            word, id_ = words.store(here)
            if finds(there, word, id_):
                first += 1
            else:
                faults.append(f"the other site's next recall did not find {word}")
    return {"numbers": {f"found by the other's next recall, of {count}": first}, "faults": faults}


def _is_ready(client: Client) -> bool:
    try:
        answer = client.call("recall_memory", query="What is the code word?", group=GROUPS[0])
    except (Refused, *GONE):
        return False
    return "Degraded: " not in answer["text"]


def _rolling(
    sites: list[Server], homes: list[Home], log: Path, ledger: Ledger, restarts: int
) -> dict[str, Any]:
    """Restart one site after the other while agents write through whichever answers; nothing may be lost."""
    waiting = jobs(100_000, start=1_000)[::-1]
    over = threading.Event()
    told = {"restarts under writers": 0, "calls sent again": 0}

    def restart() -> None:
        try:
            time.sleep(BETWEEN_S)
            for number in range(restarts):
                at = number % len(sites)
                sites[at].stop()
                time.sleep(BETWEEN_S)
                sites[at] = start(homes[at], log, supervised=True)
                wait_until(lambda at=at: web_processes(sites[at].pid), "A site did not come back.")  # type: ignore[misc]
                told["restarts under writers"] += 1
            time.sleep(BETWEEN_S)
        finally:
            over.set()

    write: Callable[[int], None] = partial(_write, sites, homes[0].secret, waiting, ledger, over, told)
    faults = together([restart, *(partial(write, number) for number in range(WRITERS))])
    return {"numbers": told, "faults": faults}


def _write(
    sites: list[Server],
    secret: str,
    waiting: list[Job],
    ledger: Ledger,
    over: threading.Event,
    told: dict[str, int],
    number: int,
) -> None:
    """Store one text after the other, each with its key: sent again to the other site where one did not answer."""
    with ExitStack() as stack:
        clients = dict[int, Client]()
        while not over.is_set():
            job = waiting.pop()
            ledger.send(job.content)
            arguments = {**job.arguments(), "idempotency_key": f"ticket-{len(ledger.sent)}-{number}"}
            answer = None
            while answer is None:
                number += 1
                port = sites[number % len(sites)].port
                if port not in clients:
                    clients[port] = stack.enter_context(Client(port, secret))
                try:
                    answer = clients[port].call("store_memory", **arguments)
                except (Refused, *GONE):
                    told["calls sent again"] += 1
                    time.sleep(PAUSE_S)
            ledger.acknowledge(job.content, answer)
            time.sleep(PAUSE_S)  # leaves the machine to the site that starts


def read_replica(workshop: Workshop, server: PostgresServer) -> dict[str, Any]:
    """Copy the server with pg_basebackup, recall beside writes, then stop the replica."""
    home, ledger, log = open_round(workshop, "replica")
    replica = PostgresServer(workshop.folder / "replica")
    replica.copy_from(server)
    variables = {"DATABASE_REPLICA_URL": replica.url("replica")}
    try:
        with running(home, log, variables=variables) as web, Client(web.port, home.secret) as client:
            found = _recall_both(client, ledger, replica, workshop.pick(REPLICA_WORDS, QUICK_REPLICA_WORDS))
    finally:
        replica.stop()
    seen = home.check(ledger.as_json())
    faults = [*found["faults"], *ledger.odd_outcomes[:5], *seen["faults"], *bad_lines(log)]
    return {"numbers": found["numbers"], "faults": faults}


def _recall_both(client: Client, ledger: Ledger, replica: PostgresServer, count: int) -> dict[str, Any]:
    words, faults = CodeWords(ledger), list[str]()
    for job in jobs(20):
        ledger.send(job.content)
        ledger.acknowledge(job.content, client.call("store_memory", **job.arguments()))
    for _ in range(count):
        word, id_ = words.store(client)
        if not finds(client, word, id_):
            faults.append(f"its own writer's next recall did not find {word}")
    found = count - len(faults)
    # A replica that stands still shows who answers.
    replica.ask("SELECT pg_wal_replay_pause()")
    word, id_ = words.store(client)
    if not finds(client, word, id_):
        faults.append("a writer's recall within two seconds went to the replica")
    time.sleep(LATER_S)
    later = sum(finds(client, word, id_) for _ in range(RECALLS))
    if later:
        faults.append(f"{later} of {RECALLS} recalls after two seconds went to the primary")
    replica.ask("SELECT pg_wal_replay_resume()")
    time.sleep(1)
    resumed = sum(finds(client, word, id_) for _ in range(RECALLS))
    if resumed < RECALLS:
        faults.append(f"{RECALLS - resumed} recalls by the replica did not find what had reached it")
    replica.stop()
    without = sum(finds(client, word, id_) for _ in range(3))
    numbers = {
        f"found by the writer's own next recall, of {count}": found,
        f"recalls answered while it stood still, of {RECALLS}": RECALLS - later,
        "recalls answered by the primary after it was stopped, of 3": without,
    }
    return {"numbers": numbers, "faults": faults}
