"""What no page may do: write an error to the console, fail in a script, or ask any other machine for anything."""

import re
from dataclasses import dataclass, field
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request

# How far axe-core's own judgement goes that fails a test.
GRAVE = ("serious", "critical")
HERE = ("127.0.0.1", "localhost")


@dataclass
class Guard:
    """Collects what the pages of a test do wrong. `allow()` takes what a test provokes on purpose."""

    faults: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def allow(self, pattern: str) -> None:
        """Let console errors pass that match: Chromium writes one for each page answered with 4xx."""
        self.allowed.append(pattern)

    def watch(self, context: BrowserContext) -> None:
        """Listen to every page of a browser's context."""
        context.on("console", self._heard)
        context.on("weberror", lambda fault: self.faults.append(f"script failed: {fault.error}"))
        context.on("request", self._asked)

    def left(self) -> list[str]:
        """Give the faults that no test asked for."""
        return [said for said in self.faults if not any(re.search(one, said) for one in self.allowed)]

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _asked(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob", "about") and url.hostname not in HERE:
            self.faults.append(f"left the machine: {request.url}")


def grave_faults(page: Page) -> list[str]:
    """Give what axe-core finds serious or critical on the page as it stands, each with the elements concerned."""
    if not page.evaluate("typeof window.axe === 'object'"):
        # Through the debugger, which no content security policy stops; the page itself loads nothing.
        page.evaluate(_axe_source())
    found: dict[str, Any] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
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
