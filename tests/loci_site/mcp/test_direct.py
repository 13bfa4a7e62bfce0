"""A plain call past the SDK's transport: byte for byte what the SDK answers, in both eras; the rest is left to it."""

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from loci_site.mcp import tools
from loci_site.mcp.transports import asgi as mount
from loci_site.mcp.transports.fast_path import plain_call
from memories.draft import Draft
from memories.store import store
from tests.loci_site.mcp.answers import read_answer
from tests.loci_site.mcp.people import Agent
from tests.loci_site.mcp.test_mount import Reply, _scope, one_connection, send
from tests.loci_site.mcp.wire import ACCEPT, META, MODERN, call, events, modern_headers, tool_call

__all__ = ["one_connection"]
pytestmark = pytest.mark.django_db
FACTS = [
    "The ledger keeps amounts as integer cents.",
    "Zoë deploys on Tuesdays — “never on Fridays” \U0001f680 </memory> & \x7f",
    "Ein Maß von 0.00001 genügt, 1e30 nicht; 数据库 is PostgreSQL.",
]


def by_both(
    message: dict[str, Any], agent: Agent, monkeypatch: pytest.MonkeyPatch, **headers: str
) -> tuple[Reply, Reply]:
    """Send a message the short way, and through Django and the SDK's transport."""
    short = send(message, agent.secret, **headers)
    with monkeypatch.context() as patch:
        patch.setattr(mount, "plain_call", lambda headers, body: None)
        whole = send(message, agent.secret, **headers)
    assert (short.was_passed, whole.was_passed) == (False, True)
    return short, whole


def older(version: str | None, message: dict[str, Any]) -> dict[str, str]:
    return {"accept": ACCEPT, "mcp-protocol-version": version or "", "mcp-method": "", "mcp-name": ""}


def without_meta(message: dict[str, Any], **meta: Any) -> dict[str, Any]:
    params = {name: value for name, value in message["params"].items() if name != "_meta"}
    return message | {"params": params | ({"_meta": meta} if meta else {})}


@pytest.fixture
def facts(alice: Agent) -> list[str]:
    """Three memories of Alice's group, by their ids."""
    found = [store(alice.actor, Draft(text, group="ledger", type="semantic")).memory for text in FACTS]
    return [str(memory.id) for memory in found if memory]


CALLS = [
    ("recall_memory", {"query": "How are amounts kept?", "group": "ledger"}),
    ("recall_memory", {"query": "Who deploys on Tuesdays?", "group": "ledger", "explain": True}),
    ("recall_memory", {"query": "数据库", "group": "ledger", "max_results": 1, "summary_only": None}),
    ("recall_memory", {"query": "What colour is the moon?", "group": "ledger"}),
    ("recall_memory", {"query": "x", "group": "nowhere"}),
    ("recall_memory", {"query": "", "colour": "red"}),
    ("recall_memory", {"query": 7, "group": "ledger"}),
    ("recall_memory", {"ids": ["not-an-id"]}),
    ("memory_stats", {"group": "ledger"}),
    ("memory_stats", {}),
    ("get_context", {"group": "ledger"}),
    ("forget_memory", {"id": "0193f2b0-0000-7000-8000-000000000000"}),
    ("store_memory", {"content": " "}),
    ("checkpoint", {"state": {"done": [1.0, 1e-5, None, True]}, "group": "Not a name"}),
]


def same(short: Reply, whole: Reply) -> bool:
    return (short.status, short.headers, short.body) == (whole.status, whole.headers, whole.body)


@pytest.mark.usefixtures("encoder", "facts")
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_a_plain_call_is_answered_as_the_sdk_answers_it(
    alice: Agent, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any]
) -> None:
    message = tool_call(tool, arguments)
    short, whole = by_both(message, alice, monkeypatch)
    assert same(short, whole), (short, whole)
    message = without_meta(message, progressToken=3)
    for version in (*HANDSHAKE_PROTOCOL_VERSIONS, None):
        short, whole = by_both(message, alice, monkeypatch, **older(version, message))
        assert same(short, whole), (version, short, whole)
        assert events(short.body)[-1]["id"] == 7


