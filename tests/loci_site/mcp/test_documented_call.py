"""The call of a tool by hand that "Connect an agent" shows, read off the page."""

import json
import re
import shlex
from itertools import pairwise

import pytest
from asgiref.sync import async_to_sync

from tests.fences import inside
from tests.loci_site.mcp.answers import read_answer
from tests.loci_site.mcp.people import Agent
from tests.loci_site.mcp.wire import body_of, events, post
from tests.settings import REPOSITORY

pytestmark = pytest.mark.django_db
PAGE = REPOSITORY / "docs" / "how-to" / "connect-agents.md"


def documented() -> tuple[dict[str, str], bytes]:
    """Headers and body of the page's curl command."""
    [command] = re.findall(r"^curl .*?(?= \\\n  \| sed)", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    words = shlex.split(command.replace("\\\n", ""))
    headers = [after for word, after in pairwise(words) if word == "-H"]
    body = words[words.index("-d") + 1]
    return dict(header.split(": ", 1) for header in headers), body.encode()


def send(headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
    async def work() -> tuple[int, bytes]:
        response = await post(body, {name.lower(): value for name, value in headers.items()})
        return response.status_code, await body_of(response)

    return async_to_sync(work)()


def test_the_command_on_the_page_brings_what_an_agent_gets(alice: Agent) -> None:
    alice.answer(
        "store_memory", content="We settled on PostgreSQL 16 as the ledger's database.", group="ledger"
    )
    headers, body = documented()
    assert headers["Authorization"] == "Bearer $TOKEN"
    status, content = send(headers | {"Authorization": f"Bearer {alice.secret}"}, body)
    assert status == 200
    [message] = events(content)
    assert json.loads(body)["params"]["name"] == "recall_memory"
    [found] = read_answer(message["result"]["content"][0]["text"])["results"]
    assert inside(found["text"]) == "We settled on PostgreSQL 16 as the ledger's database."
    assert send(headers, body)[0] == 401  # as it stands, without a token
