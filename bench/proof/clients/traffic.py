"""Many agents at once: writers that store a list of memories between them, readers that recall meanwhile."""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any

import httpx2

from bench.proof.clients.agent import Agent, Refused
from bench.proof.clients.ledger import Ledger
from bench.proof.clients.sentences import DEEDS, GROUPS, PEOPLE, THINGS, Job
from bench.proof.server import Server

Progress = Callable[[], None]
PAUSE_S = 0.2  # after a refusal, before the same agent writes on


@dataclass
class Traffic:
    """What the agents of one run saw; times are in seconds."""

    writes: list[float] = field(default_factory=list)
    recalls: list[float] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    broken: int = 0
    """Calls that got no answer, as when the server is killed."""
    in_flight: int = 0
    afterwards: int = 0
    """Writes that were acknowledged after the kill, by what lived on."""
    groups: set[str] = field(default_factory=set)
    """Groups that exist, since something was stored in them."""
    seconds: float = 0.0

    def numbers(self) -> dict[str, Any]:
        """The figures for the report."""
        told: dict[str, Any] = {
            "writes acknowledged": len(self.writes),
            "writes/s": round(len(self.writes) / self.seconds, 1),
            **_percentiles("write", self.writes),
        }
        return told | (
            {"recalls": len(self.recalls)} | _percentiles("recall", self.recalls) if self.recalls else {}
        )


@dataclass(frozen=True)
class _Killing:
    """When what is killed, and how long the others go on then."""

    after_s: float
    kill: Callable[[], object]
    further_s: float


def store_all(
    server: Server,
    secret: str,
    jobs: Iterable[Job],
    ledger: Ledger,
    *,
    writers: int,
    readers: int = 0,
    progress: Progress,
) -> Traffic:
    """Store every job through `writers` agents while `readers` agents recall; return when all are answered."""
    traffic = Traffic()
    asyncio.run(_store_all(traffic, server, secret, list(jobs), ledger, writers, readers, progress))
    return traffic


def store_until_killed(
    server: Server,
    secret: str,
    jobs: Iterable[Job],
    ledger: Ledger,
    *,
    writers: int,
    after_s: float,
    kill: Callable[[], object] | None = None,
    further_s: float = 0.0,
) -> Traffic:
    """Let agents store, kill the server `after_s` after the first acknowledgement, give what they saw.

    `kill` kills something else instead; all go on for `further_s`, over a new connection where one broke. `in_flight` counts the writes
    that had no answer yet when the signal was sent.
    """
    traffic = Traffic()
    killing = _Killing(after_s, kill or server.kill, further_s)
    asyncio.run(_store_until_killed(traffic, server, secret, list(jobs), ledger, writers, killing))
    return traffic


async def _store_all(
    traffic: Traffic,
    server: Server,
    secret: str,
    jobs: list[Job],
    ledger: Ledger,
    writers: int,
    readers: int,
    progress: Progress,
) -> None:
    waiting = jobs[::-1]
    start = time.perf_counter()
    reading = [asyncio.create_task(_read(traffic, server.url, secret, n)) for n in range(readers)]
    await asyncio.gather(
        *(_write(traffic, server.url, secret, waiting, ledger, progress) for _ in range(writers))
    )
    traffic.seconds = time.perf_counter() - start
    for task in reading:
        task.cancel()
    for end in await asyncio.gather(*reading, return_exceptions=True):
        if isinstance(end, Exception):
            traffic.refusals.append(f"recall: {end!r}")


async def _store_until_killed(
    traffic: Traffic,
    server: Server,
    secret: str,
    jobs: list[Job],
    ledger: Ledger,
    writers: int,
    killing: "_Killing",
) -> None:
    waiting = jobs[::-1]
    begun = asyncio.Event()
    writing = asyncio.gather(
        *(
            _write(traffic, server.url, secret, waiting, ledger, begun.set, again=killing.further_s > 0)
            for _ in range(writers)
        )
    )
    beginning = asyncio.create_task(begun.wait())
    waits: list[asyncio.Future[Any]] = [beginning, writing]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    beginning.cancel()
    await asyncio.sleep(killing.after_s)
    at_the_kill, written = traffic.in_flight, len(traffic.writes)
    # In a thread: a web process that ends gracefully after its supervisor still answers what it has begun.
    await asyncio.to_thread(killing.kill)
    if killing.further_s:
        await asyncio.sleep(killing.further_s)
        waiting.clear()
    await writing
    traffic.in_flight, traffic.afterwards = at_the_kill, len(traffic.writes) - written


async def _write(
    traffic: Traffic,
    url: str,
    secret: str,
    waiting: list[Job],
    ledger: Ledger,
    progress: Progress,
    *,
    again: bool = False,
) -> None:
    """Take jobs and store them, until there are none or the server is gone; `again` connects anew then."""
    while waiting:
        async with Agent(url, secret) as agent:
            if not await _write_on(agent, traffic, waiting, ledger, progress):
                if not again:
                    return
                await asyncio.sleep(PAUSE_S)


async def _write_on(
    agent: Agent, traffic: Traffic, waiting: list[Job], ledger: Ledger, progress: Progress
) -> bool:
    """Store over one connection; False where it broke."""
    while waiting:
        job = waiting.pop()
        ledger.send(job.content)
        traffic.in_flight += 1
        try:
            answer = await agent.call("store_memory", job.arguments())
        except Refused as refusal:
            traffic.refusals.append(f"{job.content} → {refusal}")
            await asyncio.sleep(PAUSE_S)
            continue
        except httpx2.HTTPError:
            traffic.broken += 1
            return False
        finally:
            traffic.in_flight -= 1
        ledger.acknowledge(job.content, answer.body)
        traffic.groups.add(job.group)
        traffic.writes.append(answer.seconds)
        progress()
    return True


async def _read(traffic: Traffic, url: str, secret: str, number: int) -> None:
    """Ask one question after the other until cancelled, as soon as the writers have made the groups."""
    while len(traffic.groups) < len(GROUPS):
        await asyncio.sleep(0.01)
    async with Agent(url, secret) as agent:
        while True:
            number += 1
            words = (series[number % len(series)] for series in (PEOPLE, DEEDS, THINGS))
            question = {"query": f"Has {' '.join(words)}?", "group": GROUPS[number % len(GROUPS)]}
            answer = await agent.call("recall_memory", question)
            traffic.recalls.append(answer.seconds)


def _percentiles(what: str, seconds: list[float]) -> dict[str, float]:
    if len(seconds) < 2:
        return {}
    cuts = quantiles(seconds, n=20)
    return {f"{what} p50, ms": round(cuts[9] * 1e3, 1), f"{what} p95, ms": round(cuts[18] * 1e3, 1)}
