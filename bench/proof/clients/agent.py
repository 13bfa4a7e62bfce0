"""An agent as the server sees one: tools called over HTTP, in the way of protocol 2026-07-28."""

import json
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx2

PROTOCOL = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "loci-proof", "version": "1"},
}
CALL_S = 60


class Refused(Exception):
    """The server answered, and the answer is an error."""


@dataclass(frozen=True)
class Answer:
    """What a tool gave, and how long it took, in seconds."""

    body: dict[str, Any]
    seconds: float


class Agent:
    """One client with connections of its own."""

    def __init__(self, url: str, secret: str) -> None:
        self._url = f"{url}/mcp"
        self._number = 0
        headers = {
            "authorization": f"Bearer {secret}",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": PROTOCOL,
            "mcp-method": "tools/call",
        }
        # trust_env off: no proxy of the machine's shall see the traffic.
        self._http = httpx2.AsyncClient(headers=headers, timeout=CALL_S, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool.

        Raises Refused where the server answers with an error, httpx2.HTTPError where it does not answer.
        """
        self._number += 1
        params = {"name": tool, "arguments": arguments, "_meta": META}
        request = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        start = time.perf_counter()
        response = await self._http.post(self._url, json=request, headers={"mcp-name": tool})
        seconds = time.perf_counter() - start
        if response.status_code != 200:
            raise Refused(f"{response.status_code}: {response.text[:400]}")
        return Answer(_result(message_of(response.text)), seconds)


def message_of(text: str) -> dict[str, Any]:
    """The JSON-RPC message of a response: the whole body, or the last event of a stream."""
    if text.startswith("{"):
        whole: dict[str, Any] = json.loads(text)
        return whole
    events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
    if not events:
        raise Refused(f"no message in the answer: {text[:400]!r}")
    last: dict[str, Any] = json.loads(events[-1])
    return last


def _result(message: dict[str, Any]) -> dict[str, Any]:
    if "error" in message:
        raise Refused(json.dumps(message["error"])[:400])
    result = message["result"]
    if result.get("isError"):
        raise Refused(json.dumps(result.get("content"))[:400])
    body: dict[str, Any] = result["structuredContent"]
    return body
