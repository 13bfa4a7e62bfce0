"""Random input to every interface with good and broken tokens: never a server error, never content of a foreign group."""

import json
from typing import Any

import pytest
import schemathesis
from asgiref.sync import async_to_sync
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError

from access.actor import Actor, Via
from access.errors import NotAuthenticated
from access.tokens import actor_for_secret
from loci_site.mcp.tools import TOOLS
from tests.access.world import DEAD, MARKER, World
from tests.loci_site.api.document import document
from tests.mcp_server import client_of

pytestmark = [pytest.mark.django_db, pytest.mark.model]
CALLERS = ("curator", "viewer", "stranger", "only-write", "elsewhere", *DEAD)
EXAMPLES = 60  # of each kind; `--hypothesis-profile` is not needed for more: raise it by hand
QUIET = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
# It copies the whole store, which a test's own transaction forbids; tests/api runs it.
SLOW = ("/api/maintenance/runs",)


def likely(world: World) -> st.SearchStrategy[str]:
    """Input that may match something: ids and names of all places, and random text."""
    known = sorted({value for place in world.places.values() for value in place.values()} | {"wall", "roof"})
    return st.sampled_from(known) | st.text(max_size=20)


def test_rest_withstands_anything(world: World) -> None:
    words = likely(world)
    operations = [found.ok() for found in schemathesis.openapi.from_dict(document()).get_all_operations()]
    cases = st.one_of(
        *[op.as_strategy() for op in operations if not (op.method == "post" and op.path in SLOW)]
    )

    @QUIET
    @given(case=cases, caller=st.sampled_from(CALLERS), word=words, fills=st.booleans())
    def send(case: Any, caller: str, word: str, fills: bool) -> None:
        path, body = case.path, case.body
        for name, value in (case.path_parameters or {}).items():
            path = path.replace(f"{{{name}}}", _safe(word if fills else str(value)))
        if fills and isinstance(body, dict):
            body = {name: word if isinstance(value, str) else value for name, value in body.items()}
        query = {name: word if fills else value for name, value in dict(case.query or {}).items()}
        status, text = _send(case.method, path, query, body, world.secrets[caller])
        assert status < 500, (case.method, path, query, body, text)
        assert (status == 401) or caller not in DEAD
        assert MARKER not in text.replace(word, ""), (case.method, path, query, body, text)

    send()


def _safe(word: str) -> str:
    return word.replace("/", "_").replace("?", "_").replace("#", "_") or "_"


def _send(method: str, path: str, query: dict[str, Any], body: Any, secret: str) -> tuple[int, str]:
    headers = {"HTTP_AUTHORIZATION": f"Bearer {secret}"} if secret else {}
    sent = {} if method.lower() == "get" else {"data": _json(body), "content_type": "application/json"}
    with transaction.atomic():
        answer = Client(raise_request_exception=False).generic(
            method.upper(),
            path,
            sent.get("data", b""),
            "application/json",
            query_params=_plain(query),
            **headers,
        )
        transaction.set_rollback(True)
    return answer.status_code, answer.content.decode(errors="replace")


def _plain(query: dict[str, Any]) -> dict[str, Any]:
    return {str(k): v if isinstance(v, str) else json.dumps(v, default=str) for k, v in query.items()}


def _json(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return json.dumps(body, default=lambda _: None).encode("utf-8", "replace")


def test_the_tools_withstand_anything(world: World) -> None:
    words = likely(world)
    values = words | st.none() | st.booleans() | st.integers() | st.floats() | st.lists(words, max_size=3)
    names = sorted({name for declared in TOOLS.values() for name in declared.tool.parameters["properties"]})
    arguments = st.dictionaries(st.sampled_from(names), values, max_size=5)

    @QUIET
    @given(tool=st.sampled_from(sorted(TOOLS)), sent=arguments, caller=st.sampled_from(CALLERS))
    def call(tool: str, sent: dict[str, Any], caller: str) -> None:
        try:
            actor = actor_for_secret(world.secrets[caller], via=Via.MCP)
        except NotAuthenticated:
            assert caller in DEAD
            return
        with transaction.atomic():
            text = async_to_sync(_call)(actor, tool, sent)
            transaction.set_rollback(True)
        assert "failed inside Loci" not in text, (tool, sent)
        assert MARKER not in text, (tool, sent, text)

    call()


async def _call(actor: Actor, tool: str, sent: dict[str, Any]) -> str:
    async with client_of(actor) as client:
        try:
            result = await client.call_tool(tool, sent)
        except (MCPError, ValueError) as refused:  # what JSON cannot say never leaves the client
            return str(refused)
    return str(result.model_dump_json())


def test_the_marker_is_found_where_it_may_be_seen(world: World) -> None:
    """The searches above would find a leak: the owner finds the text in each kind of response."""
    owner, foreign = world.secrets["owner"], world.places["foreign"]
    for path in (f"/api/memories/{foreign['memory']}", "/api/memories", "/api/recall"):
        _, text = _send(
            "get", path, {"query": "gate", "group": "garden"} if "recall" in path else {}, None, owner
        )
        assert MARKER in text, path
    answered = async_to_sync(_call)(
        actor_for_secret(owner, via=Via.MCP), "recall_memory", {"query": "gate", "group": "garden"}
    )
    assert MARKER in answered
