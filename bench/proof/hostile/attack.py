"""Clients that store texts of punctuation marks, in a process of their own so that they do not slow the asker.

`python -m bench.proof.hostile.attack URL SECONDS CLIENTS [QUESTION]`; the token comes on stdin, what was answered goes to
stdout as JSON. SECONDS 0: one store each. With a question they recall it from the group "flood" instead.
"""

import asyncio
import json
import random
import sys
import time
from dataclasses import asdict, dataclass, field

import httpx2

MARKS = "!?.,;:/-+*()[]"
MARKS_EACH = 30_000
CALL_S = 120
SUPPLY = "".join(random.choices(MARKS, k=4 * MARKS_EACH))


@dataclass
class Load:
    """What the attackers were answered: how many calls by status, and the longest (seconds)."""

    statuses: dict[str, int] = field(default_factory=dict)
    longest_s: float = 0.0


def marks() -> str:
    """A text of punctuation marks: as many tokens as characters."""
    at = random.randrange(len(SUPPLY) - MARKS_EACH)
    return SUPPLY[at : at + MARKS_EACH]


async def attack(url: str, secret: str, seconds: float, clients: int, question: str = "") -> Load:
    """All clients at once: one call each, or in a loop for so long, each as fast as it is answered and allowed."""
    load, end = Load(), time.monotonic() + seconds

    async def one() -> None:
        headers = {"authorization": f"Bearer {secret}"}
        # trust_env off: no proxy of the machine sees the traffic.
        async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=CALL_S, trust_env=False) as http:
            while True:
                wait_s = await call(http, load, question)
                if time.monotonic() + wait_s > end:
                    return
                await asyncio.sleep(wait_s)

    await asyncio.gather(*(one() for _ in range(clients)))
    return load


async def call(http: httpx2.AsyncClient, load: Load, question: str) -> float:
    """Store one text, or ask the question; the seconds that the server asks this client to wait."""
    start = time.perf_counter()
    if question:
        answer = await http.post("/api/recall", json={"query": question, "group": "flood"})
    else:
        body = {"content": marks(), "group": "harbour", "scope": "group"}
        answer = await http.post("/api/memories", json=body)
    load.longest_s = max(load.longest_s, time.perf_counter() - start)
    status = str(answer.status_code)
    load.statuses[status] = load.statuses.get(status, 0) + 1
    return float(answer.headers.get("retry-after", 0))


if __name__ == "__main__":
    url, seconds, clients, *asked = sys.argv[1:]
    found = asyncio.run(attack(url, sys.stdin.read().strip(), float(seconds), int(clients), *asked))
    print(json.dumps(asdict(found)))
