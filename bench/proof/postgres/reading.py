"""A streaming replica that answers recalls: each agent finds what it wrote, and a lost replica is not missed."""

import asyncio
import random
from typing import Any

from bench.proof.clients.agent import Agent
from bench.proof.clients.ledger import Ledger
from bench.proof.clients.sentences import GROUPS, jobs
from bench.proof.home import make_home
from bench.proof.postgres.server import PostgresServer
from bench.proof.proof import Workshop
from bench.proof.server import bad_lines, running

WORDS, QUICK_WORDS = 40, 10
LATER_S = 2.5  # after the last write; then the replica answers
RECALLS = 20
_SCANS = (
    "SELECT COALESCE(SUM(idx_scan + seq_scan), 0) FROM pg_stat_user_tables WHERE relname = 'memories_memory'"
)


def read_replica(workshop: Workshop, server: PostgresServer) -> dict[str, Any]:
    """Copy the server with pg_basebackup, recall beside writes, then stop the replica."""
    variables = workshop.database("replica")
    home = make_home(workshop.folder / "home-replica", variables)
    log, file = workshop.folder / "replica.log", workshop.folder / "replica.jsonl"
    for path in (log, file):
        path.unlink(missing_ok=True)
    replica = PostgresServer(workshop.folder / "replica")
    replica.copy_from(server)
    ledger = Ledger(file)
    try:
        with running(home, log, variables={"DATABASE_REPLICA_URL": replica.url("replica")}) as web:
            found = asyncio.run(_recall_both(web.url, home.secret, ledger, replica, workshop))
    finally:
        replica.stop()
    seen = home.check(ledger.as_json())
    faults = [*found["faults"], *ledger.odd_outcomes[:5], *seen["faults"], *bad_lines(log)]
    return {**found, "seen": seen, "faults": faults}


async def _recall_both(
    url: str, secret: str, ledger: Ledger, replica: PostgresServer, workshop: Workshop
) -> dict[str, Any]:
    dice, faults = random.Random(11), list[str]()
    count = workshop.pick(WORDS, QUICK_WORDS)
    async with Agent(url, secret) as agent:
        for job in jobs(20):
            ledger.send(job.content)
            ledger.acknowledge(job.content, (await agent.call("store_memory", job.arguments())).body)
        for _ in range(count):
            word = f"zq{dice.getrandbits(48):x}"
            text = f"The new code word for the harbour gate is {word}."
            ledger.send(text)
            stored = await agent.call("store_memory", {"content": text, "group": GROUPS[0], "scope": "group"})
            ledger.acknowledge(text, stored.body)
            if stored.body["id"] not in await _found(agent, word):
                faults.append(f"its own writer's next recall did not find {word}")
        # A replica that stands still shows who answers.
        replica.ask("SELECT pg_wal_replay_pause()")
        word = f"zq{dice.getrandbits(48):x}"
        text = f"The new code word for the harbour gate is {word}."
        ledger.send(text)
        stored = await agent.call("store_memory", {"content": text, "group": GROUPS[0], "scope": "group"})
        ledger.acknowledge(text, stored.body)
        at_once = stored.body["id"] in await _found(agent, word)
        await asyncio.sleep(LATER_S)
        later = sum([stored.body["id"] in await _found(agent, word) for _ in range(RECALLS)])
        replica.ask("SELECT pg_wal_replay_resume()")
        await asyncio.sleep(1)
        resumed = sum([stored.body["id"] in await _found(agent, word) for _ in range(RECALLS)])
        await asyncio.to_thread(replica.stop)
        without = sum([stored.body["id"] in await _found(agent, word) for _ in range(3)])
    if not at_once:
        faults.append("a writer's recall within two seconds went to the replica")
    if later:
        faults.append(f"{later} of {RECALLS} recalls after two seconds went to the primary")
    if resumed < RECALLS:
        faults.append(f"{RECALLS - resumed} recalls by the replica did not find what had reached it")
    return {
        "words": count,
        "by_replica": RECALLS - later,
        "recalls": RECALLS,
        "without": without,
        "faults": faults,
    }


async def _found(agent: Agent, word: str) -> set[str]:
    question = {"query": f"Is {word} the code word of the harbour gate?", "group": GROUPS[0]}
    return {item["id"] for item in (await agent.call("recall_memory", question)).body["results"]}
