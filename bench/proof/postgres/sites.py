"""Two installations on one database: what one stores the other finds, and a rolling restart loses nothing."""

import asyncio
import random
import shutil
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import httpx2

from bench.proof.clients.agent import Agent, Refused
from bench.proof.clients.ledger import Ledger
from bench.proof.clients.sentences import GROUPS, Job, jobs
from bench.proof.home import Home, make_home, open_home
from bench.proof.proof import ProofError, Workshop
from bench.proof.server import Server, bad_lines, start, web_processes

WRITERS = 8
WORDS, QUICK_WORDS = 40, 5  # stored through one site and looked for through the other
RESTARTS, QUICK_RESTARTS = 4, 2
BETWEEN_S = 3.0
PAUSE_S = 0.1
READY_S = 120


def two_sites(workshop: Workshop) -> dict[str, Any]:
    """Start `up` twice in two homes on one database; look, restart one after the other under writers, look again."""
    home = make_home(workshop.folder / "home-sites", workshop.database("sites"))
    other = _second_home(home, workshop)
    log = workshop.folder / "sites.log"
    file = workshop.folder / "sites.jsonl"
    for path in (log, file):
        path.unlink(missing_ok=True)
    ledger = Ledger(file)
    sites = list[Server]()
    with ExitStack() as stack:
        stack.callback(lambda: [site.stop() for site in sites])
        for each in (home, other):
            sites.append(start(each, log, supervised=True))
        words = asyncio.run(_words(sites, home.secret, ledger, workshop.pick(WORDS, QUICK_WORDS)))
        restarts = workshop.pick(RESTARTS, QUICK_RESTARTS)
        rolled = asyncio.run(_rolling(sites, [home, other], log, ledger, restarts))
    seen = home.check(ledger.as_json())
    faults = [*words["faults"], *rolled["faults"], *ledger.odd_outcomes[:5], *seen["faults"], *bad_lines(log)]
    lost = len(ledger.sent) - len(ledger.acknowledged)
    if lost:
        faults.append(f"{lost} writes were never acknowledged")
    return {
        **words,
        **rolled,
        "acknowledged": len(ledger.acknowledged),
        "lost": lost,
        "seen": seen,
        "faults": faults,
    }


def _second_home(home: Home, workshop: Workshop) -> Home:
    """A home on the same database, with the same keys, as a second machine has it."""
    path = workshop.folder / "home-sites-2"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(
        home.path, path, symlinks=True, ignore=shutil.ignore_patterns("queue", "backups", "*.sock")
    )
    return open_home(path)


async def _words(sites: list[Server], secret: str, ledger: Ledger, count: int) -> dict[str, Any]:
    """Store a word through each site in turn and ask the other one at once."""
    dice, first, faults = random.Random(7), 0, list[str]()
    async with Agent(sites[0].url, secret) as one, Agent(sites[1].url, secret) as two:
        for agent in (one, two):
            await _until_ready(agent)
        for number in range(count):
            here, there = (one, two) if number % 2 == 0 else (two, one)
            word = f"zq{dice.getrandbits(48):x}"
            text = f"The new code word for the harbour gate is {word}."
            ledger.send(text)
            answer = await here.call("store_memory", {"content": text, "group": GROUPS[0], "scope": "group"})
            ledger.acknowledge(text, answer.body)
            question = {"query": f"Is {word} the code word of the harbour gate?", "group": GROUPS[0]}
            found = {item["id"] for item in (await there.call("recall_memory", question)).body["results"]}
            if answer.body["id"] in found:
                first += 1
            else:
                faults.append(f"the other site's next recall did not find {word}")
    return {"words": count, "found at once": first, "faults": faults}


async def _until_ready(agent: Agent) -> None:
    last: object = None
    for _ in range(READY_S * 2):
        try:
            answer = await agent.call(
                "recall_memory", {"query": "What is the code word?", "group": GROUPS[0]}
            )
            last = answer.body.get("degraded")
            if not last:
                return
        except (Refused, httpx2.HTTPError) as error:
            last = error
        await asyncio.sleep(0.5)
    raise ProofError(f"A site was never ready: {last!r}")


async def _rolling(
    sites: list[Server], homes: list[Home], log: Any, ledger: Ledger, restarts: int
) -> dict[str, Any]:
    """Restart one site after the other while agents write through whichever answers; nothing may be lost."""
    waiting = jobs(100_000, start=1_000)[::-1]
    over = asyncio.Event()
    told = {"restarts": 0, "repeated": 0}
    writers = [
        asyncio.create_task(_write(sites, number, homes[0].secret, waiting, ledger, over, told))
        for number in range(WRITERS)
    ]
    await asyncio.sleep(BETWEEN_S)
    for number in range(restarts):
        at = number % len(sites)
        await asyncio.to_thread(sites[at].stop)
        await asyncio.sleep(BETWEEN_S)
        sites[at] = await asyncio.to_thread(lambda at=at: start(homes[at], log, supervised=True))
        while not await asyncio.to_thread(web_processes, sites[at].process.pid):
            await asyncio.sleep(PAUSE_S)
        told["restarts"] += 1
    await asyncio.sleep(BETWEEN_S)
    over.set()
    ends = await asyncio.gather(*writers, return_exceptions=True)
    return {**told, "faults": [f"a writer ended with {end!r}" for end in ends if isinstance(end, Exception)]}


async def _write(
    sites: list[Server],
    number: int,
    secret: str,
    waiting: list[Job],
    ledger: Ledger,
    over: asyncio.Event,
    told: dict[str, int],
) -> None:
    """Store one text after the other, each with its key: sent again to the other site where one did not answer."""
    async with AsyncExitStack() as stack:
        agents = dict[str, Agent]()
        while not over.is_set():
            job = waiting.pop()
            ledger.send(job.content)
            arguments = {**job.arguments(), "idempotency_key": f"ticket-{len(ledger.sent)}-{number}"}
            answer = None
            while answer is None:
                number += 1
                url = sites[number % len(sites)].url
                if url not in agents:
                    agents[url] = await stack.enter_async_context(Agent(url, secret))
                try:
                    answer = await agents[url].call("store_memory", arguments)
                except (Refused, httpx2.HTTPError):
                    told["repeated"] += 1
                    await asyncio.sleep(PAUSE_S)
            ledger.acknowledge(job.content, answer.body)
            await asyncio.sleep(PAUSE_S)  # leaves the machine to the site that starts
