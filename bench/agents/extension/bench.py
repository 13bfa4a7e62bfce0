"""What the proof of the extension works with: a browser, the sites, and a server that can be ended and started again."""

import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Playwright, expect, sync_playwright

from bench.agents.extension.browser import Chrome, chrome
from bench.agents.extension.replicas import Replicas, serving_replicas
from bench.proof.client import Client
from bench.proof.home import Home, make_home
from bench.proof.proof import Workshop
from bench.proof.server import Server, free_port, start

# What My account does for a person who is logged in, and a token to look with.
PERSON = (
    "import json; from django.contrib.auth.models import User; from access.actor import Via; "
    "from access.tokens import actor_for_user, create_token, operator; from access.tokens.pairing import show_code; "
    "user = User.objects.get(username='prover'); code = show_code(actor_for_user(user, via=Via.APP), user).code; "
    "token = create_token(operator(), user=user, name='look', scopes=('read', 'write', 'curate', 'admin')).secret; "
    "print('PERSON', json.dumps({'code': code, 'token': token}))"
)
SEARCH_MS = 50


@dataclass
class Bench:
    """All that a scenario works with; `faults` are what it found."""

    driver: Playwright
    browser: Chrome
    replicas: Replicas
    home: Home
    folder: Path
    port: int
    server: Server | None = None
    token: str = ""
    faults: list[str] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where Loci answers, when it does."""
        return f"http://127.0.0.1:{self.port}"

    def serve(self) -> None:
        """Start the server where it was before."""
        self.server = start(self.home, self.folder / "server.log", port=self.port)

    def end_server(self) -> None:
        """End the server."""
        if self.server is not None:
            self.server.stop()
            self.server = None

    def code(self) -> str:
        """A new code, as My account shows it."""
        text = self.home.manage("shell", "-c", PERSON)
        person = json.loads(text.rpartition("PERSON ")[2])
        self.token = person["token"]
        return str(person["code"])

    def check(self, is_so: bool, fault: str) -> None:
        """Note a fault unless it is so."""
        if not is_so:
            self.faults.append(fault)

    def status(self) -> Any:
        """What the extension says of itself."""
        return self.browser.ask("status")

    def settle(self) -> None:
        """Send what waits, as the button in the settings does, and wait until nothing waits."""
        self.browser.ask("send-now")
        self.browser.wait("status", lambda status: status["numbers"]["waiting"] == 0)

    def wait_for_waiting(self, number: int) -> None:
        """Wait until at least so many turns wait."""
        self.browser.wait("status", lambda status: status["numbers"]["waiting"] >= number)

    def call(self, method: str, path: str) -> Any:
        """Call the REST API as the person."""
        with Client(self.port, self.token) as client:
            return client.send(method, f"/api/{path}").must()

    def time_searches(self, questions: tuple[str, ...]) -> None:
        """Measure the panel's questions in the browser, and over HTTP without one."""
        took = [took_ms(self.browser.ask, "search", query=letters) for letters in questions]
        with Client(self.port, self.token) as client:
            asked = [client.post("/api/captures/search", {"query": letters}) for letters in questions]
        served = [answer.seconds * 1000 for answer in asked]
        self.numbers["search from the extension, ms (median)"] = round(statistics.median(took), 1)
        self.numbers["search from the extension, ms (95 %)"] = round(sorted(took)[int(0.95 * len(took))], 1)
        self.numbers["search over HTTP alone, ms (median)"] = round(statistics.median(served), 1)
        self.check(
            statistics.median(took) <= SEARCH_MS, f"half of the searches take more than {SEARCH_MS} ms"
        )

    def turns(self, id_: str) -> list[Any]:
        """The turns of a conversation as the server has them."""
        items = self.call("GET", "conversations?limit=100")["items"]
        found = [each["id"] for each in items if each["thread"].endswith(f"/{id_}")]
        turns: list[Any] = []
        after = -1 if found else None
        while after is not None:
            page = self.call("GET", f"conversations/{found[0]}?after={after}")
            turns, after = [*turns, *page["turns"]], page["next"]
        return turns

    def wait_for_turns(self, id_: str, expected: list[str], name: str) -> None:
        """Wait until the server has exactly these texts of a conversation; a fault if it does not come to that."""
        found: list[str] = []
        for _ in range(100):
            self.browser.ask("send-now")
            found = [each["content"].partition(": ")[2] for each in self.turns(id_)]
            if found == expected:
                return
            self.browser.own.wait_for_timeout(100)
        self.faults.append(
            f"{name}: the server has {len(found)} turns, {found[-4:]}, not {len(expected)}, {expected[-4:]}"
        )

    def say(self, page: Page, text: str) -> None:
        """Ask something on a site's page, and wait for the whole answer."""
        page.evaluate("text => window.say(text)", text)

    def shown(self, page: Page) -> list[str]:
        """What a site's page shows."""
        expect(page.locator("#turns > *").first).to_be_visible()
        return [text.strip() for text in page.locator("#turns > *").all_inner_texts()]


@contextmanager
def bench(workshop: Workshop, folder: Path) -> Iterator[Bench]:
    """A fresh home with a running server, and a browser with the extension in `folder`, not paired, all sites off."""
    home = make_home(workshop.folder / "home")
    with (
        serving_replicas() as replicas,
        sync_playwright() as driver,
        chrome(driver, workshop.folder / "profile", replicas, folder) as browser,
    ):
        at = Bench(driver, browser, replicas, home, workshop.folder, free_port())
        at.serve()
        try:
            yield at
        finally:
            at.end_server()


def took_ms(call: Callable[..., object], *words: Any, **more: Any) -> float:
    """How long a call takes, in ms."""
    begun = time.perf_counter()
    call(*words, **more)
    return (time.perf_counter() - begun) * 1000
