"""A person at a browser: logs in, opens pages and decides, over one connection, and notes how long each answer took.

Beside the time that was waited, the processor's time that the server spent is noted: others on the machine change the
first and not the second.
"""

import http.client
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from bench.proof.proof import ProofError

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
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')
_MEMORY = re.compile(r'data-memory="([0-9a-f-]{36})"')
_OTHER = re.compile(r'name="other" value="([0-9a-f-]{36})"')
_LINK = re.compile(r'data-link="([0-9a-f-]{36})"')


@dataclass
class Person:
    """One logged-in browser. `took` has the milliseconds of each kind of request, as they were waited for.

    `spent` has those that the process `pid` worked meanwhile, in all its threads; nothing where the system does not say.
    """

    port: int
    pid: int
    took: dict[str, list[float]] = field(default_factory=dict)
    spent: dict[str, list[float]] = field(default_factory=dict)
    _cookies: dict[str, str] = field(default_factory=dict)
    _csrf: str = ""

    def __post_init__(self) -> None:
        self._wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def log_in(self, user: str, password: str) -> None:
        """Fill the login form."""
        address = "/login/"
        self._csrf = _found(_CSRF, self._ask("GET", address)[1], address)
        said = {"username": user, "password": password, "csrfmiddlewaretoken": self._csrf, "next": "/admin/"}
        status, _ = self._ask("POST", address, urlencode(said))
        if status != 302:
            raise ProofError(f"The login answered {status}.")

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    def open(self, name: str, address: str) -> str:
        """Open a page; raise ProofError where it does not answer with 200."""
        status, text = self._timed(name, "GET", address)
        if status != 200:
            raise ProofError(f"{address} answered {status}: {text[:300]}")
        return text

    def deck(self) -> list[tuple[str, str]]:
        """Open the review page and give the cards that it lists, as (kind, id)."""
        text = self.open("review", "/admin/review/")
        if _CSRF.search(text):
            self._csrf = _found(_CSRF, text, "/admin/review/")
        return _ROW.findall(text)

    def decide(self, kind: str, id_: str, turn: int) -> tuple[str, dict[str, Any]]:
        """Look at a card and decide it; give the verb and what the server answered."""
        text = self.open("card", f"/admin/review/card/{kind}/{id_}/")
        verbs = VERBS[kind]
        verb = verbs[turn % len(verbs)]
        said = {"verb": verb, "id": _found(_MEMORY, text, id_)}
        if kind in ("conflict", "duplicate"):
            said |= {"link": _found(_LINK, text, id_), "other": _found(_OTHER, text, id_)}
        return verb, self.send(f"decide: {verb}", "/admin/review/decide/", said)

    def send(self, name: str, address: str, said: dict[str, str]) -> dict[str, Any]:
        """Post fields and give the JSON that answers."""
        status, text = self._timed(name, "POST", address, urlencode(said))
        if status != 200:
            raise ProofError(f"{address} answered {status} to {said}: {text[:300]}")
        answer: dict[str, Any] = json.loads(text)
        return answer

    def _timed(self, name: str, method: str, address: str, body: str | None = None) -> tuple[int, str]:
        worked = self._worked_ms()
        started = time.perf_counter()
        answer = self._ask(method, address, body)
        self.took.setdefault(name, []).append((time.perf_counter() - started) * 1000)
        if worked:
            self.spent.setdefault(name, []).append(self._worked_ms() - worked)
        return answer

    def _worked_ms(self) -> float:
        """CPU time of the server's threads, ended ones included; 0 where Linux does not report it."""
        try:
            # What clock_getcpuclockid(3) gives for a process; Python offers it for threads alone.
            return time.clock_gettime((~self.pid << 3) | 2) * 1000
        except OSError:
            return 0.0

    def _ask(self, method: str, address: str, body: str | None = None) -> tuple[int, str]:
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        if body is not None:
            headers |= {
                "Content-Type": "application/x-www-form-urlencoded",
                "X-CSRFToken": self._csrf,
                "Referer": f"http://127.0.0.1:{self.port}/admin/",
            }
        self._wire.request(method, address, body=body, headers=headers)
        answer = self._wire.getresponse()
        text = answer.read().decode()
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self._cookies[name] = value
        return answer.status, text


def _found(pattern: re.Pattern[str], text: str, where: str) -> str:
    found = pattern.search(text)
    if found is None:
        raise ProofError(f"{where} does not have {pattern.pattern}: {text[:200]}")
    return found[1]
