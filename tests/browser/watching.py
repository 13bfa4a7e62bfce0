"""What no page may do: log a console error, raise in a script, or send a request to another host."""

import re
from dataclasses import dataclass, field
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request

# How far axe-core's own judgement goes that fails a test.
GRAVE = ("serious", "critical")
HERE = ("127.0.0.1", "localhost")
# A rule has one impact. One that is never grave finds nothing that counts here, so it does not run.
RUN_AXE = """grave => axe.run(document, {
    resultTypes: ['violations'],
    rules: Object.fromEntries(
        axe._audit.rules.filter(rule => !grave.includes(rule.impact)).map(rule => [rule.id, {enabled: false}])
    ),
})"""


@dataclass
class Guard:
    """Collects the errors of a test's pages. `allow()` exempts those provoked on purpose."""

    faults: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def allow(self, pattern: str) -> None:
        """Exempt matching console errors: Chromium logs one for each 4xx page."""
        self.allowed.append(pattern)

    def watch(self, context: BrowserContext) -> None:
        """Listen to every page of a browser's context."""
        context.on("console", self._heard)
        context.on("weberror", lambda fault: self.faults.append(f"script failed: {fault.error}"))
        context.on("request", self._asked)

    def left(self) -> list[str]:
        """The errors that were not exempted."""
        return [said for said in self.faults if not any(re.search(one, said) for one in self.allowed)]

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _asked(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob", "about") and url.hostname not in HERE:
            self.faults.append(f"left the machine: {request.url}")


def grave_faults(page: Page) -> list[str]:
    """Serious and critical findings of axe-core on the current page, each with its elements."""
    if not page.evaluate("typeof window.axe === 'object'"):
        # Through the debugger, which no content security policy stops; the page itself loads nothing.
        page.evaluate(_axe_source())
    found: dict[str, Any] = page.evaluate(RUN_AXE, GRAVE)
    return [
        f"{one['impact']} {one['id']}: {one['help']}\n"
        + "\n".join(f"    {node['html'][:160]}  {_why(node)}" for node in one["nodes"][:4])
        for one in found["violations"]
        if one["impact"] in GRAVE
    ]


def _why(node: dict[str, Any]) -> str:
    return " ".join(str(node.get("failureSummary", "")).split())[:200]


def _axe_source() -> str:
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
