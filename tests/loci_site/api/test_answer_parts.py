"""Each face shows each part of a recall's answer: results, relations, conflicts, doubt, confidence, abstention."""

import io
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from access.tokens import actor_for_secret
from memories.models.short_id import short_id
from tests.loci_site.api.conftest import Caller
from tests.loci_site.mcp.people import Agent, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.model]
PORT, OTHER_PORT = "The deploy port is 8081.", "The deploy port is 8082."
DATABASE = "We settled on PostgreSQL 16 for the ledger database."
ABOUT_PORT, ABOUT_OWNER = "What is the deploy port?", "Who owns the cart?"
SURE, UNSURE, UNKNOWN = (
    "PostgreSQL database of the ledger", "Qui a choisi PostgreSQL pour notre base ?", "photosynthesis",
)  # fmt: skip
DOUBT = "By words alone, low confidence"
Ask = Callable[[str], Any]


@pytest.fixture
def stored(owner: Caller) -> dict[str, str]:
    """Two facts in conflict, one without, a relation; the ids of the facts by their texts."""
    relation = {"subject": "Cart", "predicate": "owned by", "object": "Anna Berg", "group": "ledger"}
    owner.post("/relations", relation, status=201)
    return {text: owner.store(text)["id"] for text in (PORT, OTHER_PORT, DATABASE)}


@pytest.fixture
def ask_json(owner: Caller, face: str) -> Ask:
    """Asks one face that answers in JSON."""
    actor = actor_for_secret(owner.secret, via="mcp")
    faces: dict[str, Ask] = {
        "REST": lambda question: owner.post("/recall", {"query": question, "group": "ledger"}),
        "MCP, structured": lambda question: Agent(actor).answer(
            "recall_memory", query=question, group="ledger"
        ),
        "command, JSON": lambda question: json.loads(by_command(question, "--json")),
    }
    return faces[face]


@pytest.fixture
def ask_text(owner: Caller, alice: User, face: str) -> Ask:
    """Asks one face that answers in words."""
    actor, browser = actor_for_secret(owner.secret, via="mcp"), Client()
    browser.force_login(alice)

    def page(address: str) -> Ask:
        return lambda question: browser.get(address, {"q": question, "group": "ledger"}).content.decode()

    faces: dict[str, Ask] = {
        "MCP, text": lambda question: text_of(
            Agent(actor).call("recall_memory", query=question, group="ledger")
        ),
        "command, text": by_command,
        "page": page("/app/"),
        "playground": page("/admin/explore/recall/"),
    }
    return faces[face]


def by_command(question: str, *options: str) -> str:
    """What the command prints; its status is 3 where nothing is relevant."""
    out = io.StringIO()
    with suppress(SystemExit):
        call_command("recall", question, "--group", "ledger", *options, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("face", ["REST", "MCP, structured", "command, JSON"])
def test_a_face_for_programs_has_every_part_of_an_answer(ask_json: Ask, stored: dict[str, str]) -> None:
    port = ask_json(ABOUT_PORT)
    first, second = port["results"][:2]
    assert {first["id"], second["id"]} == {stored[PORT], stored[OTHER_PORT]}
    assert [each["id"] for each in first["conflicts"]] == [second["id"]]
    [relation] = ask_json(ABOUT_OWNER)["relations"]
    assert "Cart —owned_by→ Anna Berg" in relation["line"]
    sure, unsure, unknown = ask_json(SURE), ask_json(UNSURE), ask_json(UNKNOWN)
    assert [each["id"] for each in (sure["results"][0], unsure["results"][0])] == [stored[DATABASE]] * 2
    assert (sure["confidence"], unsure["confidence"]) == ("high", "low")
    assert unsure["doubt"].startswith(DOUBT)
    assert "doubt" not in sure
    assert (unknown["abstained"], unknown["results"]) == (True, [])
    assert not any(answer.get("abstained") for answer in (port, sure, unsure))


@pytest.mark.parametrize(
    ("face", "nothing"),
    [
        ("MCP, text", "Nothing stored in"),
        ("command, text", "Nothing relevant in ledger."),
        ("page", "No answer found"),
        ("playground", "Nothing relevant."),
    ],
)
def test_a_face_for_readers_has_every_part_of_an_answer(
    ask_text: Ask, stored: dict[str, str], nothing: str
) -> None:
    port = ask_text(ABOUT_PORT)
    assert PORT in port
    assert OTHER_PORT in port
    for id_ in (stored[PORT], stored[OTHER_PORT]):
        assert f"in conflict with {short_id(UUID(id_))}" in port
    assert "Cart —owned_by→ Anna Berg" in ask_text(ABOUT_OWNER)
    sure, unsure, unknown = ask_text(SURE), ask_text(UNSURE), ask_text(UNKNOWN)
    assert DATABASE in sure
    assert DATABASE in unsure
    assert DOUBT in unsure
    assert "ow confidence" not in sure
    assert nothing in unknown
    assert not any(nothing in answer for answer in (port, sure, unsure))
