"""A person at a browser: logs in, opens pages and decides, over one connection, and notes how long each answer took.

Beside the time that was waited, the processor's time that the server spent is noted: others on the machine change the
first and not the second.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench.proof.client import Answer, Client
from bench.proof.proof import ProofError
from bench.proof.server import Server

# What is decided about a card of each kind; by turns where there are two.
VERBS = {
    "candidate": ("approve", "reject"),
    "promotion": ("approve",),
    "disputed": ("approve", "reject"),
    "quarantined": ("reject",),
    "conflict": ("supersede", "dismiss"),
    "duplicate": ("dismiss", "merge"),
}
_ROW = re.compile(r'<li data-kind="(\w+)" data-id="([0-9a-f-]{36})">')
_MEMORY = re.compile(r'data-memory="([0-9a-f-]{36})"')
_OTHER = re.compile(r'name="other" value="([0-9a-f-]{36})"')
_LINK = re.compile(r'data-link="([0-9a-f-]{36})"')


@dataclass
class Person:
    """One logged-in browser. `took` has the milliseconds of each kind of request, as they were waited for.

    `spent` has those that the server worked meanwhile, in all its threads; nothing where the system does not say.
    """

    client: Client
    server: Server
    took: dict[str, list[float]] = field(default_factory=dict)
    spent: dict[str, list[float]] = field(default_factory=dict)

    def open(self, name: str, address: str) -> str:
        """The text of a page. Raises ProofError where it does not answer with 200."""
        text: str = self._note(name, lambda: self.client.get(address)).must(200)
        return text

    def deck(self) -> list[tuple[str, str]]:
        """The cards that the review page lists, as (kind, id)."""
        return _ROW.findall(self.open("review", "/admin/review/"))

    def decide(self, kind: str, id_: str, turn: int) -> tuple[str, dict[str, Any]]:
        """Look at a card and decide it; the verb and what the server answered."""
        text = self.open("card", f"/admin/review/card/{kind}/{id_}/")
        verb = VERBS[kind][turn % len(VERBS[kind])]
        said = {"verb": verb, "id": _found(_MEMORY, text, id_)}
        if kind in ("conflict", "duplicate"):
            said |= {"link": _found(_LINK, text, id_), "other": _found(_OTHER, text, id_)}
        return verb, self.send(f"decide: {verb}", "/admin/review/decide/", said)

    def send(self, name: str, address: str, said: dict[str, str]) -> dict[str, Any]:
        """Post fields; the JSON that answers."""
        answer: dict[str, Any] = self._note(name, lambda: self.client.form(address, said)).must(200)
        return answer

    def _note(self, name: str, ask: Callable[[], Answer]) -> Answer:
        worked = self._worked_ms()
        answer = ask()
        self.took.setdefault(name, []).append(answer.seconds * 1000)
        if worked:
            self.spent.setdefault(name, []).append(self._worked_ms() - worked)
        return answer

    def _worked_ms(self) -> float:
        """CPU time of the server's threads, ended ones included; 0 where Linux does not report it."""
        try:
            # What clock_getcpuclockid(3) returns for a process; Python offers it for threads alone.
            return time.clock_gettime((~self.server.pid << 3) | 2) * 1000
        except OSError:
            return 0.0


def _found(pattern: re.Pattern[str], text: str, where: str) -> str:
    found = pattern.search(text)
    if found is None:
        raise ProofError(f"{where} does not have {pattern.pattern}: {text[:200]}")
    return found[1]
