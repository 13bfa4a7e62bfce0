"""Calls to a running server as an agent makes them, over HTTP MCP on one kept connection, and what they cost."""

import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "speed", "version": "1"},
}
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Timed:
    """What a run of calls took: each call's time as the client saw it, and the server's CPU time for a call, in ms."""

    times_ms: tuple[float, ...]
    cpu_ms: float

    def at(self, share: float) -> float:
        """The given percentile of the calls' times, in ms."""
        ordered = sorted(self.times_ms)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


class Agent:
    """A client with its own connection and token."""

    def __init__(self, port: int, secret: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self._secret = secret

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; give its structured answer, or raise RuntimeError with what went wrong."""
        params = {"name": tool, "arguments": arguments, "_meta": META}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        self._connection.request("POST", "/mcp", body, self._headers(tool))
        response = self._connection.getresponse()
        text = response.read()
        answer = json.loads(text) if response.status == 200 else {}
        result: dict[str, Any] = answer.get("result", {})
        if "structuredContent" not in result or result.get("isError"):
            raise RuntimeError(f"{tool} answered {response.status}: {text[:300]!r}")
        content: dict[str, Any] = result["structuredContent"]
        return content

    def recall(self, query: str, group: str) -> dict[str, Any]:
        """Ask one question."""
        return self.call("recall_memory", query=query, group=group)

    def store(self, content: str, group: str) -> dict[str, Any]:
        """Store one text."""
        return self.call("store_memory", content=content, group=group)

    def suggest(self, typed: str) -> list[dict[str, Any]]:
        """What is suggested for what was typed so far, over REST."""
        headers = {"Authorization": f"Bearer {self._secret}"}
        self._connection.request("GET", f"/api/suggest?q={quote(typed)}", headers=headers)
        response = self._connection.getresponse()
        text = response.read()
        if response.status != HTTPStatus.OK:
            raise RuntimeError(f"suggest answered {response.status}: {text[:300]!r}")
        items: list[dict[str, Any]] = json.loads(text)["items"]
        return items

    def _headers(self, tool: str) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self._secret}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        }


def timed(calls: Iterable[Callable[[], object]], *, pid: int) -> Timed:
    """Make the calls one after another."""
    times: list[float] = []
    before = cpu_ms(pid)
    for call in calls:
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1000)
    return Timed(tuple(times), (cpu_ms(pid) - before) / max(len(times), 1))


def cpu_ms(pid: int) -> float:
    """The CPU time that a process has used so far, in ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_MS


def resident_mb(pid: int) -> float:
    """The memory that a process holds now, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
