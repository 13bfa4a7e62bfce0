"""Real processes: a server on a port and a child on standard input, with the SDK's own client in both eras."""

import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.loci_site.mcp.processes import (
    Installation,
    environment_of,
    install,
    make_home,
    serving,
    stdio_command,
)
from tests.loci_site.mcp.wire import LEGACY, MODERN
from tests.settings import REPOSITORY

pytestmark = [pytest.mark.server, pytest.mark.model]
Era = Literal["auto", "legacy"]
VERSIONS = {"auto": MODERN, "legacy": LEGACY}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return install(tmp_path_factory.mktemp("processes"))


@pytest.fixture(scope="module")
def url(installed: Installation) -> Iterator[str]:
    """A real server's address."""
    with serving(installed) as address:
        yield address


@asynccontextmanager
async def over_http(url: str, secret: str, era: Era) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {secret}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http_client,
        Client(streamable_http_client(url, http_client=http_client), mode=era) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(home: Path, era: Era, *options: str, **environment: str) -> AsyncIterator[Client]:
    command = stdio_command(*options, **environment_of(home), **environment)
    async with Client(stdio_client(StdioServerParameters(**command)), mode=era) as client:
        yield client


async def answer(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content or {"text": result.content[0].text}


async def walk(client: Client, group: str) -> None:
    """Store two facts, find one by meaning, tie, look, count, forget, save: over whatever transport."""
    first = await answer(
        client,
        "store_memory",
        content="We settled on PostgreSQL 16 for the ledger",
        group=group,
        scope="group",
    )
    assert first["group_created"] is True
    await answer(
        client, "store_memory", content="Tomatoes stand in the third bed", group=group, scope="group"
    )
    found = await answer(client, "recall_memory", query="which database do we use?", group=group)
    assert re.findall(r"<memory id=(\w+)", found["text"])[0] == first["id"][-8:]
    assert "Degraded" not in found["text"]
    looked = await answer(client, "memory_inspect", id=first["id"])
    assert "\nrecall: return\n" in looked["text"]
    tied = await answer(
        client, "store_relation", subject="ledger", predicate="uses", object="PostgreSQL", group=group
    )
    assert tied["predicate"] == "uses"
    forgotten = await answer(client, "forget_memory", id=first["id"])
    assert forgotten["changed"] == 1
    saved = await answer(client, "checkpoint", group=group, state={"next": "rest"})
    assert saved["count"] == 1
    pack = await answer(client, "get_context", group=group)
    assert "Tomatoes" in pack["text"]
    counts = await answer(client, "memory_stats", group=group)
    assert counts["by_state"]["forgotten"] == 1


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_an_agent_walks_the_path_over_http(installed: Installation, url: str, era: Era) -> None:
    async with over_http(url, installed.secret, era) as client:
        assert client.protocol_version == VERSIONS[era]
        assert len((await client.list_tools()).tools) == 8
        await walk(client, f"http-{era}")


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_an_agent_walks_the_path_over_stdio(installed: Installation, era: Era) -> None:
    async with over_stdio(installed.home, era) as client:
        assert client.protocol_version == VERSIONS[era]
        assert len((await client.list_tools()).tools) == 8
        await walk(client, f"stdio-{era}")


async def test_stdio_needs_no_preparation(tmp_path: Path) -> None:
    async with over_stdio(make_home(tmp_path), "auto", "--group", "first") as client:
        stored = await answer(client, "store_memory", content="The gate opens at seven.")
        assert (stored["group"], stored["group_created"]) == ("first", True)


@pytest.mark.parametrize("options", [[], ["--admin"]])
async def test_only_an_admin_child_purges(installed: Installation, options: list[str]) -> None:
    group = f"purge-{len(options)}"
    async with over_stdio(installed.home, "auto", *options) as client:
        stored = await answer(client, "store_memory", content="The safe is behind the mirror.", group=group)
        purged = await client.call_tool(
            "forget_memory", {"id": stored["id"], "verb": "purge", "reason": "private"}
        )
        assert purged.is_error is (options == [])
        if not options:
            assert "Needs scope 'curate'" in purged.content[0].text
        found = await answer(client, "recall_memory", query="where is the safe?", group=group)
        assert (f"<memory id={stored['id'][-8:]} " in found["text"]) is (options == [])


async def test_a_read_only_child_with_a_token_offers_what_reads(installed: Installation) -> None:
    async with over_stdio(installed.home, "auto", "--read-only", LOCI_TOKEN=installed.secret) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["recall_memory", "get_context", "memory_inspect", "memory_stats"]
        refused = await client.call_tool("store_memory", {"content": "x", "group": "first"})
        assert refused.is_error


def test_what_a_child_cannot_do_it_says_on_stderr(installed: Installation) -> None:
    ended = subprocess.run(
        [sys.executable, "manage.py", "mcp", "--stdio"],
        cwd=REPOSITORY,
        env=installed.environment | {"LOCI_TOKEN": "loci_wrong"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "The token is not known." in ended.stderr
