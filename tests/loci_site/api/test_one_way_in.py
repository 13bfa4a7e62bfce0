"""All interfaces store and recall the same."""

import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from access.actor import Actor
from access.models import AuditEntry, Group
from access.tokens import actor_for_secret
from memories.browse.serializers import RecalledOut, StoredOut
from memories.draft import Draft
from memories.models import Memory, Piece
from memories.recall import RecallRequest, recall
from memories.store import store
from tests.loci_site.api.conftest import Caller
from tests.loci_site.mcp.people import Agent

pytestmark = [pytest.mark.django_db, pytest.mark.model]
FACTS = {
    "service": "We settled on PostgreSQL 16 for the ledger.",
    "rest": "The cafeteria serves soup on Mondays.",
    "mcp": "To deploy, run make ship on the build host.",
    "command": "Anna Berg leads the harbour team.",
}
QUESTION = "which database do we use?"
SCALARS = (
    "outcome",
    "group",
    "type",
    "scope",
    "trust",
    "confidence",
    "why",
    "embedding_owed",
    "removed_characters",
)


@pytest.fixture
def actor(owner: Caller) -> Actor:
    """The Actor of the owner's token, for the service and for MCP."""
    return actor_for_secret(owner.secret, via="mcp")


def by_command(*words: str) -> Any:
    out = io.StringIO()
    call_command(*words, "--group", "ledger", "--json", stdout=out)
    return json.loads(out.getvalue())


def store_through_each(owner: Caller, actor: Actor) -> dict[str, Any]:
    return {
        "service": StoredOut.json(
            store(actor, Draft(FACTS["service"], group="ledger", scope="group", tags=("t",)))
        ),
        "rest": owner.store(FACTS["rest"], tags=["t"]),
        "mcp": Agent(actor).answer(
            "store_memory", content=FACTS["mcp"], group="ledger", scope="group", tags=["t"]
        ),
        "command": by_command("remember", FACTS["command"], "--scope", "group", "--tag", "t"),
    }


def test_what_is_stored_is_the_same_through_every_face(owner: Caller, actor: Actor, alice: User) -> None:
    answers = store_through_each(owner, actor)
    expected = {
        "outcome": "created", "group": "ledger", "type": "semantic", "scope": "group", "trust": "active",
        "confidence": 0.7, "why": "", "embedding_owed": False, "removed_characters": 0,
    }  # fmt: skip
    for face, answer in answers.items():
        assert {name: answer[name] for name in SCALARS if name in answer} == {
            name: value for name, value in expected.items() if name in answer
        }, face
        row = Memory.objects.get(id=answer["id"])
        assert (row.content, row.tags, row.version, row.importance) == (FACTS[face], ["t"], 1, 5)
        assert Piece.objects.filter(memory=row, embedding__isnull=False).count() == 1
        assert [entry.operation for entry in AuditEntry.objects.filter(memory_id=row.id)] == ["store"]
    vias = dict(AuditEntry.objects.filter(operation="store").values_list("memory_id", "via"))
    ids = {face: Memory.objects.get(content=text).id for face, text in FACTS.items()}
    assert {face: vias[id_] for face, id_ in ids.items()} == {
        "service": "mcp", "rest": "rest", "mcp": "mcp", "command": "command",
    }  # fmt: skip


def test_what_is_recalled_is_the_same_through_every_face(owner: Caller, actor: Actor, ledger: Group) -> None:
    store_through_each(owner, actor)
    answers = {
        "service": RecalledOut.json(recall(actor, RecallRequest(QUESTION, group="ledger"))),
        "rest": owner.post("/recall", {"query": QUESTION, "group": "ledger"}),
        "mcp": Agent(actor).answer("recall_memory", query=QUESTION, group="ledger"),
        "command": by_command("recall", QUESTION),
    }
    expected = [(item["id"], item["content"], item["score"]) for item in answers["service"]["results"]]
    assert expected[0][1] == FACTS["service"]
    for face, answer in answers.items():
        assert [item["id"] for item in answer["results"]] == [id_ for id_, _, _ in expected], face
        for item, (_, content, score) in zip(answer["results"], expected, strict=True):
            # What MCP shows besides is for its own tests.
            assert (item.get("content", content), item.get("score", score)) == (content, score), face
