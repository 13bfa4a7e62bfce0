"""A write of an agent with an idempotency_key happens once."""

import pytest
from django.contrib.auth.models import User

from access.actor import READ, WRITE
from access.models import AuditEntry, Group
from memories.models import Memory
from tests.loci_site.mcp.people import Agent, make_agent

pytestmark = [pytest.mark.django_db, pytest.mark.model]

TEXT = "The gate opens at seven."


@pytest.fixture
def agent(users: dict[str, User], groups: dict[str, Group]) -> Agent:
    return make_agent(users["bob"], READ, WRITE, default_group=groups["ledger"])


def test_each_tool_that_writes_writes_once(agent: Agent) -> None:
    stored = agent.answer("store_memory", content=TEXT, idempotency_key="a")
    calls = [
        ("store_memory", {"content": TEXT, "idempotency_key": "a"}),
        ("store_relation", {"subject": "gate", "predicate": "has", "object": "lamp", "idempotency_key": "b"}),
        ("checkpoint", {"state": "here", "idempotency_key": "c"}),
        ("forget_memory", {"id": stored["id"], "verb": "dispute", "idempotency_key": "d"}),
        ("forget_memory", {"verb": "undo", "id": stored["undo"], "idempotency_key": "e"}),
    ]
    for tool, arguments in calls:
        first = agent.answer(tool, **arguments)
        rows = AuditEntry.objects.count()
        again = agent.answer(tool, **arguments)
        assert again.pop("replayed") is True, tool
        first.pop("replayed", None)
        assert again == first, tool
        assert AuditEntry.objects.count() == rows, tool
    assert Memory.objects.filter(content=TEXT).count() == 1


def test_a_key_for_another_call_is_refused(agent: Agent) -> None:
    agent.answer("store_memory", content=TEXT, idempotency_key="a")
    refused = agent.error("store_memory", content="The gate opens at nine.", idempotency_key="a")
    assert "idempotency_key was used for another request" in refused
    assert "idempotency_key" in agent.error("checkpoint", state="here", idempotency_key="a")
    assert "1 to 200" in agent.error("checkpoint", state="here", idempotency_key="x" * 201)


def test_a_tool_that_reads_takes_none(agent: Agent) -> None:
    assert "recall_memory has no argument" in agent.error("recall_memory", query="x", idempotency_key="a")
