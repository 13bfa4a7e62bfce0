"""The client of rivals.py: `agent.py KIND SYSTEM`; KIND is the MCP SDK that runs it (sdk), or a kept connection each (raw, rest).

A line of input has a plan for each client: lists of ["recall" or "store", text]. When all are connected, "open" is answered
and a line awaited; then all plans run at once. The answer is {"seconds", "calls": [[ms, refused, results, characters], …]}.
An empty list asks for the tools.
"""

import asyncio
import json
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Any

KIND, TOLD = sys.argv[1], json.loads(sys.argv[2])
Plan = list[tuple[str, str]]
if KIND == "sdk":
    import mcp
    from mcp.client import streamable_http
else:
    from bench.proof.client import Client, message_of


def _filled(what: str, words: str) -> Any:
    place, arguments = TOLD["rest" if KIND == "rest" else "mcp"][what]
    return place, {name: words if value == "$" else value for name, value in arguments.items()}


def _seen(result: dict[str, Any]) -> tuple[bool, int, int]:
    """Refused, results, characters. Results are counted in the text, which every client gets."""
    text = "".join(part.get("text", "") for part in result.get("content", []))
    structured = json.dumps(result.get("structuredContent", ""), separators=(",", ":"))[2:]
    refused = bool(result.get("isError", not text) or re.search(TOLD["refusal"], text))
    return refused, len(re.findall(TOLD["mark"], text, re.M)), len(text) + len(structured)


def _ask(client: "Client", method: str, params: Any) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    answer = client.send("POST", "/mcp", request, headers=headers)
    return message_of(answer.text).get("result", {}) if answer.status == 200 else {}


def _call(client: "Client", what: str, words: str) -> tuple[bool, int, int]:
    place, arguments = _filled(what, words)
    if KIND == "raw":
        return _seen(_ask(client, "tools/call", {"name": place, "arguments": arguments}))
    answer = client.post(place, arguments)
    told = answer.json() if answer.status < 400 else {"success": False}
    shown = told.get("results") or told.get("nearest", [])
    return told.get("success") is False, len(shown), len(answer.text)


def _run_wires(plans: list[Plan]) -> tuple[float, list[Any]]:
    def run(plan: Plan) -> list[Any]:
        with Client(TOLD["port"], TOLD["secret"], timeout_s=600) as client:
            return [(time.perf_counter(), *_call(client, *each), time.perf_counter()) for each in plan]

    with ThreadPoolExecutor(len(plans)) as pool:
        return _opened(), [call for calls in pool.map(run, plans) for call in calls]


async def _open_session(stack: AsyncExitStack) -> Any:
    enter, url = stack.enter_async_context, f"http://127.0.0.1:{TOLD['port']}/mcp"
    headers = {"Authorization": f"Bearer {TOLD['secret']}"} if TOLD["secret"] else {}
    if hasattr(mcp, "Client"):  # SDK 2.x
        http = await enter(streamable_http.httpx2.AsyncClient(headers=headers, timeout=600))
        session = await enter(mcp.Client(streamable_http.streamable_http_client(url, http_client=http)))
    else:
        streams = await enter(streamable_http.streamablehttp_client(url, headers=headers, timeout=600))
        session = await enter(mcp.ClientSession(*streams[:2]))
        await session.initialize()
    await session.list_tools()  # as agents do
    return session


async def _run_sessions(plans: list[Plan]) -> tuple[float, list[Any]]:
    calls: list[Any] = []

    async def run(session: Any, plan: Plan) -> None:
        for each in plan:
            began = time.perf_counter()
            result = await session.call_tool(*_filled(*each))
            ended = time.perf_counter()
            calls.append(
                (began, *_seen(result.model_dump(by_alias=True, mode="json", exclude_none=True)), ended)
            )

    async with AsyncExitStack() as stack:
        sessions = [await _open_session(stack) for _ in plans]
        began = _opened()
        await asyncio.gather(*map(run, sessions, plans))
        return began, calls


def _opened() -> float:
    print("open", flush=True)
    sys.stdin.readline()
    return time.perf_counter()


for line in iter(sys.stdin.readline, ""):
    if asked := json.loads(line):
        start, done = asyncio.run(_run_sessions(asked)) if KIND == "sdk" else _run_wires(asked)
        seconds = max(ended for *_, ended in done) - start
        found = {"seconds": seconds, "calls": [((end - begin) * 1000, *seen) for begin, *seen, end in done]}
    else:
        found = _ask(Client(TOLD["port"], TOLD["secret"]), "tools/list", {})
    print(json.dumps(found), flush=True)
