"""An agent's own server on standard input, on a machine without the model: it fetches one itself and says so."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import pytest
from asgiref.sync import async_to_sync
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from memories.embedding.manifest import MINILM
from tests.loci_site.mcp.answers import text_of
from tests.loci_site.mcp.processes import environment_of, make_home, stdio_command

pytestmark = [pytest.mark.server, pytest.mark.model]
KEYWORDS = "Degraded: keyword only"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home without a model."""
    home = make_home(tmp_path)
    (home / "models").unlink(missing_ok=True)
    return home


@asynccontextmanager
async def agent_of(home: Path, **environment: str) -> AsyncIterator[Client]:
    command = stdio_command(**environment_of(home) | environment)
    async with Client(stdio_client(StdioServerParameters(**command))) as client:
        stored = {"content": "The deploy port is 4817.", "group": "ledger", "scope": "group"}
        await client.call_tool("store_memory", stored)
        yield client


async def ask(client: Client) -> str:
    return text_of(await client.call_tool("recall_memory", {"query": "deploy port", "group": "ledger"}))


@async_to_sync
async def answers_until(home: Path, wanted: str, **environment: str) -> list[str]:
    """The answers to one question, asked again until one has (or, with a leading "!", lacks) these words."""
    answers = list[str]()
    async with agent_of(home, **environment) as client:
        with anyio.fail_after(240):
            while not answers or (wanted.lstrip("!") in answers[-1]) is wanted.startswith("!"):
                answers.append(await ask(client))
                await anyio.sleep(0.3)
        answers.append(await ask(client))
    return answers


@pytest.fixture
def hub() -> Any:
    """An address that has nothing, and the paths that were asked for there."""
    asked = list[str]()

    class Empty(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *args: object) -> None:
            """Not to standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def test_a_model_is_fetched_once_and_then_answers_by_meaning(
    home: Path, weights: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    shutil.copytree(weights, source)
    answers = answers_until(home, f"!{KEYWORDS}", LOCI_EMBEDDING_HUB="true", LOCI_MODEL_DIR=str(source))
    assert "Degraded: keyword only: the embedding model is being fetched." in answers[0]
    assert all("4817" in answer for answer in answers)
    assert KEYWORDS not in answers[-1]
    assert (home / "models" / MINILM.name / "model.json").is_file()


def test_a_failure_is_told_and_not_repeated_at_once(home: Path, tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere")
    answers = answers_until(home, "cannot be fetched", LOCI_EMBEDDING_HUB="true", LOCI_MODEL_DIR=missing)
    assert "is being fetched" in answers[0]
    assert "the next attempt is in an hour" in answers[-1]
    assert "4817" in answers[-1]
    assert "does not exist" in answers[-1]


def test_where_it_is_forbidden_nothing_is_asked(home: Path, hub: tuple[str, list[str]]) -> None:
    address, asked = hub
    answers = answers_until(home, KEYWORDS, LOCI_EMBEDDING_HUB="false", HF_ENDPOINT=address)
    assert "'loci model verify' says why" in answers[-1]
    assert asked == []
    assert [*(home / "models").glob("*")] == []
