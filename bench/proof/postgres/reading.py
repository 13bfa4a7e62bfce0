"""A streaming replica that answers recalls: each agent finds what it wrote, and a lost replica is not missed."""

import time
from typing import Any

from bench.proof.client import Client
from bench.proof.clients.ledger import Ledger
from bench.proof.clients.sentences import jobs
from bench.proof.clients.writers import begin
from bench.proof.postgres.server import PostgresServer
from bench.proof.postgres.words import CodeWords, finds
from bench.proof.proof import Workshop
from bench.proof.server import bad_lines, running

WORDS, QUICK_WORDS = 40, 10
LATER_S = 2.5  # after the last write; then the replica answers
RECALLS = 20


def read_replica(workshop: Workshop, server: PostgresServer) -> dict[str, Any]:
    """Copy the server with pg_basebackup, recall beside writes, then stop the replica."""
    home, ledger = begin(workshop, "replica")
    log = workshop.log("replica.log")
    replica = PostgresServer(workshop.folder / "replica")
    replica.copy_from(server)
    variables = {"DATABASE_REPLICA_URL": replica.url("replica")}
    try:
        with running(home, log, variables=variables) as web, Client(web.port, home.secret) as client:
            found = _recall_both(client, ledger, replica, workshop.pick(WORDS, QUICK_WORDS))
    finally:
        replica.stop()
    seen = home.check(ledger.as_json())
    faults = [*found["faults"], *ledger.odd_outcomes[:5], *seen["faults"], *bad_lines(log)]
    return {**found, "seen": seen, "faults": faults}


def _recall_both(client: Client, ledger: Ledger, replica: PostgresServer, count: int) -> dict[str, Any]:
    words, faults = CodeWords(ledger), list[str]()
    for job in jobs(20):
        ledger.send(job.content)
        ledger.acknowledge(job.content, client.call("store_memory", **job.arguments()))
    for _ in range(count):
        word, id_ = words.store(client)
        if not finds(client, word, id_):
            faults.append(f"its own writer's next recall did not find {word}")
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
    by_replica = RECALLS - later
    return {
        "words": count,
        "by_replica": by_replica,
        "recalls": RECALLS,
        "without": without,
        "faults": faults,
    }
