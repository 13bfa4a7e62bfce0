"""What an agent is shown: the tools it may use, in one order, at a price that every session pays."""

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from django.contrib.auth.models import User
from mcp import Client
from mcp_types import Tool

from access.actor import CREATE_GROUP, CURATE, READ, WRITE
from access.models import Group
from bench.reference.tools import tools_reference
from loci_site.mcp.server import INSTRUCTIONS
from tests.loci_site.mcp.people import Agent, make_agent
from tests.settings import REPOSITORY

pytestmark = pytest.mark.django_db
CHARS_PER_TOKEN = 4
READERS = ["recall_memory", "get_context", "memory_inspect", "memory_stats"]
WRITERS = ["store_memory", "checkpoint", "store_relation", "forget_memory"]
ALL = [
    "recall_memory",
    "store_memory",
    "get_context",
    "checkpoint",
    "store_relation",
    "forget_memory",
    "memory_inspect",
    "memory_stats",
]


def listed(agent: Agent) -> list[Tool]:
    async def work(client: Client) -> list[Tool]:
        return (await client.list_tools()).tools

    tools: list[Tool] = agent.use(work)
    return tools


def names(agent: Agent) -> list[str]:
    return [tool.name for tool in listed(agent)]


def tokens(parts: list[Any]) -> float:
    text = "".join(json.dumps(part, ensure_ascii=False, separators=(",", ":")) for part in parts)
    return len(text) / CHARS_PER_TOKEN


def test_the_tools_cost_what_they_may(alice: Agent) -> None:
    tools = listed(alice)
    inputs = [{"name": t.name, "description": t.description, "inputSchema": t.input_schema} for t in tools]
    cost, answers = tokens(inputs), tokens([t.output_schema for t in tools if t.output_schema])
    figures = f"{cost:.0f} tokens; output schemas {answers:.0f}; instructions {tokens([INSTRUCTIONS]):.0f}"
    print(f"{len(tools)} tools: {figures}")  # noqa: T201 - what a test run is asked for
    assert len(tools) <= 8, "for a new tool another one goes, or it is an argument of one"
    assert cost <= 1650
    assert answers <= 200


def test_the_order_is_always_the_same(alice: Agent) -> None:
    assert names(alice) == names(alice) == ALL


def test_a_reader_sees_what_changes_nothing(users: dict[str, User], groups: dict[str, Group]) -> None:
    assert names(make_agent(users["alice"], READ)) == READERS


def test_a_writer_without_the_right_to_read_sees_what_writes(
    users: dict[str, User], groups: dict[str, Group]
) -> None:
    assert names(make_agent(users["alice"], WRITE)) == WRITERS


def test_a_curator_may_forget(users: dict[str, User], groups: dict[str, Group]) -> None:
    assert names(make_agent(users["alice"], READ, CURATE)) == [
        "recall_memory",
        "get_context",
        "forget_memory",
        "memory_inspect",
        "memory_stats",
    ]


def test_a_token_writes_nowhere_where_its_user_does_not(charlie: Agent) -> None:
    assert names(charlie) == READERS
    assert "you have no role with the right to write in any group" in charlie.error(
        "store_memory", content="x"
    )


def test_who_may_make_groups_may_write(users: dict[str, User]) -> None:
    assert names(make_agent(users["charlie"], READ, WRITE, CREATE_GROUP)) == ALL


def test_a_tool_that_is_not_shown_is_not_run(users: dict[str, User], groups: dict[str, Group]) -> None:
    reader = make_agent(users["alice"], READ, default_group=groups["ledger"])
    text = reader.error("store_memory", content="x")
    assert text == ("You may not use store_memory. It needs a token with the scope write. [not_permitted]")


def test_every_tool_says_whether_it_reads_or_destroys(alice: Agent) -> None:
    hints = {
        tool.name: (
            tool.annotations.read_only_hint,
            tool.annotations.destructive_hint,
            tool.annotations.idempotent_hint,
            tool.annotations.open_world_hint,
        )
        for tool in listed(alice)
        if tool.annotations
    }
    reads, adds = (True, False, True, False), (False, False, False, False)
    assert hints == {
        **dict.fromkeys(READERS, reads),
        **dict.fromkeys(WRITERS, adds),
        "forget_memory": (False, True, False, False),
    }


def test_the_schemas_are_sound_and_say_nothing_empty(alice: Agent) -> None:
    for tool in listed(alice):
        for schema in filter(None, (tool.input_schema, tool.output_schema)):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            text = json.dumps(schema)
            assert '"title": "' not in text
            assert '"null"' not in text


def test_the_parameters_are_those_of_the_design(alice: Agent) -> None:
    parameters = {tool.name: ", ".join(tool.input_schema["properties"]) for tool in listed(alice)}
    assert parameters == {
        "recall_memory": "query, ids, group, where, max_results, token_budget, summary_only, explain, kinds",
        "store_memory": "content, type, group, scope, thread, tags, confidence, importance, supersedes, "
        "valid_from, valid_to, expires_at, source, metadata, anchor_commit, context, allow, idempotency_key",
        "get_context": "group, query, token_budget, thread, where",
        "checkpoint": "state, group, thread, idempotency_key",
        "store_relation": "subject, predicate, object, group, evidence, confidence, valid_from, valid_to, "
        "idempotency_key",
        "forget_memory": "id, verb, changes, reason, dry_run, idempotency_key",
        "memory_inspect": "id, thread, query, group, where, cursor, token_budget",
        "memory_stats": "group",
    }


def test_the_reference_is_what_the_tools_say() -> None:
    page = (REPOSITORY / "docs" / "reference" / "tools.md").read_text(encoding="utf-8")
    assert page == tools_reference(), "write it anew: python -m bench.reference"


def test_the_server_tells_when_to_remember(alice: Agent) -> None:
    async def work(client: Client) -> str | None:
        return client.instructions

    said = alice.use(work)
    assert said == INSTRUCTIONS
    for tool in ("get_context", "recall_memory", "store_memory", "checkpoint"):
        assert tool in said


def test_a_narrowed_actor_keeps_its_place(alice: Agent) -> None:
    assert names(Agent(replace(alice.actor, scopes=frozenset({READ})))) == READERS