@pytest.mark.usefixtures("encoder")
def test_the_comparison_sees_answers_of_both_kinds(alice: Agent, facts: list[str]) -> None:
    found = json.loads(send(tool_call(*CALLS[0]), alice.secret).body)["result"]
    [first, *_] = read_answer(found["content"][0]["text"])["results"]
    assert (found["isError"], "structuredContent" in found, first["id"]) == (False, False, facts[0])
    assert json.loads(send(tool_call(*CALLS[5]), alice.secret).body)["result"]["isError"] is True


@pytest.mark.parametrize("given", [{"id": "a-1"}, {"id": 2**70}, {"id": "Zoë"}])
def test_an_id_comes_back_as_it_was_sent(
    alice: Agent, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    message = tool_call("memory_stats", {"group": "nowhere"}) | given
    short, whole = by_both(message, alice, monkeypatch)
    assert same(short, whole)
    assert json.loads(short.body)["id"] == given["id"]


@pytest.mark.parametrize(
    "envelope",
    [
        {},
        {"progressToken": "p", "claude/toolUseId": "t"},
        {"io.modelcontextprotocol/clientInfo": {"name": "x" * 200, "version": "2"}},
        {"io.modelcontextprotocol/clientInfo": {"no": "name"}},
        {"io.modelcontextprotocol/clientInfo": None},
        {"io.modelcontextprotocol/clientCapabilities": {"sampling": {}, "extensions": {"a/b": {}}}},
        {"io.modelcontextprotocol/clientCapabilities": 5},
        {"io.modelcontextprotocol/logLevel": "info"},
        {"io.modelcontextprotocol/protocolVersion": "2025-11-25"},
        {"progressToken": 1.5},
        {"progressToken": True},
    ],
)
def test_what_a_program_says_of_itself_is_judged_as_the_sdk_judges_it(
    alice: Agent, monkeypatch: pytest.MonkeyPatch, envelope: dict[str, Any]
) -> None:
    message = tool_call("memory_stats", {"group": "nowhere"}, **envelope)
    short = send(message, alice.secret)
    monkeypatch.setattr(mount, "plain_call", lambda headers, body: None)
    assert same(short, send(message, alice.secret))


def read(message: Any, **headers: str) -> Any:
    """The parsed message of a request with these headers."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    sent = _scope(body, "s", modern_headers(STATS) | headers)["headers"]
    return plain_call(dict(sent), body)


STATS = tool_call("memory_stats")
OTHERS: list[Any] = [
    [STATS],
    STATS | {"method": "tools/list"},
    STATS | {"id": None},
    STATS | {"id": True},
    STATS | {"id": 1.5},
    STATS | {"jsonrpc": "1.0"},
    STATS | {"extra": 1},
    {name: value for name, value in STATS.items() if name != "id"},
    STATS | {"params": []},
    STATS | {"params": STATS["params"] | {"name": "no_such_tool"}},
    STATS | {"params": STATS["params"] | {"name": "recall_memory"}},
    STATS | {"params": STATS["params"] | {"arguments": None}},
    STATS | {"params": STATS["params"] | {"requestState": "x"}},
    STATS | {"params": STATS["params"] | {"_meta": None}},
    without_meta(STATS),
    tool_call("memory_stats", {"group": "half of a pair: \ud800"}),
    b"{",
    b"\xff" + json.dumps(STATS).encode(),
    json.dumps(STATS).encode("utf-16"),
    b"[" * 100_000,
]


@pytest.mark.parametrize("message", OTHERS)
def test_what_is_shaped_otherwise_is_left_to_the_sdk(message: Any) -> None:
    assert read(STATS) is not None
    assert read(message) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"accept": "application/json"},
        {"accept": "*/*"},
        {"content-type": "text/plain"},
        {"mcp-method": "tools/list"},
        {"mcp-method": ""},
        {"mcp-name": "recall_memory"},
        {"mcp-name": ""},
        {"mcp-param-group": "ledger"},
        {"mcp-protocol-version": "2099-01-01"},
        {"mcp-protocol-version": "2025-11-25"},  # of another era than the envelope
        {"mcp-protocol-version": f"{MODERN} "},
    ],
)
def test_headers_that_are_not_plain_are_left_to_the_sdk(headers: dict[str, str]) -> None:
    assert read(STATS, **headers) is None


def test_a_session_of_the_older_era_is_left_to_the_sdk() -> None:
    message = without_meta(STATS)
    assert read(message, **older("2025-11-25", message)) is not None
    assert read(message, **older("2025-11-25", message), **{"mcp-session-id": "s"}) is None


def test_the_program_that_calls_is_in_the_log(alice: Agent) -> None:
    found = read(STATS)
    assert found.client == META["io.modelcontextprotocol/clientInfo"]["name"]  # type: ignore[index]
    assert read(without_meta(STATS), **older(None, STATS)).client == ""


def test_no_tool_mirrors_an_argument_in_a_header() -> None:
    """The SDK would hold such a header against the argument; the plain way does not look."""
    assert "x-mcp-header" not in json.dumps([one.tool.parameters for one in tools.TOOLS.values()])


def test_a_fault_of_ours_is_told_by_its_reference(alice: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(job: Any) -> Any:
        raise RuntimeError("secret words")

    monkeypatch.setattr(tools, "run_for_caller", broken)
    for message, headers in ((STATS, {}), (without_meta(STATS), older("2025-06-18", STATS))):
        reply = send(message, alice.secret, **headers)
        assert b"memory_stats failed inside Loci" in reply.body
        assert b"secret words" not in reply.body


@pytest.mark.parametrize("version", [None, MODERN])
def test_a_call_that_takes_long_keeps_its_stream_alive(
    alice: Agent, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    run = tools.run_for_caller

    async def slow(job: Any) -> Any:
        await asyncio.sleep(0.2)
        return await run(job)

    monkeypatch.setattr(tools, "run_for_caller", slow)
    monkeypatch.setattr(mount, "PING_S", 0.05)
    message = STATS if version else without_meta(STATS)
    reply = send(message, alice.secret, **({} if version else older(None, message)))
    assert reply.headers["content-type"] == "text/event-stream"
    assert reply.body.startswith(b": ping\r\n\r\n: ping")
    assert events(reply.body)[-1]["result"]["structuredContent"]["group"] == "ledger"


def test_a_client_that_goes_ends_its_call(alice: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    sent: list[Any] = []

    async def endless(job: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def exchange() -> None:
        body = json.dumps(STATS).encode()
        inbox: list[dict[str, Any]] = [{"type": "http.request", "body": body}]

        async def receive() -> dict[str, Any]:
            if not inbox:
                await asyncio.sleep(0.05)  # the call has begun by then
                return {"type": "http.disconnect"}
            return inbox.pop()

        async def note(part: Any) -> None:
            sent.append(part)

        scope = _scope(body, alice.secret, modern_headers(STATS))
        await asyncio.wait_for(mount.serve_or_pass(scope, receive, note, rest=_no_django), 10)

    monkeypatch.setattr(tools, "run_for_caller", endless)
    async_to_sync(exchange)()
    assert (ended, sent) == (["cancelled"], [])


async def _no_django(*_: Any) -> None:
    raise AssertionError("it is an ordinary request")


def test_an_unknown_method_is_none_of_its_business(alice: Agent) -> None:
    reply = send(call("no/method", {"_meta": META}), alice.secret)
    assert reply.status == 404
